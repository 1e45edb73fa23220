"""Finds the records of a batch that Kafka rejects, and replaces them by dead letters."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, Message

from sparkfuse_collectors.ship.batch import Batch
from sparkfuse_collectors.ship.errors import BrokerLostError
from sparkfuse_collectors.ship.metrics import COMPONENT
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.limits import DEAD_LETTER_PAYLOAD_BYTES
from sparkfuse_contracts.wire import to_json

# Errors that a retry of the same record cannot fix.
PERMANENT = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.RECORD_LIST_TOO_LARGE, KafkaError.INVALID_RECORD}
_log = logging.getLogger("sparkfuse.ship")


class RejectedRecords:
    """The search for rejected records in one batch, over several transactions.

    Kafka rejects all records that the client packed into one record batch with a bad record. The search halves the
    packed records until the bad record is alone. Sending each record separately would exceed the time limit of a
    transaction. ``on_rejected`` is called for each record that is replaced by a dead letter.
    """

    def __init__(self, batch: Batch, prefix: str, on_rejected: Callable[[], None]) -> None:
        self._batch, self._prefix, self._on_rejected = batch, prefix, on_rejected
        self._errors: dict[int, KafkaError] = {}
        self.boundaries: set[int] = set()
        """Indices of records that the client must not pack together with the record before."""

    def start_attempt(self) -> None:
        """Forget the answers of the previous transaction."""
        self._errors.clear()

    @property
    def any_in_attempt(self) -> bool:
        """Whether Kafka rejected a record in this transaction."""
        return bool(self._errors)

    def note(self, index: int, error: KafkaError | None, _message: Message) -> None:
        """Store the answer to a record; this is the client's delivery callback."""
        if error is not None and error.code() in PERMANENT:
            self._errors[index] = error

    def narrow(self) -> None:
        """Replace a rejected record that was alone, or halve the records that were rejected together."""
        if not self._errors:
            return
        indices = sorted(self._errors)
        first, end = indices[0], indices[-1] + 1
        if end - first == 1 and {first, end} <= self.boundaries:
            self.replace(first, self._errors[first])
            self.boundaries.clear()
        else:
            self.boundaries |= {first, indices[len(indices) // 2], end}

    def replace(self, index: int, error: KafkaError) -> None:
        """Replace a record by its dead letter. Raises BrokerLostError if the record is a position or a dead letter."""
        topic, key, value = self._batch.records[index]
        if topic in {"positions", "dead-letters"}:
            # Positions must not be replaced: without its position, a log's facts would be sent again. A dead letter for
            # a dead letter would be rejected too.
            raise BrokerLostError(f"Kafka rejects a record for {topic}: {error.str()}")
        owner, size = (key or b"").decode(errors="replace")[:200], len(value or b"")
        reason = f"Kafka rejects a record of {size} bytes for {topic} with the key {owner!r}: {error.str()}"
        _log.warning("%s; a dead letter replaces it", reason)
        self._on_rejected()
        letter = DeadLetter(
            component=COMPONENT,
            topic=f"{self._prefix}.{topic}",
            reason=reason,
            payload=(value or b"")[:DEAD_LETTER_PAYLOAD_BYTES],
            seen_ms=time.time_ns() // 1_000_000,
        )
        self._batch.records[index] = ("dead-letters", None, to_json(letter))
