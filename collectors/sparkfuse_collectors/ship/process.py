"""The shipper as a process: what it needs is checked at its start, then it ships until it is told to stop."""

from __future__ import annotations

import logging
import re
import threading
from dataclasses import dataclass, field

from confluent_kafka import KafkaException
from prometheus_client import start_http_server

from sparkfuse_collectors.logs.files import Files, files_of
from sparkfuse_collectors.ship.broker import START_SECONDS, WAITED_FOR, Broker, BrokerLost, Stopped, read_positions
from sparkfuse_collectors.ship.folders import Ages
from sparkfuse_collectors.ship.metrics import ShipMetrics
from sparkfuse_collectors.ship.shipper import HistoryReader, Pace, Work
from sparkfuse_collectors.ship.translate import Shipper
from sparkfuse_contracts.settings import Settings

DEFAULT_NAME = "shipper"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
RETRY_SECONDS = 2.0
_log = logging.getLogger("sparkfuse.ship")


class OptionRefused(ValueError):
    """An option has a value that cannot be used; the text names it and what would be right."""


class Unavailable(RuntimeError):
    """Something that the shipper needs at its start is not there; the text is one sentence."""


@dataclass(frozen=True)
class Options:
    """What a shipper is told: the folders or URLs, its name, whose data it is, and how it goes about it."""

    places: tuple[str, ...]
    name: str = DEFAULT_NAME
    cluster: str = "default"
    tenant: str = "default"
    once: bool = False
    ages: Ages = field(default_factory=Ages)
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise OptionRefused(f"--name {self.name!r} must be letters, digits, '.', '_' and '-', at most 100")
        for option, value in (("--cluster", self.cluster), ("--tenant", self.tenant)):
            if not value or "|" in value or len(value) > 200:
                raise OptionRefused(f"{option} {value!r} must be 1 to 200 letters without '|'")


def ship(options: Options, settings: Settings, histories: HistoryReader, stop: threading.Event) -> None:
    """Ship until ``stop`` is set.

    Raises UnreadableLogError for a folder that is not there, Unavailable, and Fenced when another shipper has the name.
    """
    metrics = ShipMetrics()
    files = [files_of(place) for place in options.places]
    _serve_metrics(settings)
    _log.info("following %s as %s", ", ".join(each.shown(each.root) for each in files), options.name)
    begun = threading.Event()
    while not stop.is_set():
        try:
            _ship(options, settings, files, histories, metrics, stop, begun)
        except BrokerLost as lost:
            _log.warning("beginning again at the last positions: %s", lost)
        except KafkaException as error:
            # At its start a person waits for the answer; later nobody does, and the broker comes back.
            if not begun.is_set():
                raise Unavailable(why_no_kafka(settings.kafka_bootstrap, error)) from error
            _log.warning("beginning again at the last positions: %s", error.args[0].str())
        else:
            return
        stop.wait(RETRY_SECONDS)


def why_no_kafka(bootstrap: str, error: KafkaException) -> str:
    """One sentence for people of what stands in the way of Kafka."""
    cause = error.args[0]
    if cause.code() in WAITED_FOR:
        return f"no Kafka broker answers at {bootstrap}: is SPARKFUSE_KAFKA_BOOTSTRAP right, and is it running?"
    return f"Kafka at {bootstrap} refuses: {cause.str()}"


def _ship(
    options: Options,
    settings: Settings,
    files: list[Files],
    histories: HistoryReader,
    metrics: ShipMetrics,
    stop: threading.Event,
    begun: threading.Event,
) -> None:
    bootstrap, prefix = settings.kafka_bootstrap, settings.topic_prefix
    broker = Broker(bootstrap, prefix, options.name, stop, metrics.kafka_error, metrics.refused)
    try:
        broker.start(None if begun.is_set() else START_SECONDS)
        # Behind the fence: what an earlier shipper of the name had open is committed or given up by now.
        positions = read_positions(bootstrap, prefix, options.name, metrics.kafka_error)
        begun.set()
        shipper = Shipper(options.name, options.cluster, options.tenant)
        work = Work(files, shipper, broker, metrics, stop, positions, histories, options.ages, options.pace)
        work.run(once=options.once)
    except Stopped:
        _log.info("stopped before Kafka answered")
    finally:
        broker.close()


def _serve_metrics(settings: Settings) -> None:
    if not settings.metrics_port:
        return
    try:
        start_http_server(settings.metrics_port, addr=settings.metrics_address)
    except OSError as error:
        reason = f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error.strerror}"
        raise Unavailable(reason) from error
