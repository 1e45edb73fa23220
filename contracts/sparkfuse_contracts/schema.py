"""The messages of the .proto files and their fields as data, with description, unit and tags."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

# The unit "number" means that the unit depends on another field.
UNITS = ("bytes", "count", "flag", "id", "ms", "ms since epoch", "ns", "number", "per second", "ratio", "text")
TAGS = ("offline only", "detect", "live only", "sketch")
_SCALARS = {
    FieldDescriptorProto.TYPE_STRING: "string",
    FieldDescriptorProto.TYPE_BYTES: "bytes",
    FieldDescriptorProto.TYPE_INT32: "int32",
    FieldDescriptorProto.TYPE_INT64: "int64",
    FieldDescriptorProto.TYPE_DOUBLE: "double",
    FieldDescriptorProto.TYPE_BOOL: "bool",
}
# The types of maps by the type of their values. Messages contain only maps from string to string, because the store
# supports no others.
_MAPS = {
    FieldDescriptorProto.TYPE_STRING: "map",
    FieldDescriptorProto.TYPE_INT64: "map of counts",
    FieldDescriptorProto.TYPE_MESSAGE: "map of values",
}
_ANY_VALUE = ".google.protobuf.Value"
_COMMENT = re.compile(r"(?P<description>.+)\s\[(?P<labels>[^\[\]]+)\]$", re.DOTALL)
_VIEW = re.compile(r"view (?P<view>\w+): ")


class SchemaError(ValueError):
    """A message violates a rule of the contract; the error names the file and the field."""


@dataclass(frozen=True)
class Field:
    """One field of a message; ``type`` is a Protobuf scalar, the name of a message, or a map.

    The type ``map`` is a map from string to string. Only documents have a ``map of counts`` (string to int64) or a
    ``map of values`` (string to number, string or flag). ``nullable`` is true for an optional message in a document.
    """

    name: str
    type: str
    repeated: bool
    kind_of: str | None  # the name of the oneof that contains the field
    description: str
    unit: str
    tags: tuple[str, ...]
    nullable: bool = False

    @property
    def is_message(self) -> bool:
        """Return whether the type is another message."""
        return not self.is_map and self.type not in _SCALARS.values()

    @property
    def is_map(self) -> bool:
        """Return whether the field is a map."""
        return self.type in _MAPS.values()


@dataclass(frozen=True)
class Message:
    """One message with its fields in the order of the file."""

    name: str
    file: str
    description: str
    view: str | None
    fields: tuple[Field, ...]


Schema = Mapping[str, Message]


def read_schema(descriptors: FileDescriptorSet, documents: bool = False) -> Schema:
    """Return the messages by name; ``descriptors`` must contain source information.

    If ``documents`` is true, the messages are documents, which are never sent, so they may contain maps of counts and
    values. Raises SchemaError for a message without description, a field without description or known unit, a scalar
    without presence, or a type that the contract does not use.
    """
    messages = [message for file in descriptors.file for message in _read_file(file, documents)]
    return {message.name: message for message in messages}


def _read_file(file: FileDescriptorProto, documents: bool) -> Iterator[Message]:
    comments = {tuple(place.path): _joined(place.leading_comments) for place in file.source_code_info.location}
    for index, message in enumerate(file.message_type):
        yield _read_message(file.name, message, (4, index), comments, documents)


def _read_message(
    file: str,
    message: DescriptorProto,
    path: tuple[int, ...],
    comments: Mapping[tuple[int, ...], str],
    documents: bool,
) -> Message:
    description = comments.get(path, "")
    if not description:
        raise SchemaError(f"contracts/messages/{file}: message {message.name} has no comment; add a description")
    place = f"contracts/{'documents' if documents else 'messages'}/{file}: {message.name}"
    fields = [
        _read_field(f"{place}.{field.name}", message, field, comments.get((*path, 2, index), ""), documents)
        for index, field in enumerate(message.field)
    ]
    view = _VIEW.match(description)
    return Message(message.name, file, description, view["view"] if view else None, tuple(fields))


def _read_field(
    place: str, message: DescriptorProto, field: FieldDescriptorProto, comment: str, documents: bool
) -> Field:
    repeated = field.label == FieldDescriptorProto.LABEL_REPEATED
    member = field.HasField("oneof_index") and not field.proto3_optional
    kind_of = message.oneof_decl[field.oneof_index].name if member else None
    nested = field.type == FieldDescriptorProto.TYPE_MESSAGE
    if not (repeated or member or field.proto3_optional or (documents and nested)):
        raise SchemaError(
            f"{place} has no field presence; declare it optional, so that an absent value is not read as 0"
        )
    type_name = _type_of(place, message, field, documents)
    if member and not comment:
        return Field(field.name, type_name, False, kind_of, "", "", ())
    description, unit, tags = _read_comment(place, comment)
    many = repeated and type_name not in _MAPS.values()
    nullable = nested and field.proto3_optional
    return Field(field.name, type_name, many, kind_of, description, unit, tags, nullable)


def _type_of(place: str, message: DescriptorProto, field: FieldDescriptorProto, documents: bool) -> str:
    if field.type != FieldDescriptorProto.TYPE_MESSAGE:
        if field.type not in _SCALARS:
            raise SchemaError(f"{place} has a type that the contract does not use; use {', '.join(_SCALARS.values())}")
        return _SCALARS[field.type]
    name = field.type_name.rsplit(".", 1)[-1]
    entries = [nested for nested in message.nested_type if nested.name == name and nested.options.map_entry]
    return _map_type(place, entries[0], documents) if entries else name


def _map_type(place: str, entry: DescriptorProto, documents: bool) -> str:
    key, value = entry.field
    known = _MAPS.get(value.type) if value.type_name in ("", _ANY_VALUE) else None
    if key.type != FieldDescriptorProto.TYPE_STRING or known is None or (known != "map" and not documents):
        raise SchemaError(f"{place} is a map, but not from string to string; the store supports no other map")
    return known


def _read_comment(place: str, comment: str) -> tuple[str, str, tuple[str, ...]]:
    found = _COMMENT.match(comment)
    if not found:
        raise SchemaError(f"{place} has no description with a unit; end its comment with [unit] or [unit, tags]")
    unit, *tags = [label.strip() for label in found["labels"].split(",")]
    if unit not in UNITS:
        raise SchemaError(f"{place} has the unknown unit {unit!r}; known units: {', '.join(UNITS)}")
    if unknown := [tag for tag in tags if tag not in TAGS]:
        raise SchemaError(f"{place} has the unknown tag {unknown[0]!r}; known tags: {', '.join(TAGS)}")
    return found["description"], unit, tuple(tags)


def _joined(comment: str) -> str:
    return " ".join(line.strip() for line in comment.strip().splitlines())
