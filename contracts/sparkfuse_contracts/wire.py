"""The JSON of the JSON topics: Protobuf's mapping with the protos' names, and 64-bit integers as numbers."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from sparkfuse_contracts.topics import topics

MessageType = TypeVar("MessageType", bound=Message)


class RecordError(ValueError):
    """A record is not what its topic promises; the text is the reason for its dead letter."""


def to_json(message: Message) -> bytes:
    """The message as one line of UTF-8 JSON: absent fields left out, int64 as numbers, bytes as base64.

    By a walk of our own: Protobuf's makes texts of int64, which a second walk had to find again, four times as dear.
    """
    return json.dumps(_told(message), ensure_ascii=False, separators=(",", ":")).encode()


def from_json(message_class: type[MessageType], content: bytes) -> MessageType:
    """Read what to_json wrote; unknown fields are ignored, because a newer writer may add some.

    Raises RecordError when it is not JSON of that message.
    """
    try:
        return json_format.ParseDict(_object(content), message_class(), ignore_unknown_fields=True)
    except (ValueError, json_format.ParseError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RecordError(f"not a {message_class.DESCRIPTOR.name} in JSON: {reason}") from error


def _object(content: bytes) -> dict[str, Any]:
    decoded = json.loads(content)
    if not isinstance(decoded, dict):  # json_format would take an empty list for an empty message
        raise json_format.ParseError("it is no object")
    return decoded


def record_key(topic: str, message: Message) -> bytes | None:
    """The Kafka key of a message in ``topic``: the field itself, or compact JSON when several fields make it.

    A signal's key is inside the signed payload: give the Signal.
    """
    names = topics()[topic].key
    values = {name: getattr(message, name) for name in names if message.HasField(name)}
    if not values:
        return None
    if len(names) == 1:
        return str(values[names[0]]).encode()
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _told(message: Message) -> dict[str, Any]:
    """The fields that have a value, by their names."""
    told = {}
    for field, value in message.ListFields():
        name, as_json = _plan(field)
        told[name] = as_json(value)
    return told


@cache
def _plan(field: FieldDescriptor) -> tuple[str, Callable[[Any], Any]]:
    """The name of a field, and what makes JSON's value of its own; asked once, because descriptors are slow to ask.

    Raises TypeError for kinds of fields that the contract does not have: their JSON is not a number's or a text's.
    """
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        if any(entry[part].type != FieldDescriptor.TYPE_STRING for part in ("key", "value")):
            raise TypeError(f"{field.full_name}: only maps of text to text have their JSON here")
        return field.name, dict
    single: Callable[[Any], Any] | None = _SINGLE.get(field.cpp_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        single = _base64
    if single is None:
        raise TypeError(f"{field.full_name}: a field of this kind has no JSON here")
    if field.label == FieldDescriptor.LABEL_REPEATED:
        return field.name, lambda values: [single(each) for each in values]
    return field.name, single


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _number(value: float) -> float | str:
    """JSON has no word for what is no number; Protobuf's mapping has three."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _same(value: Any) -> Any:
    return value


_SINGLE: Mapping[int, Callable[[Any], Any]] = {
    FieldDescriptor.CPPTYPE_MESSAGE: _told,
    FieldDescriptor.CPPTYPE_DOUBLE: _number,
    **dict.fromkeys(
        (
            FieldDescriptor.CPPTYPE_BOOL,
            FieldDescriptor.CPPTYPE_INT32,
            FieldDescriptor.CPPTYPE_INT64,
            FieldDescriptor.CPPTYPE_STRING,
            FieldDescriptor.CPPTYPE_UINT32,
            FieldDescriptor.CPPTYPE_UINT64,
        ),
        _same,
    ),
}
