"""The shipper as a process: checks its options and dependencies, then ships until it is stopped."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass, field

from confluent_kafka import KafkaException

from sparkfuse_collectors.logs.files import Files, files_of
from sparkfuse_collectors.ship.broker import START_SECONDS, Broker
from sparkfuse_collectors.ship.errors import BrokerLostError, InvalidOptionError, StoppedError, UnavailableError
from sparkfuse_collectors.ship.folders import Ages
from sparkfuse_collectors.ship.metrics import ShipMetrics
from sparkfuse_collectors.ship.positions import read_positions
from sparkfuse_collectors.ship.shipper import HistoryReader, Pace, ShippingLoop
from sparkfuse_collectors.ship.translation import Shipper
from sparkfuse_contracts.kafka_access import KafkaUnavailableError, explain, require_access
from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import Settings

DEFAULT_NAME = "shipper"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RETRY_SECONDS = 2.0
_log = logging.getLogger("sparkfuse.ship")


@dataclass(frozen=True)
class Options:
    """The folders or URLs that are followed, the shipper's name, the owner of the data, and limits."""

    places: tuple[str, ...]
    name: str = DEFAULT_NAME
    cluster: str = "default"
    tenant: str = "default"
    once: bool = False
    ages: Ages = field(default_factory=Ages)
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise InvalidOptionError(
                f"--name {self.name!r} must have at most 100 letters, digits, '.', '_' and '-', and must begin with a "
                "letter or digit"
            )
        for option, value in (("--cluster", self.cluster), ("--tenant", self.tenant)):
            if not value or "|" in value or len(value) > 200:
                raise InvalidOptionError(f"{option} {value!r} must have 1 to 200 characters and no '|'")


def ship(options: Options, settings: Settings, histories: HistoryReader, stop: threading.Event) -> None:
    """Ship until ``stop`` is set.

    Raises UnreadableLogError if a folder does not exist, UnavailableError, KafkaUnavailableError, and FencedError if
    another shipper uses the same name.
    """
    require_access(settings, "shipper")
    metrics = ShipMetrics()
    files = [files_of(place) for place in options.places]
    _serve_metrics(settings)
    _log.info("following %s as %s", ", ".join(each.display_path(each.root) for each in files), options.name)
    has_started = threading.Event()
    while not stop.is_set():
        try:
            _ship(options, settings, files, histories, metrics, stop, has_started)
        except BrokerLostError as error:
            _log.warning("restarting at the last committed positions: %s", error)
        except KafkaException as error:
            # During the start, a user waits for the result, so the error ends the shipper. After the start, the broker
            # may come back, so the shipper continues.
            if not has_started.is_set():
                raise KafkaUnavailableError(explain(settings, error.args[0])) from error
            _log.warning("restarting at the last committed positions: %s", error.args[0].str())
        else:
            return
        stop.wait(RETRY_SECONDS)


def _ship(
    options: Options,
    settings: Settings,
    files: list[Files],
    histories: HistoryReader,
    metrics: ShipMetrics,
    stop: threading.Event,
    has_started: threading.Event,
) -> None:
    broker = Broker(settings, options.name, stop, metrics.count_kafka_error, metrics.count_rejected)
    try:
        broker.start(None if has_started.is_set() else START_SECONDS)
        # The positions are read after the fencing, when the transaction of an earlier shipper is committed or aborted.
        positions = read_positions(settings, options.name, metrics.count_kafka_error)
        has_started.set()
        shipper = Shipper(options.name, options.cluster, options.tenant)
        loop = ShippingLoop(files, shipper, broker, metrics, stop, positions, histories, options.ages, options.pace)
        loop.run(once=options.once)
    except StoppedError:
        _log.info("stopped before Kafka answered")
    finally:
        broker.close()


def _serve_metrics(settings: Settings) -> None:
    try:
        serve_metrics(settings)
    except MetricsPortError as error:
        raise UnavailableError(str(error)) from error
