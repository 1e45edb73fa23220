"""Encodes state values as bytes that an older or newer version of the job can still decode.

A field that the decoding job does not know is ignored; a field that the encoding job did not know gets its default.
If an older job would compute wrong results from the fields of a newer one, the newer job increases ``STATE_FORMAT`` and
stores it as the field ``state_format`` of the value. Values without this field have format 1.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

STATE_FORMAT = 1
Value = TypeVar("Value")
MessageType = TypeVar("MessageType", bound=Message)


class SavedStateError(RuntimeError):
    """The saved state is of a release whose state this release cannot read."""


@dataclass(frozen=True)
class Codec(Generic[Value]):
    """Encodes a value as bytes and decodes it."""

    encode: Callable[[Value], bytes]
    decode: Callable[[bytes], Value]


def record_codec(record_class: type[Value]) -> Codec[Value]:
    """Return the codec of a dataclass of plain values."""
    names = field_names(record_class)

    def decode(content: bytes) -> Value:
        values = known_fields(unpickle(content), names)
        try:
            return record_class(**values)
        except TypeError as error:  # a field without a default is missing
            raise SavedStateError(f"the saved state is of another release: {error}") from error

    # dataclasses.asdict copies all values first, which takes ten times as long as the pickling.
    return Codec(lambda value: pickle.dumps(vars(value)), decode)


def message_codec(message_class: type[MessageType]) -> Codec[MessageType]:
    """Return the codec of a message of the contract."""
    return Codec(lambda message: message.SerializeToString(), message_class.FromString)


def integer_codec() -> Codec[int]:
    """Return the codec of an integer."""
    return Codec(lambda value: str(value).encode(), int)


def field_names(record_class: type[Any]) -> frozenset[str]:
    """Return the names of a dataclass's fields."""
    return frozenset(each.name for each in fields(record_class))


def unpickle(content: bytes) -> dict[str, Any]:
    """Decode the pickled fields of a value. Use this function only for bytes that this job wrote to its own state.

    Raises SavedStateError if a newer release stored the value.
    """
    try:
        values: dict[str, Any] = pickle.loads(content)  # noqa: S301
    except (AttributeError, ImportError) as error:  # the value contains a class that only another release has
        raise SavedStateError(f"the saved state is of another release: {error}") from error
    if values.get("state_format", STATE_FORMAT) > STATE_FORMAT:
        found = values["state_format"]
        raise SavedStateError(f"the saved state has format {found}, which is newer than this release ({STATE_FORMAT})")
    return values


def known_fields(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Return the values whose names are still fields of the record class; in nearly all cases, all of the values."""
    return values if values.keys() <= names else {name: value for name, value in values.items() if name in names}
