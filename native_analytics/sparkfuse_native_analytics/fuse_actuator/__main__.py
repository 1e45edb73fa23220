"""``sparkfuse fuse actuator``: runs the external actuator until SIGTERM.

Exit codes: 0 after SIGTERM, 2 for invalid settings, policies or keys, 3 if Kafka or a topic is not available at the
start.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from confluent_kafka import KafkaException

from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_native_analytics.fuse_actuator.actuator import Actuator
from sparkfuse_native_analytics.fuse_actuator.actuator_memory import MemoryUnusableError
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import BACKENDS, read_actuator_settings
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import ClusterManager, ManagerError, documented_answers
from sparkfuse_native_analytics.fuse_actuator.databricks import Databricks
from sparkfuse_native_analytics.fuse_actuator.external_policies import read_external_policies
from sparkfuse_native_analytics.fuse_controller.keys import KeyUnusableError, read_key_ring
from sparkfuse_native_analytics.topic_records import TopicError
from sparkfuse_rules.errors import RuleError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.fuse_actuator.actuator_metrics import ActuatorMetrics
    from sparkfuse_native_analytics.fuse_actuator.kafka import SignalReader

USAGE = 2
UNAVAILABLE = 3
READ_SECONDS = 0.5
CHECK_SECONDS = 30.0
_log = logging.getLogger("sparkfuse.fuse_actuator")


def main(arguments: list[str] | None = None) -> int:
    """Run the external actuator; errors at the start are printed as one sentence."""
    parser = argparse.ArgumentParser(
        prog="sparkfuse fuse actuator", description="Ends hung and zombie applications through their cluster manager."
    )
    parser.add_argument("--backend", choices=list(BACKENDS), required=True, help="the cluster manager")
    parser.add_argument("--config", type=Path, required=True, help="the configuration file of the actuator")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        return _run(Settings.from_environment(), options.config, options.backend, stop)
    except (SettingError, RuleError, KeyUnusableError, MemoryUnusableError) as error:
        return _fail(str(error), USAGE)


def _run(settings: Settings, config: Path, backend: str, stop: threading.Event) -> int:
    # These modules are imported late, so that an invalid setting is reported without loading the clients.
    from sparkfuse_contracts.kafka_access import KafkaUnavailableError, require_access
    from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
    from sparkfuse_native_analytics.fuse_actuator.actuator_metrics import ActuatorMetrics
    from sparkfuse_native_analytics.fuse_actuator.kafka import KafkaEdge, SignalReader

    own, manager = read_actuator_settings(config, backend)
    policies, keys = read_external_policies(own.policies), read_key_ring(settings.public_keys)
    metrics = ActuatorMetrics()
    edge = KafkaEdge(settings, keys, metrics, stop, uses_settings=isinstance(manager, Databricks))
    actuator = Actuator(own, policies, keys, manager, edge)
    try:
        require_access(settings, "actuator")
        reader = SignalReader(settings, metrics)
        serve_metrics(settings)
    except (KafkaUnavailableError, MetricsPortError, TopicError, OSError) as error:
        return _fail(str(error), UNAVAILABLE)
    _log.info("reading signals for cluster %s in mode %s, with %s policies", own.cluster, own.mode, len(policies))
    _follow(actuator, manager, reader, metrics, stop)
    return 0


def _follow(
    actuator: Actuator,
    manager: ClusterManager,
    reader: SignalReader,
    metrics: ActuatorMetrics,
    stop: threading.Event,
) -> None:
    checked = 0.0
    while not stop.is_set():
        if time.monotonic() - checked >= CHECK_SECONDS:
            metrics.ready.set(_is_ready(manager, reader))
            checked = time.monotonic()
        if record := reader.read(READ_SECONDS):
            actuator.receive(record)
    reader.close()


def _is_ready(manager: ClusterManager, reader: SignalReader) -> bool:
    try:
        reader.check()
        with documented_answers():
            manager.check()
    except (ManagerError, KafkaException) as error:
        _log.error("the actuator cannot act: %s", error)
        return False
    return True


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse fuse actuator: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
