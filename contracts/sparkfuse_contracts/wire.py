"""JSON for the JSON topics: Protobuf's JSON mapping, but with original field names, and 64-bit integers as numbers."""

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
    """A record is not a valid message of its topic; the error's text becomes the reason in its dead letter."""


def to_json(message: Message) -> bytes:
    """Return the message as one line of UTF-8 JSON: absent fields are left out, int64 are numbers, bytes are base64.

    Protobuf's own conversion writes int64 values as strings. Converting these strings to numbers afterwards would take
    four times as long as this function.
    """
    return json.dumps(_as_object(message), ensure_ascii=False, separators=(",", ":")).encode()


def from_json(message_class: type[MessageType], content: bytes) -> MessageType:
    """Return the message that ``to_json`` wrote; unknown fields are ignored, because newer writers may add fields.

    Raises RecordError if the content is not valid JSON of that message.
    """
    try:
        return json_format.ParseDict(_object(content), message_class(), ignore_unknown_fields=True)
    except (ValueError, json_format.ParseError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RecordError(f"not a {message_class.DESCRIPTOR.name} in JSON: {reason}") from error


def _object(content: bytes) -> dict[str, Any]:
    decoded = json.loads(content)
    if not isinstance(decoded, dict):  # json_format would accept an empty list as an empty message
        raise json_format.ParseError("the value is not an object")
    return decoded


def record_key(topic: str, message: Message) -> bytes | None:
    """Return the Kafka key of a message in ``topic``: the value of its key field, or compact JSON of several fields.

    The key of a signal is inside its signed payload, so pass the Signal, not the SignedMessage.
    """
    names = topics()[topic].key
    values = {name: getattr(message, name) for name in names if message.HasField(name)}
    if not values:
        return None
    if len(names) == 1:
        return str(values[names[0]]).encode()
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def _as_object(message: Message) -> dict[str, Any]:
    """Return the values of the fields that are set, by field name."""
    found = {}
    for field, value in message.ListFields():
        name, as_json = _plan(field)
        found[name] = as_json(value)
    return found


@cache
def _plan(field: FieldDescriptor) -> tuple[str, Callable[[Any], Any]]:
    """Return the JSON name of a field, and the function that converts its values.

    The result is cached, because access to descriptors is slow. Raises TypeError for field types that the contract does
    not use.
    """
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        entry = field.message_type.fields_by_name
        if any(entry[part].type != FieldDescriptor.TYPE_STRING for part in ("key", "value")):
            raise TypeError(f"{field.full_name}: only maps from string to string are supported")
        return field.name, dict
    single: Callable[[Any], Any] | None = _SINGLE.get(field.cpp_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        single = _base64
    if single is None:
        raise TypeError(f"{field.full_name}: this type of field is not supported")
    if field.label == FieldDescriptor.LABEL_REPEATED:
        return field.name, lambda values: [single(each) for each in values]
    return field.name, single


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _number(value: float) -> float | str:
    """Return the value; NaN and infinities become the strings that Protobuf's JSON mapping uses."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _same(value: Any) -> Any:
    return value


_SINGLE: Mapping[int, Callable[[Any], Any]] = {
    FieldDescriptor.CPPTYPE_MESSAGE: _as_object,
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
