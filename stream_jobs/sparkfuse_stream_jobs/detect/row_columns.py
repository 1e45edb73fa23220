"""Reads the fields of a Protobuf message as columns of a row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.message import Message


def present(message: Message) -> dict[str, Any]:
    """Return the fields of the message that are set, by name."""
    return {descriptor.name: value for descriptor, value in message.ListFields()}


class Columns(Mapping[str, Any]):
    """The fields of a message that are set, read lazily: for callers that need a few fields of a wide row."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def __getitem__(self, name: str) -> Any:
        if not self._message.HasField(name):
            raise KeyError(name)
        return getattr(self._message, name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the value, or ``default`` if it is not set. Raises ValueError for an unknown field."""
        return getattr(self._message, name) if self._message.HasField(name) else default

    def __iter__(self) -> Iterator[str]:
        return iter(present(self._message))

    def __len__(self) -> int:
        return len(present(self._message))
