"""Rows of the table ``live`` as messages of the contract, and messages as nested rows for the rules' SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from sparkfuse_contracts.columns import envelope, view_specs
from sparkfuse_contracts.generated.live_pb2 import LiveRow

Values = dict[str, Any]
Reader = Callable[[Iterable[Any]], Values]


def live_columns() -> tuple[str, ...]:
    """The columns of the table that make a LiveRow, in its order."""
    return tuple(each.name for each in LiveRow.DESCRIPTOR.fields)


def live_row(values: Iterable[Any]) -> LiveRow:
    """Make the message of a table's row; ``values`` are its columns in the order of ``live_columns``, None for NULL."""
    return LiveRow(**_reader(LiveRow.DESCRIPTOR)(values))


def nested_rows(row: LiveRow) -> tuple[tuple[Any, ...] | None, ...]:
    """The row as the rules' table has it: one nested row for each view, all None but the one that the row is of."""
    return tuple(
        tuple(_value(getattr(row, view.row), name) for name in view.columns) if row.HasField(view.row) else None
        for view in view_specs().values()
    )


def envelope_values(row: LiveRow) -> tuple[Any, ...]:
    """The columns that stand beside every view's own, None for absent."""
    return tuple(_value(row, name) for name in envelope())


def present(message: Message) -> Values:
    """The columns of a view's row that have a value."""
    return {descriptor.name: value for descriptor, value in message.ListFields()}


def _value(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


@cache
def _reader(descriptor: Descriptor) -> Reader:
    """Reads the values of one message by position; what is absent is left out, so that it stays absent."""
    names = tuple(each.name for each in descriptor.fields)
    nested = {each.name: _reader(each.message_type) for each in descriptor.fields if _is_single_message(each)}

    def read(values: Iterable[Any]) -> Values:
        given = {name: value for name, value in zip(names, values, strict=False) if value is not None}
        for name in given.keys() & nested.keys():
            given[name] = nested[name](given[name])
        return given

    return read


def _is_single_message(each: FieldDescriptor) -> bool:
    return each.message_type is not None and each.label != FieldDescriptor.LABEL_REPEATED


def column_types() -> Sequence[tuple[str, Sequence[tuple[str, str]]]]:
    """The nested rows of ``nested_rows`` with their columns and the contract's types, in the same order."""
    return [
        (view.row, [(column.name, column.type) for column in view.columns.values()]) for view in view_specs().values()
    ]
