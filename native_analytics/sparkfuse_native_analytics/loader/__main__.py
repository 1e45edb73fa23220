"""``python -m sparkfuse_native_analytics.loader``: runs the loader until SIGTERM.

Exit codes: 0 after SIGTERM, 2 for invalid settings, 3 if Kafka, a topic or the store cannot be used at the start.
"""

from __future__ import annotations

import concurrent.futures
import logging
import signal
import sys
import threading

from confluent_kafka import KafkaException

from sparkfuse_contracts.kafka_access import FoundTopic, KafkaUnavailableError, explain, require_access
from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_native_analytics.loader.dead_letters import DeadLetterWriter
from sparkfuse_native_analytics.loader.feed import FEEDS, Feed
from sparkfuse_native_analytics.loader.feed_worker import FeedWorker, LoaderMetrics, watch_lag
from sparkfuse_native_analytics.loader.kafka import TopicReader
from sparkfuse_native_analytics.loader.rollups import keep_rolled_up
from sparkfuse_native_analytics.loader.sink import Sink
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.store.migrate import MigrationError, migrate

USAGE = 2
UNAVAILABLE = 3
_log = logging.getLogger("sparkfuse.loader")


def main() -> int:
    """Run all feeds; an error at the start is printed as one sentence."""
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
    except (KafkaUnavailableError, StoreUnavailableError, MigrationError) as error:
        return _fail(str(error), UNAVAILABLE)
    except KafkaException as error:
        return _fail(explain(settings, error.args[0]), UNAVAILABLE)


def _run(settings: Settings, stop: threading.Event) -> int:
    done = migrate(connect(settings), settings)
    if done:
        _log.info("migrated the store: %s", ", ".join(done))
    metrics = LoaderMetrics()
    workers = _works(settings, metrics, stop)
    try:
        serve_metrics(settings)
    except MetricsPortError as error:
        return _fail(str(error), UNAVAILABLE)
    _log.info("loading %s", ", ".join(worker.reader.topic.name for worker in workers))
    with concurrent.futures.ThreadPoolExecutor(len(workers) + 2) as threads:
        running = [threads.submit(worker.run) for worker in workers]
        threads.submit(watch_lag, workers, metrics, stop)
        threads.submit(keep_rolled_up, connect(settings), stop)
        concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
        # A feed that ends by itself has failed. The other feeds stop too, so that the failure is visible.
        stop.set()
    for each in running:
        each.result()
    return 0


def _works(settings: Settings, metrics: LoaderMetrics, stop: threading.Event) -> list[FeedWorker]:
    topics = require_access(settings, "loader")
    letters = DeadLetterWriter(settings, metrics.kafka_error)
    return [_work(settings, feed, topics[feed.topic], letters, metrics, stop) for feed in FEEDS]


def _work(
    settings: Settings,
    feed: Feed,
    topic: FoundTopic,
    letters: DeadLetterWriter,
    metrics: LoaderMetrics,
    stop: threading.Event,
) -> FeedWorker:
    sink = Sink(connect(settings), stop, lambda table: metrics.store_errors.labels(table).inc())
    reader = TopicReader(settings, topic, metrics.kafka_error, times=feed.version is not None)
    for partition in reader.start(sink.stored_offsets(feed.table)):
        _log.warning("%s/%s was deleted and created again; loading it from its start", topic.name, partition)
    return FeedWorker(feed, reader, sink, letters, metrics, stop)


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse loader: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
