"""Messages of the contract as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.message import Message


def present(message: Message) -> dict[str, Any]:
    """The columns of a view's row that have a value."""
    return {descriptor.name: value for descriptor, value in message.ListFields()}


class Columns(Mapping[str, Any]):
    """The columns of a view's row that have a value, read when they are asked for: for the few of a wide row."""

    def __init__(self, message: Message) -> None:
        self._message = message

    def __getitem__(self, name: str) -> Any:
        if not self._message.HasField(name):
            raise KeyError(name)
        return getattr(self._message, name)

    def get(self, name: str, default: Any = None) -> Any:
        """The value, or ``default`` where there is none. Raises ValueError for what is no column of the view."""
        return getattr(self._message, name) if self._message.HasField(name) else default

    def __iter__(self) -> Iterator[str]:
        return iter(present(self._message))

    def __len__(self) -> int:
        return len(present(self._message))
