"""Sends batches to Kafka, each in one transaction."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from functools import partial

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from sparkfuse_collectors.ship.batch import Batch, Record
from sparkfuse_collectors.ship.errors import BrokerLostError, FencedError, StoppedError
from sparkfuse_collectors.ship.rejected_records import PERMANENT, RejectedRecords
from sparkfuse_contracts.kafka_access import KafkaUnavailableError, explain
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings

ANSWER_SECONDS = 10.0
# After its start, a broker needs a few seconds to load its transactions.
START_SECONDS = 30.0
# If a shipper died, the broker aborts its transaction after this time and at most ten seconds more. Until then, no
# later record of its partitions is read. The time must be much shorter than IDLE_MS of the windows job.
TRANSACTION_SECONDS = 20.0
MAX_WAIT_SECONDS = 10.0
TEMPORARY = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}  # noqa: SLF001
_log = logging.getLogger("sparkfuse.ship")


class Broker:
    """A transactional producer with the shipper's name; its methods wait while no broker answers.

    ``on_rejected`` is called for each record that Kafka rejects; a dead letter replaces the record.
    """

    def __init__(
        self,
        settings: Settings,
        name: str,
        stop: threading.Event,
        on_error: Callable[[KafkaError], None],
        on_rejected: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings, self._stop, self._on_rejected = settings, stop, on_rejected
        self._prefix, self._transactional_id = settings.topic_prefix, f"{settings.topic_prefix}.ship.{name}"
        self._started_at = 0.0
        self._producer = Producer(producer_configuration(settings, {
            "client.id": f"sparkfuse-shipper-{name}",
            # A restarted shipper uses the same id, so Kafka fences the producer of the previous process.
            "transactional.id": self._transactional_id,
            "transaction.timeout.ms": int(TRANSACTION_SECONDS * 1000),
            "compression.type": "lz4",
            "linger.ms": 5,
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": 64 * 1024,
            "log_level": 0,
            "error_cb": on_error,
        }))  # fmt: skip

    def start(self, patience_seconds: float | None = START_SECONDS) -> None:
        """Fence an earlier shipper with the same name, and abort the transaction of that shipper.

        ``patience_seconds`` limits the wait for a broker; None means no limit.

        Raises KafkaException if no broker answers in time, KafkaUnavailableError if the principal may not use the
        transactional id, StoppedError, FencedError, BrokerLostError.
        """
        until = None if patience_seconds is None else time.monotonic() + patience_seconds
        self._retry("start", lambda: self._producer.init_transactions(ANSWER_SECONDS), until)

    def send(self, batch: Batch) -> None:
        """Commit the batch in one transaction. Raises StoppedError, FencedError, BrokerLostError.

        A record that Kafka rejects is replaced in the batch by a dead letter.
        """
        rejected = RejectedRecords(batch, self._prefix, self._on_rejected)
        while not self._try_send(batch, rejected):
            if not rejected.boundaries:
                _log.warning("the broker aborted a transaction; sending it again")
            if self._stop.is_set():
                raise StoppedError

    def close(self) -> None:
        """Close the producer; the broker aborts an open transaction."""
        self._producer.purge()

    def _try_send(self, batch: Batch, rejected: RejectedRecords) -> bool:
        """Send the batch in one transaction; return whether the transaction was committed."""
        self._started_at = time.monotonic()
        rejected.start_attempt()
        try:
            self._retry("begin", self._producer.begin_transaction)
            for index in range(len(batch)):
                if index in rejected.boundaries:
                    self._flush_pack(rejected)
                self._add(batch, index, rejected)
            self._retry("commit", lambda: self._producer.commit_transaction(ANSWER_SECONDS))
        except _AbortableError:
            self._abort()
            rejected.narrow()
            return False
        return True

    def _flush_pack(self, rejected: RejectedRecords) -> None:
        """Wait for the answers to all records so far, so that the client packs the next record separately."""
        while self._producer.flush(ANSWER_SECONDS):
            if self._stop.is_set():
                raise StoppedError
        if rejected.any_in_attempt:
            raise _AbortableError

    def _add(self, batch: Batch, index: int, rejected: RejectedRecords) -> None:
        try:
            self._produce(batch.records[index], partial(rejected.note, index))
        except _RejectedError as error:
            rejected.replace(index, error.error)
            self._produce(batch.records[index], partial(rejected.note, index))

    def _abort(self) -> None:
        # A transaction can be aborted only after the client has reported the result of each record.
        self._producer.flush(ANSWER_SECONDS)
        try:
            self._retry("abort", lambda: self._producer.abort_transaction(ANSWER_SECONDS))
        except _AbortableError as error:
            raise BrokerLostError("the transaction can be neither committed nor aborted") from error

    def _produce(self, record: Record, on_delivery: Callable[[KafkaError | None, Message], None]) -> None:
        topic, key, value = record
        while True:
            try:
                self._producer.produce(f"{self._prefix}.{topic}", value, key, on_delivery=on_delivery)
            except BufferError:
                self._producer.poll(0.1)
                if self._stop.is_set():
                    raise StoppedError from None
            except KafkaException as error:
                if error.args[0].code() in PERMANENT:
                    raise _RejectedError(error.args[0]) from error
                if error.args[0].code() == KafkaError._STATE:  # noqa: SLF001
                    # An earlier record was rejected, so the client accepts nothing until the transaction is aborted.
                    raise _AbortableError from error
                self._raise_permanent(error.args[0])
                self._producer.poll(0.1)
            else:
                return

    def _retry(self, step: str, work: Callable[[], object], until: float | None = None) -> None:
        wait = 0.2
        is_logged = False
        while True:
            try:
                work()
            except KafkaException as error:
                self._raise_permanent(error.args[0])
                if until is not None and time.monotonic() > until:
                    raise
                if not is_logged:
                    _log.warning("Kafka does not answer (%s: %s); waiting for an answer", step, error.args[0].str())
                    is_logged = True
                if self._stop.wait(wait):
                    raise StoppedError from error
                wait = min(wait * 2, MAX_WAIT_SECONDS)
            else:
                if is_logged:
                    _log.info("Kafka answers again")
                return

    def _raise_permanent(self, error: KafkaError) -> None:
        """Raise an error that a retry cannot fix."""
        if error.code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED}:  # noqa: SLF001
            if time.monotonic() - self._started_at > TRANSACTION_SECONDS / 2:
                raise BrokerLostError("the transaction exceeded the broker's time limit")
            raise FencedError("another shipper with this name has started: give each shipper its own --name")
        if error.code() == KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            what = f"WRITE the transactional id {self._transactional_id}"
            raise KafkaUnavailableError(explain(self._settings, error, what))
        if error.fatal():
            raise BrokerLostError(error.str())
        if error.txn_requires_abort():
            raise _AbortableError
        if not error.retriable() and error.code() not in TEMPORARY:
            raise BrokerLostError(error.str())


class _AbortableError(Exception):
    """The transaction must be aborted and may be sent again."""


class _RejectedError(Exception):
    """Kafka rejects the record for good."""

    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.str())
        self.error = error
