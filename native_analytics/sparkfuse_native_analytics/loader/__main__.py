"""``python -m sparkfuse_native_analytics.loader``: loads until SIGTERM.

Exit codes: 0 when told to stop, 2 for wrong settings, 3 when Kafka, a topic or the store is not there at the start.
"""

from __future__ import annotations

import concurrent.futures
import logging
import signal
import sys
import threading

from confluent_kafka import KafkaException
from prometheus_client import start_http_server

from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_native_analytics.loader.dead_letters import DeadLetterWriter
from sparkfuse_native_analytics.loader.feed import FEEDS, Feed
from sparkfuse_native_analytics.loader.feed_worker import LoaderMetrics, Work, watch_lag
from sparkfuse_native_analytics.loader.kafka import Topic, TopicReader, TopicUnavailableError, describe
from sparkfuse_native_analytics.loader.sink import Sink
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.store.migrate import MigrationError, migrate

USAGE = 2
UNAVAILABLE = 3
_log = logging.getLogger("sparkfuse.loader")


def main() -> int:
    """Start all feeds and wait for the end; what is missing at the start is told in one sentence."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        settings = Settings.from_environment()
    except SettingError as error:
        return _fail(str(error), USAGE)
    stop = threading.Event()
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: stop.set())
    try:
        return _run(settings, stop)
    except (TopicUnavailableError, StoreUnavailableError, MigrationError) as error:
        return _fail(str(error), UNAVAILABLE)
    except KafkaException as error:
        return _fail(f"no Kafka broker answers at {settings.kafka_bootstrap}: {error.args[0].str()}", UNAVAILABLE)


def _run(settings: Settings, stop: threading.Event) -> int:
    done = migrate(connect(settings))
    if done:
        _log.info("the store now has %s", ", ".join(done))
    metrics = LoaderMetrics()
    works = _works(settings, metrics, stop)
    if settings.metrics_port:
        try:
            start_http_server(settings.metrics_port, addr=settings.metrics_address)
        except OSError as error:
            said = f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error.strerror}"
            return _fail(said, UNAVAILABLE)
    _log.info("loading %s", ", ".join(work.reader.topic.name for work in works))
    with concurrent.futures.ThreadPoolExecutor(len(works) + 1) as threads:
        running = [threads.submit(work.run) for work in works]
        threads.submit(watch_lag, works, metrics, stop)
        concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        # One that ended alone has failed: the others must not go on as if nothing were amiss.
        stop.set()
    for each in running:
        each.result()
    return 0


def _works(settings: Settings, metrics: LoaderMetrics, stop: threading.Event) -> list[Work]:
    names = {feed.topic: topic_name(feed.topic, settings.topic_prefix) for feed in FEEDS}
    topics = describe(settings.kafka_bootstrap, list(names.values()))
    letters = DeadLetterWriter(settings.kafka_bootstrap, names["dead-letters"], metrics.kafka_error)
    return [_work(settings, feed, topics[names[feed.topic]], letters, metrics, stop) for feed in FEEDS]


def _work(
    settings: Settings,
    feed: Feed,
    topic: Topic,
    letters: DeadLetterWriter,
    metrics: LoaderMetrics,
    stop: threading.Event,
) -> Work:
    sink = Sink(connect(settings), stop, lambda table: metrics.store_errors.labels(table).inc())
    reader = TopicReader(settings.kafka_bootstrap, topic, metrics.kafka_error)
    for partition in reader.start(sink.stored_offsets(feed.table)):
        _log.warning("%s/%s was made anew since it was stored; loading it from its start", topic.name, partition)
    return Work(feed, reader, sink, letters, metrics, stop)


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse loader: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
