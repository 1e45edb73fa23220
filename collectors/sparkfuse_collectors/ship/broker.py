"""The shipper's edge towards Kafka: everything that belongs together in one transaction, and positions back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from sparkfuse_collectors.ship.metrics import COMPONENT
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.position_pb2 import Position
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import RecordError, from_json, to_json

ANSWER_SECONDS = 10.0
# A broker that was just started loads its transactions for some seconds.
START_SECONDS = 30.0
TRANSACTION_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 10.0
WAITED_FOR = {KafkaError._TIMED_OUT, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}  # noqa: SLF001
# A record that is answered so is never taken, however often it is sent.
NEVER_TAKEN = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD}
# What a dead letter keeps of a record.
PAYLOAD_BYTES = 64 * 1024
_log = logging.getLogger("sparkfuse.ship")


class Stopped(Exception):
    """The shipper is to stop before a batch could be sent; it is read again at the next start."""


class Fenced(RuntimeError):
    """Another shipper of the same name has started; the text is one sentence."""


class BrokerLost(RuntimeError):
    """It cannot be known whether the last batch was taken: positions have to be read again."""


Record = tuple[str, bytes | None, bytes | None]


@dataclass
class Batch:
    """What goes out in one transaction: (topic, key, value), in order; a value of None deletes a position."""

    records: list[Record] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, topic: str, key: bytes | None, value: bytes | None) -> None:
        """One record more; ``topic`` is its name behind the prefix."""
        self.records.append((topic, key, value))
        self.size_bytes += len(value or b"") + len(key or b"")

    def __len__(self) -> int:
        return len(self.records)


class Broker:
    """A transactional producer under the shipper's name. A broker that is away is waited for.

    ``on_refused`` is told of each record that Kafka never takes, in whose place a dead letter is sent.
    """

    def __init__(
        self,
        bootstrap: str,
        prefix: str,
        name: str,
        stop: threading.Event,
        on_error: Callable[[KafkaError], None],
        on_refused: Callable[[], None] = lambda: None,
    ) -> None:
        self._prefix, self._stop, self._on_refused = prefix, stop, on_refused
        self._began = 0.0
        self._producer = Producer({
            "bootstrap.servers": bootstrap,
            "client.id": f"sparkfuse-shipper-{name}",
            # A restarted shipper has the name of the one before it, which is fenced from then on.
            "transactional.id": f"{prefix}.ship.{name}",
            "transaction.timeout.ms": int(TRANSACTION_SECONDS * 1000),
            "compression.type": "lz4",
            "linger.ms": 5,
            "queue.buffering.max.messages": 200_000,
            "queue.buffering.max.kbytes": 64 * 1024,
            "log_level": 0,
            "error_cb": on_error,
        })  # fmt: skip

    def start(self, patience_seconds: float | None = START_SECONDS) -> None:
        """Fence an earlier shipper of the name, and end what it left open; None waits for as long as it takes.

        Raises KafkaException when no broker answers in that time, Stopped, Fenced, BrokerLost.
        """
        until = None if patience_seconds is None else time.monotonic() + patience_seconds
        self._until_done("start", lambda: self._producer.init_transactions(ANSWER_SECONDS), until)

    def send(self, batch: Batch) -> None:
        """All of the batch, or nothing of it. Raises Stopped, Fenced, BrokerLost.

        A record that is never taken is replaced in the batch by a dead letter, and the rest goes on.
        """
        cuts: set[int] = set()
        while not self._sent(batch, cuts):
            if not cuts:
                _log.warning("a transaction was given up by the broker; sending it again")
            if self._stop.is_set():
                raise Stopped

    def close(self) -> None:
        """Let go of the broker; what is still open is given up by it."""
        self._producer.purge()

    def _sent(self, batch: Batch, cuts: set[int]) -> bool:
        """Whether it was taken. ``cuts`` are the places at which one group of records ends and the next begins."""
        self._began = time.monotonic()
        refused: dict[int, KafkaError] = {}
        try:
            self._until_done("begin", self._producer.begin_transaction)
            for place in range(len(batch)):
                if place in cuts:
                    self._end_group(refused)
                self._put(batch, place, refused)
            self._until_done("commit", lambda: self._producer.commit_transaction(ANSWER_SECONDS))
        except _Abortable:
            self._give_up()
            self._judge(batch, refused, cuts)
            return False
        return True

    def _end_group(self, refused: dict[int, KafkaError]) -> None:
        """Wait until what was put is told of, so that nothing is packed with what follows."""
        while self._producer.flush(ANSWER_SECONDS):
            if self._stop.is_set():
                raise Stopped
        if refused:
            raise _Abortable

    def _put(self, batch: Batch, place: int, refused: dict[int, KafkaError]) -> None:
        try:
            self._produce(batch.records[place], partial(_note, refused, place))
        except _NeverTaken as never:
            self._set_aside(batch, place, never.error)
            self._produce(batch.records[place], partial(_note, refused, place))

    def _judge(self, batch: Batch, refused: dict[int, KafkaError], cuts: set[int]) -> None:
        """The broker refuses what was packed together: halve that, until what it never takes stands alone.

        To send each by itself at once would take longer than the broker waits for a transaction. Behind a record that
        was found all else is packed together again, for the same reason.
        """
        if not refused:
            return
        places = sorted(refused)
        first, behind = places[0], places[-1] + 1
        if behind - first == 1 and {first, behind} <= cuts:
            self._set_aside(batch, first, refused[first])
            cuts.clear()
        else:
            cuts |= {first, places[len(places) // 2], behind}

    def _set_aside(self, batch: Batch, place: int, error: KafkaError) -> None:
        """Put a dead letter in the place of a record."""
        topic, key, value = batch.records[place]
        if topic in {"positions", "dead-letters"}:
            # Facts without their position would be sent again, and a letter in the place of a letter fares no better.
            raise BrokerLost(f"a record for {topic} is not taken: {error.str()}")
        whose, size = (key or b"").decode(errors="replace")[:200], len(value or b"")
        reason = f"a record of {size} bytes for {topic} under {whose!r} is not taken: {error.str()}"
        _log.warning("%s; it is set aside", reason)
        self._on_refused()
        letter = DeadLetter(
            component=COMPONENT,
            topic=f"{self._prefix}.{topic}",
            reason=reason,
            payload=(value or b"")[:PAYLOAD_BYTES],
            seen_ms=time.time_ns() // 1_000_000,
        )
        batch.records[place] = ("dead-letters", None, to_json(letter))

    def _give_up(self) -> None:
        # What is still on its way must be told of before the transaction can be given up.
        self._producer.flush(ANSWER_SECONDS)
        try:
            self._until_done("abort", lambda: self._producer.abort_transaction(ANSWER_SECONDS))
        except _Abortable as error:
            raise BrokerLost("the transaction can neither be ended nor given up") from error

    def _produce(self, record: Record, told: Callable[[KafkaError | None, Message], None]) -> None:
        topic, key, value = record
        while True:
            try:
                self._producer.produce(f"{self._prefix}.{topic}", value, key, on_delivery=told)
            except BufferError:
                self._producer.poll(0.1)
                if self._stop.is_set():
                    raise Stopped from None
            except KafkaException as error:
                if error.args[0].code() in NEVER_TAKEN:
                    raise _NeverTaken(error.args[0]) from error
                if error.args[0].code() == KafkaError._STATE:  # noqa: SLF001
                    # Something that was sent before was refused meanwhile: nothing more is taken until it is given up.
                    raise _Abortable from error
                self._raise(error.args[0])
                self._producer.poll(0.1)
            else:
                return

    def _until_done(self, what: str, work: Callable[[], object], until: float | None = None) -> None:
        wait = 0.2
        told = False
        while True:
            try:
                work()
            except KafkaException as error:
                self._raise(error.args[0])
                if until is not None and time.monotonic() > until:
                    raise
                if not told:
                    _log.warning(
                        "Kafka does not answer (%s: %s); nothing moves until it does", what, error.args[0].str()
                    )
                    told = True
                if self._stop.wait(wait):
                    raise Stopped from error
                wait = min(wait * 2, LONGEST_WAIT_SECONDS)
            else:
                if told:
                    _log.info("Kafka answers again")
                return

    def _raise(self, error: KafkaError) -> None:
        """Raise what waiting does not mend."""
        if error.code() in {KafkaError._FENCED, KafkaError.PRODUCER_FENCED}:  # noqa: SLF001
            if time.monotonic() - self._began > TRANSACTION_SECONDS / 2:
                raise BrokerLost("the transaction took longer than the broker waits for one")
            raise Fenced("another shipper of this name has started: give each its own --name")
        if error.fatal():
            raise BrokerLost(error.str())
        if error.txn_requires_abort():
            raise _Abortable
        if not error.retriable() and error.code() not in WAITED_FOR:
            raise BrokerLost(error.str())


class _Abortable(Exception):
    """The transaction has to be given up and may be tried again."""


class _NeverTaken(Exception):
    """The record can never be sent."""

    def __init__(self, error: KafkaError) -> None:
        super().__init__(error.str())
        self.error = error


def _note(refused: dict[int, KafkaError], place: int, error: KafkaError | None, _message: Message) -> None:
    if error is not None and error.code() in NEVER_TAKEN:
        refused[place] = error


def read_positions(
    bootstrap: str, prefix: str, shipper: str, on_error: Callable[[KafkaError], None]
) -> dict[str, Position]:
    """Where the shipper stands with each log, by the log's name; what cannot be read is passed over, as no position.

    Raises KafkaException when the broker does not answer.
    """
    found: dict[str, Position] = {}
    for message in _records(bootstrap, topic_name("positions", prefix), on_error):
        value = message.value()
        if value is None:
            found.pop(_log_of(message.key(), shipper), None)
            continue
        try:
            position = from_json(Position, value)
        except RecordError:
            continue
        if position.shipper == shipper:
            found[position.log] = position
    return found


def _log_of(key: bytes | None, shipper: str) -> str:
    try:
        position = from_json(Position, key or b"")
    except RecordError:
        return ""
    return position.log if position.shipper == shipper else ""


def _records(bootstrap: str, topic: str, on_error: Callable[[KafkaError], None]) -> Iterator[Message]:
    """The records of a topic from its beginning to where it ends now; of transactions only what was committed."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": "sparkfuse-shipper",  # the client wants one; nothing is ever committed to it
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed",
        "log_level": 0,
        "error_cb": on_error,
    })  # fmt: skip
    try:
        known = consumer.list_topics(topic, timeout=ANSWER_SECONDS).topics[topic]
        if known.error is not None:
            raise KafkaException(known.error)
        waiting = set(known.partitions)
        consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in waiting])
        while waiting:
            message = consumer.poll(ANSWER_SECONDS)
            if message is None:
                raise KafkaException(KafkaError(KafkaError._TIMED_OUT, f"{topic} was not read to its end"))  # noqa: SLF001
            if message.error() is None:
                yield message
            elif message.error().code() == KafkaError._PARTITION_EOF:  # noqa: SLF001
                waiting.discard(message.partition())
            elif not message.error().retriable():
                raise KafkaException(message.error())
    finally:
        consumer.close()
