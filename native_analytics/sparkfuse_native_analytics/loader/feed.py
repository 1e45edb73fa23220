"""The feeds of the loader: each feed is a topic, the message of the topic, and the table that the topic fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from google.protobuf.message import Message

from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_contracts.generated import (
    audit_record_pb2,
    baseline_pb2,
    dead_letter_pb2,
    feedback_pb2,
    finding_pb2,
    receipt_pb2,
)
from sparkfuse_contracts.tables import tables
from sparkfuse_contracts.wire import from_json
from sparkfuse_kernel import Decoder

_PACKAGE = "sparkfuse.contracts"
# The kind of clock records (ticks), which belong to no application and are not stored.
TICK = "tick"


def _json(message_class: type[Message]) -> Callable[[bytes], bytes]:
    def to_protobuf(value: bytes) -> bytes:
        return from_json(message_class, value).SerializeToString()

    return to_protobuf


@dataclass(frozen=True)
class Feed:
    """One topic and its table.

    If the message has kinds, ``choice`` is the name of the column that contains the kind. For a JSON topic,
    ``to_protobuf`` validates a record and converts it to the message; these topics have few records. For a Protobuf
    topic, ``to_protobuf`` is None. ``version`` is the time column (ms since the epoch) whose largest value wins, if
    people write it: a record with a value in the future is invalid, because it would win for ever.
    """

    topic: str
    table: str
    message: str
    choice: str | None = None
    to_protobuf: Callable[[bytes], bytes] | None = None
    version: str | None = None

    @cached_property
    def decoder(self) -> Decoder:
        """The kernel's decoder for the message."""
        return Decoder(descriptor_set(), f"{_PACKAGE}.{self.message}")

    @cached_property
    def columns(self) -> Mapping[str, str]:
        """Maps each column of the table to the kernel's column."""
        there = set(self.decoder.columns)
        pairs = {column.name: "_".join(column.path) or column.name for column in tables()[self.table].columns}
        return {name: source for name, source in pairs.items() if source in there and name not in KAFKA_COLUMNS}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The columns that must have a value in each record: the columns of the key, and the kind."""
        key = tuple(name for name in tables()[self.table].key if name in self.columns)
        return (self.choice, *key) if self.choice else key


KAFKA_COLUMNS = ("kafka_partition", "kafka_offset")
FEEDS = (
    Feed("facts", "facts", "Fact", choice="kind"),
    Feed("live", "live", "LiveRow", choice="row"),
    Feed("history", "history", "HistoryRow", choice="row"),
    Feed("names", "names", "DisplayName"),
    Feed("expectations", "stage_expectations", "StageExpectation"),
    Feed("findings", "findings", "Finding", to_protobuf=_json(finding_pb2.Finding)),
    Feed("audit", "audit", "AuditRecord", to_protobuf=_json(audit_record_pb2.AuditRecord)),
    Feed("receipts", "receipts", "Receipt", to_protobuf=_json(receipt_pb2.Receipt)),
    Feed("baselines", "baselines", "Baseline", to_protobuf=_json(baseline_pb2.Baseline)),
    Feed("feedback", "feedback", "Feedback", to_protobuf=_json(feedback_pb2.Feedback), version="at_ms"),
    Feed("dead-letters", "dead_letters", "DeadLetter", to_protobuf=_json(dead_letter_pb2.DeadLetter)),
)
