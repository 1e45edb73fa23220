"""Loads one feed until it is stopped: reads records, decodes them, writes dead letters, and stores batches."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass

from confluent_kafka import KafkaError, KafkaException
from prometheus_client import REGISTRY, CollectorRegistry

from sparkfuse_contracts import metric_names
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.dead_letters import COMPONENT, DeadLetterWriter
from sparkfuse_native_analytics.loader.feed import Feed
from sparkfuse_native_analytics.loader.kafka import TopicReader
from sparkfuse_native_analytics.loader.sink import Sink, StoppedError
from sparkfuse_native_analytics.metrics import counter, gauge, histogram

# Each batch becomes a part on disk that ClickHouse must merge, so batches are as large as one block may be.
BATCH_RECORDS = 25_000
BATCH_SECONDS = 0.5
LAG_SECONDS = 5.0
_log = logging.getLogger("sparkfuse.loader")


class LoaderMetrics:
    """The metrics of the loader."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        self.read = counter(metric_names.RECORDS_READ, registry)
        self.dead_letters = counter(metric_names.DEAD_LETTERS, registry)
        self.lag = gauge(metric_names.CONSUMER_LAG, registry)
        self.kafka_errors = counter(metric_names.KAFKA_ERRORS, registry)
        self.stored = counter(metric_names.ROWS_STORED, registry)
        self.store_errors = counter(metric_names.STORE_ERRORS, registry)
        self.seconds = histogram(metric_names.BATCH_SECONDS, registry)

    def kafka_error(self, error: KafkaError) -> None:
        """Count an error of the Kafka client, and log it only at debug level, because the client recovers by itself."""
        self.kafka_errors.labels(COMPONENT).inc()
        _log.debug("Kafka: %s", error.str())


@dataclass(frozen=True)
class FeedWorker:
    """Loads one feed in its own thread, so that no topic waits for another topic."""

    feed: Feed
    reader: TopicReader
    sink: Sink
    letters: DeadLetterWriter
    metrics: LoaderMetrics
    stop: threading.Event

    def run(self) -> None:
        """Load the feed until ``stop`` is set."""
        try:
            while not self.stop.is_set():
                for records in self.reader.read(BATCH_RECORDS, BATCH_SECONDS):
                    self._load(records)
        except StoppedError:
            _log.info("stopped before a batch of %s was stored", self.feed.topic)
        finally:
            self.reader.close()

    def _load(self, records: Records) -> None:
        started = time.perf_counter()
        batch = make_batch(self.feed, records, self.reader.topic.id)
        self.metrics.read.labels(COMPONENT, self.feed.topic).inc(len(records.values))
        if batch.rejected:
            self.metrics.dead_letters.labels(COMPONENT, self.feed.topic).inc(len(batch.rejected))
            if self.feed.table != "dead_letters":  # a dead letter for an invalid dead letter would be invalid again
                self.letters.write(self.reader.topic.name, records.partition, batch.rejected, self.stop)
        self.sink.store(batch)
        for name, table in batch.tables:
            self.metrics.stored.labels(name).inc(table.num_rows)
        self.metrics.seconds.labels(self.feed.table).observe(time.perf_counter() - started)


def watch_lag(workers: list[FeedWorker], metrics: LoaderMetrics, stop: threading.Event) -> None:
    """Update the lag metric of each topic every few seconds, even while the store does not answer."""
    while not stop.is_set():
        for worker in workers:
            if stop.is_set():
                return
            try:
                metrics.lag.labels(COMPONENT, worker.feed.topic).set(worker.reader.lag())
            except (KafkaException, RuntimeError) as error:  # the broker does not answer, or the reader is closed
                _log.debug("no lag of %s: %s", worker.feed.topic, error)
        stop.wait(LAG_SECONDS)
