"""The JSON of the JSON topics: Protobuf's mapping with the protos' names, and 64-bit integers as numbers."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message

from sparkfuse_contracts.topics import topics

MessageType = TypeVar("MessageType", bound=Message)
_LONGS = (FieldDescriptor.CPPTYPE_INT64, FieldDescriptor.CPPTYPE_UINT64)


class RecordError(ValueError):
    """A record is not what its topic promises; the text is the reason for its dead letter."""


def to_json(message: Message) -> bytes:
    """The message as one line of UTF-8 JSON: absent fields left out, int64 as numbers, bytes as base64."""
    content = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return json.dumps(_with_numbers(content, message.DESCRIPTOR), ensure_ascii=False, separators=(",", ":")).encode()


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


def _with_numbers(content: dict[str, Any], descriptor: Descriptor) -> dict[str, Any]:
    return {name: _value(value, descriptor.fields_by_name[name]) for name, value in content.items()}


def _value(value: Any, field: FieldDescriptor) -> Any:
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return value  # maps are text to text
    if isinstance(value, list):
        return [_single(each, field) for each in value]
    return _single(value, field)


def _single(value: Any, field: FieldDescriptor) -> Any:
    if field.cpp_type in _LONGS:
        return int(value)
    return _with_numbers(value, field.message_type) if field.message_type is not None else value
