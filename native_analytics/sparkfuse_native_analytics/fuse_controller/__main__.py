"""``python -m sparkfuse_native_analytics.fuse_controller``: watches and decides until SIGTERM.

Exit codes: 0 when told to stop, 2 for wrong settings, rules or keys, 3 when Kafka or a topic is not there at the start.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_native_analytics.fuse_controller.keys import KeyUnusableError, load_private_key
from sparkfuse_native_analytics.fuse_controller.policy_reload import PolicyFile
from sparkfuse_rules.errors import RuleError

USAGE = 2
UNAVAILABLE = 3
# A running stage has news in every window; some windows may come late before its latest row is too old to act on.
FRESH_WINDOWS = 4
FRESH_AT_LEAST_MS = 20_000


def main(arguments: list[str] | None = None) -> int:
    """Start, and wait for the end; what is missing at the start is told in one sentence."""
    parser = argparse.ArgumentParser(prog="sparkfuse-fuse-controller", description="Decides when the fuse blows.")
    parser.add_argument("--catalog", type=Path, help="folder of rule files instead of the shipped ones")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop = threading.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: stop.set())
    try:
        settings = Settings.from_environment()
        file = PolicyFile(settings, options.catalog)
        key = load_private_key(settings.signing_key_file) if settings.signing_key_file else None
    except (SettingError, RuleError, KeyUnusableError) as error:
        return _fail(str(error), USAGE)
    return _watch(settings, file, key, stop)


def _watch(settings: Settings, file: PolicyFile, key: EllipticCurvePrivateKey | None, stop: threading.Event) -> int:
    # Only now the engine and the clients: a wrong setting is told at once.
    from prometheus_client import start_http_server

    from sparkfuse_native_analytics.fuse_controller.kafka import TopicUnavailableError
    from sparkfuse_native_analytics.fuse_controller.process import Process, Tally
    from sparkfuse_native_analytics.fuse_controller.view import LiveView
    from sparkfuse_native_analytics.fuse_controller.work import FuseController

    fresh_ms = max(FRESH_AT_LEAST_MS, FRESH_WINDOWS * settings.window_ms)
    controller = FuseController(file.orders, LiveView(file.orders.watched(), fresh_ms), key, settings.dashboard_url)
    if settings.metrics_port:
        try:
            start_http_server(settings.metrics_port, addr=settings.metrics_address)
        except OSError as error:
            sentence = f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error.strerror}"
            return _fail(sentence, UNAVAILABLE)
    try:
        Process(settings, controller, file, Tally()).run(stop)
    except TopicUnavailableError as error:
        return _fail(str(error), UNAVAILABLE)
    return 0


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse fuse controller: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
