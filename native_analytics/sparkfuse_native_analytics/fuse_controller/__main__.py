"""``python -m sparkfuse_native_analytics.fuse_controller``: runs the fuse controller until SIGTERM.

Exit codes: 0 after SIGTERM; 2 for invalid settings, rules or keys; 3 if Kafka, a topic or the port for metrics is not
available at the start; 4 if another controller has taken over, or if it is unknown whether a step was written.
`sparkfuse up` and Docker Compose restart the process when it exits.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
from functools import partial
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.links import application_url
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader
from sparkfuse_native_analytics.fuse_controller.keys import KeyRing, KeyUnusableError, load_private_key, read_key_ring
from sparkfuse_rules.errors import RuleError

USAGE = 2
UNAVAILABLE = 3
FENCED = 4
# A running stage has a row in each window; if this many windows have passed, its latest row is too old for an act.
FRESH_WINDOWS = 4
FRESH_AT_LEAST_MS = 20_000


def main(arguments: list[str] | None = None) -> int:
    """Run the fuse controller; errors at the start are printed as one sentence."""
    parser = argparse.ArgumentParser(
        prog="sparkfuse-fuse-controller",
        description="Stops runaway jobs with signed signals.",
    )
    parser.add_argument("--catalog", type=Path, help="folder of rule files to use instead of the shipped ones")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = Settings.from_environment()
        policy_file = PolicyReloader(settings, options.catalog)
        key = load_private_key(settings.signing_key_file) if settings.signing_key_file else None
        trusted = read_key_ring(settings.public_keys)
    except (SettingError, RuleError, KeyUnusableError) as error:
        return _fail(str(error), USAGE)
    return _run(settings, policy_file, trusted, key, stop)


def _run(
    settings: Settings,
    policy_file: PolicyReloader,
    trusted: KeyRing,
    key: EllipticCurvePrivateKey | None,
    stop: threading.Event,
) -> int:
    # These modules are imported late, so that an invalid setting is reported without loading the engine and the
    # clients.
    from sparkfuse_contracts.kafka_access import KafkaUnavailableError, require_access
    from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
    from sparkfuse_native_analytics.fuse_controller.controller import FuseController
    from sparkfuse_native_analytics.fuse_controller.controller_metrics import ControllerMetrics
    from sparkfuse_native_analytics.fuse_controller.environment import FencedError
    from sparkfuse_native_analytics.fuse_controller.kafka import TopicUnavailableError
    from sparkfuse_native_analytics.fuse_controller.service import FuseControllerService
    from sparkfuse_native_analytics.fuse_controller.view import LiveView

    try:
        require_access(settings, "fuse-controller")
    except KafkaUnavailableError as error:
        return _fail(str(error), UNAVAILABLE)
    fresh_ms = max(FRESH_AT_LEAST_MS, FRESH_WINDOWS * settings.window_ms)
    view = LiveView(policy_file.policy.watched(), fresh_ms)
    page_of = partial(application_url, settings.console_url, settings.dashboard_url)
    controller = FuseController(policy_file.policy, view, trusted, key, page_of)
    try:
        serve_metrics(settings)
        FuseControllerService(settings, controller, policy_file, ControllerMetrics()).run(stop)
    except (MetricsPortError, TopicUnavailableError) as error:
        return _fail(str(error), UNAVAILABLE)
    except FencedError as error:
        return _fail(str(error), FENCED)
    return 0


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse fuse controller: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
