"""Tests that the kernel and the generated Python classes decode equal values from the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from datafusion import SessionContext
from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_contracts.generated import (
    audit_record_pb2,
    baseline_pb2,
    dead_letter_pb2,
    fact_pb2,
    finding_pb2,
    live_pb2,
)
from sparkfuse_kernel import Decoder, decode

CLASSES: dict[str, type[Message]] = {
    "fact": fact_pb2.Fact,
    "live_row": live_pb2.LiveRow,
    "finding": finding_pb2.Finding,
    "audit_record": audit_record_pb2.AuditRecord,
    "baseline": baseline_pb2.Baseline,
    "dead_letter": dead_letter_pb2.DeadLetter,
}
DECODERS = {folder: Decoder(descriptor_set(), cls.DESCRIPTOR.full_name) for folder, cls in CLASSES.items()}
LENGTHS = {FieldDescriptor.TYPE_INT32: 31, FieldDescriptor.TYPE_INT64: 63}


def expected(message: Message) -> dict[str, Any]:
    """Return the row of a message, read field by field from the generated Python class."""
    row: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        oneof = field.containing_oneof
        if oneof is None or (len(oneof.fields) == 1 and field.message_type is None):
            row[field.name] = value(message, field)
        else:
            row[oneof.name] = message.WhichOneof(oneof.name)
            member = getattr(message, field.name) if message.HasField(field.name) else None
            row |= {f"{field.name}_{inner.name}": value(member, inner) for inner in field.message_type.fields}
    return row


def value(message: Message | None, field: FieldDescriptor) -> Any:
    """Return the value of a field: None for an absent field, a list of pairs for a map, dicts for repeated messages."""
    if field.label == FieldDescriptor.LABEL_REPEATED:
        content = [] if message is None else getattr(message, field.name)
        if field.message_type is None:
            return list(content)
        if field.message_type.GetOptions().map_entry:
            return sorted(content.items()) if content else []
        return [expected(each) for each in content]
    return getattr(message, field.name) if message is not None and message.HasField(field.name) else None


def rows(folder: str, records: list[bytes]) -> list[dict[str, Any]]:
    """Return the rows that the kernel decodes from the records."""
    table = pa.table(DECODERS[folder].decode(records).batches)
    table.validate(full=True)
    return table.to_pylist()


def filled(descriptor: Descriptor) -> st.SearchStrategy[dict[str, Any]]:
    """Generate any fields of a message with any values, as arguments of the message's constructor."""
    plain = {field.name: values(field) for field in descriptor.fields if is_outside_oneofs(field)}
    whole = st.fixed_dictionaries({}, optional=plain)
    for oneof in descriptor.oneofs:
        members = [field for field in oneof.fields if not is_outside_oneofs(field)]
        if members:
            chosen = st.one_of(st.none(), *(st.tuples(st.just(each.name), values(each)) for each in members))
            whole = st.builds(lambda row, pick: row | ({pick[0]: pick[1]} if pick else {}), whole, chosen)
    return whole


def is_outside_oneofs(field: FieldDescriptor) -> bool:
    """Return whether the field is in no oneof; the oneof that the compiler adds for an `optional` field is ignored."""
    return field.containing_oneof is None or (len(field.containing_oneof.fields) == 1 and field.message_type is None)


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """Generate values of one field."""
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4)
    single = scalar(field) if field.message_type is None else filled(field.message_type)
    return st.lists(single, max_size=4) if field.label == FieldDescriptor.LABEL_REPEATED else single


def scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """Generate values of a Protobuf type, including its smallest and largest values."""
    if field.type in LENGTHS:
        end = 1 << LENGTHS[field.type]
        return st.integers(-end, end - 1) | st.sampled_from([0, -end, end - 1])
    if field.type == FieldDescriptor.TYPE_BYTES:
        return st.binary(max_size=20)
    if field.type == FieldDescriptor.TYPE_BOOL:
        return st.booleans()
    if field.type == FieldDescriptor.TYPE_DOUBLE:
        return st.floats(allow_nan=False)
    assert field.type == FieldDescriptor.TYPE_STRING, f"{field.full_name} has a type without test values"
    return st.text(max_size=10)


@pytest.mark.parametrize("folder", CLASSES)
def test_examples_equal_the_generated_class(folder: str, repository: Path) -> None:
    """All examples of a message, decoded in one batch, equal the values of the generated class."""
    files = sorted((repository / "contracts" / "examples" / folder).glob("*.json"))
    messages = [json_format.Parse(file.read_text(), CLASSES[folder]()) for file in files]

    assert messages
    assert rows(folder, [message.SerializeToString() for message in messages]) == [*map(expected, messages)]


@pytest.mark.parametrize("folder", CLASSES)
def test_any_message_equals_the_generated_class(folder: str) -> None:
    """Messages with any fields and values, decoded in one batch, equal the values of the generated class."""

    @settings(max_examples=60, deadline=None)
    @given(st.lists(filled(CLASSES[folder].DESCRIPTOR), min_size=1, max_size=5))
    def agree(contents: list[dict[str, Any]]) -> None:
        messages = [CLASSES[folder](**content) for content in contents]

        assert rows(folder, [message.SerializeToString() for message in messages]) == [*map(expected, messages)]

    agree()


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=60), st.integers(0, 200), st.integers(0, 255))
def test_damaged_facts_are_rejected_as_by_the_generated_class(junk: bytes, at: int, byte: int) -> None:
    """Both decoders accept, or both reject, a fact with a changed byte or additional bytes."""
    record = bytearray(fact_pb2.Fact(app_id="a", task_ended={"task_id": 7, "host": "h"}).SerializeToString())
    record[at % len(record)] = byte
    damaged = bytes(record) + junk[: at % 4]
    try:
        expected_rows = [expected(fact_pb2.Fact.FromString(damaged))]
    except DecodeError:
        expected_rows = []

    assert rows("fact", [damaged]) == expected_rows


def test_datafusion_reads_batches_without_pyarrow() -> None:
    """Batches are passed by Arrow's own protocol, so DataFusion can read them directly."""
    record = fact_pb2.Fact(app_id="a", task_ended={"run_ms": 7}).SerializeToString()
    context = SessionContext()
    context.from_arrow(DECODERS["fact"].decode([record] * 3).batches, name="facts")

    assert context.sql("SELECT sum(task_ended_run_ms) AS run_ms FROM facts").to_pylist() == [{"run_ms": 21}]


def test_rejected_records_have_index_and_reason() -> None:
    """A record without a value and a truncated record are rejected for different reasons; other records are decoded."""
    whole = fact_pb2.Fact(app_id="a").SerializeToString()
    decoded = decode(descriptor_set(), "sparkfuse.contracts.Fact", [whole, None, whole[:-1], whole])

    assert decoded.batches.num_rows == 2
    assert decoded.rejected == [
        (1, "the record has no value"),
        (2, "not a Fact: the record ends in the middle of a field"),
    ]


def test_error_of_an_unknown_message_lists_the_known_ones() -> None:
    """If a message is not in the descriptor set, the error lists the messages of the set."""
    with pytest.raises(
        ValueError, match=r"message Fat is not in the descriptor set; it has: .*sparkfuse\.contracts\.Fact"
    ):
        Decoder(descriptor_set(), "Fat")
