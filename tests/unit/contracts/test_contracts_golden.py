"""Tests that the golden rows equal the examples: absent fields are absent, and zero is zero."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.examples import examples, snake_case
from sparkfuse_contracts.tables import Table, tables
from sparkfuse_contracts.topics import topics

STORED = sorted(tables().keys() - {"signals"})
NOT_STORED = {"tick", "undecodable"}


def _golden(kind: str, name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(
        asset("sparkfuse_contracts", "examples", "golden", kind, f"{name}.json").read_text()
    )
    return content


def _is_map(field: FieldDescriptor) -> bool:
    return field.message_type is not None and field.message_type.GetOptions().map_entry


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return _as_row(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _value(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if _is_map(field):
        return dict(value)
    if field.label == field.LABEL_REPEATED:
        return [_single(field, each) for each in value]
    return _single(field, value)


def _as_row(message: Message) -> dict[str, Any]:
    """Return the fields of a message that are set.

    All lists and maps are included, because the wire format does not distinguish empty from absent.
    """
    return {
        field.name: _value(message, field)
        for field in message.DESCRIPTOR.fields
        if field.label == field.LABEL_REPEATED or message.HasField(field.name)
    }


def _as_columns(message: Message, table: Table) -> dict[str, Any]:
    row = _as_row(message)
    found = {}
    for column in table.columns:
        place: Any = row
        for name in column.path:
            place = place.get(name) if place else None
        if column.path and place not in (None, [], {}):
            found[column.name] = place
    oneofs = {"facts": "kind", "live": "row", "history": "row"}
    return found | ({oneofs[table.name]: message.WhichOneof(oneofs[table.name])} if table.name in oneofs else {})


def _without_empty(value: Any) -> Any:
    """Return the value without empty lists and maps, because the wire format does not distinguish empty from absent."""
    if isinstance(value, dict):
        return {name: _without_empty(each) for name, each in value.items() if each not in ([], {})}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("topic", topics().values(), ids=lambda topic: topic.name)
def test_flink_rows_have_the_fields_of_their_examples(topic) -> None:
    """A golden row of Flink has exactly the fields of its example."""
    golden = _golden("flink", snake_case(topic.message))
    cases = dict(examples(topic.message))
    junk = cases.pop("undecodable", None) if topic.name == "facts" else None
    expected = {case: _without_empty(_as_row(message)) for case, message in cases.items()}
    actual = {case: _without_empty(golden[case]) for case in cases}

    assert actual == expected
    assert junk is None or set(golden["undecodable"]) == {"undecodable"}


@pytest.mark.parametrize("name", STORED)
def test_store_rows_have_the_fields_of_their_examples(name) -> None:
    """A golden row of the store has exactly the columns of its example's fields."""
    table = tables()[name]
    expected = {
        case: _as_columns(message, table)
        for case, message in examples(table.message).items()
        if name not in {"facts", "live"} or case not in NOT_STORED
    }

    assert _golden("store", name) == json.loads(json.dumps(expected))
