"""The messages as data: what the protos say of each message and field, with description, unit and tags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

UNITS = ("bytes", "count", "flag", "id", "ms", "ms since epoch", "ns", "ratio", "text")
TAGS = ("at rest only", "detect", "live only", "sketch")
_SCALARS = {
    FieldDescriptorProto.TYPE_STRING: "string",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_INT32: "int32",
    FieldDescriptorProto.TYPE_INT64: "int64",
    FieldDescriptorProto.TYPE_DOUBLE: "double",
    FieldDescriptorProto.TYPE_BOOL: "bool",
}
_COMMENT = re.compile(r"(?P<description>.+)\s\[(?P<labels>[^\[\]]+)\]$", re.DOTALL)
_VIEW = re.compile(r"view (?P<view>\w+): ")


class SchemaError(ValueError):
    """A message breaks a rule of the contract; the text names file and field."""


@dataclass(frozen=True)
class Field:
    """One field. ``type`` is a Protobuf scalar name, ``map`` (text to text) or the name of a message."""

    name: str
    type: str
    repeated: bool
    kind_of: str | None  # the oneof that it is a member of
    description: str
    unit: str
    tags: tuple[str, ...]

    @property
    def is_message(self) -> bool:
        """Whether the type is another message."""
        return self.type not in (*_SCALARS.values(), "map")


@dataclass(frozen=True)
class Message:
    """One message with its fields in the order of the file."""

    name: str
    file: str
    description: str
    view: str | None
    fields: tuple[Field, ...]


Schema = Mapping[str, Message]


def read_schema(descriptors: FileDescriptorSet) -> Schema:
    """Read messages by name from descriptors that carry source information.

    Raises SchemaError for a message without description, a field without description or known unit,
    a scalar without presence, or a type that the contract does not use.
    """
    messages = [message for file in descriptors.file for message in _read_file(file)]
    return {message.name: message for message in messages}


def _read_file(file: FileDescriptorProto) -> Iterator[Message]:
    comments = {tuple(place.path): _joined(place.leading_comments) for place in file.source_code_info.location}
    for index, message in enumerate(file.message_type):
        yield _read_message(file.name, message, (4, index), comments)


def _read_message(
    file: str, message: DescriptorProto, path: tuple[int, ...], comments: Mapping[tuple[int, ...], str]
) -> Message:
    description = comments.get(path, "")
    if not description:
        raise SchemaError(f"contracts/messages/{file}: message {message.name} has no comment; say what it is")
    fields = [
        _read_field(f"contracts/messages/{file}: {message.name}.{field.name}", message, field,
                    comments.get((*path, 2, index), ""))
        for index, field in enumerate(message.field)
    ]  # fmt: skip
    view = _VIEW.match(description)
    return Message(message.name, file, description, view["view"] if view else None, tuple(fields))


def _read_field(place: str, message: DescriptorProto, field: FieldDescriptorProto, comment: str) -> Field:
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    member = field.HasField("oneof_index") and not field.proto3_optional
    kind_of = message.oneof_decl[field.oneof_index].name if member else None
    if not (repeated or member or field.proto3_optional):
        raise SchemaError(f"{place} has no presence; declare it optional, so that absent is not 0")
    type_name = _type_of(place, message, field)
    if member and not comment:
        return Field(field.name, type_name, False, kind_of, "", "", ())
    description, unit, tags = _read_comment(place, comment)
    return Field(field.name, type_name, repeated and type_name != "map", kind_of, description, unit, tags)


def _type_of(place: str, message: DescriptorProto, field: FieldDescriptorProto) -> str:
    if field.type != FieldDescriptorProto.TYPE_MESSAGE:
        if field.type not in _SCALARS:
            raise SchemaError(f"{place} has a type that the contract does not use; use {', '.join(_SCALARS.values())}")
        return _SCALARS[field.type]
    name = field.type_name.rsplit(".", 1)[-1]
    entries = [nested for nested in message.nested_type if nested.name == name and nested.options.map_entry]
    if entries and any(part.type != FieldDescriptorProto.TYPE_STRING for part in entries[0].field):
        raise SchemaError(f"{place} is a map of other than text to text; every store can keep only that")
    return "map" if entries else name


def _read_comment(place: str, comment: str) -> tuple[str, str, tuple[str, ...]]:
    found = _COMMENT.match(comment)
    if not found:
        raise SchemaError(f"{place} has no description with a unit; end its comment with [unit] or [unit, tags]")
    unit, *tags = [label.strip() for label in found["labels"].split(",")]
    if unit not in UNITS:
        raise SchemaError(f"{place} has the unknown unit {unit!r}; known are: {', '.join(UNITS)}")
    if unknown := [tag for tag in tags if tag not in TAGS]:
        raise SchemaError(f"{place} has the unknown tag {unknown[0]!r}; known are: {', '.join(TAGS)}")
    return found["description"], unit, tuple(tags)


def _joined(comment: str) -> str:
    return " ".join(line.strip() for line in comment.strip().splitlines())
