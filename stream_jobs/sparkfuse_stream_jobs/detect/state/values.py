"""The two shapes of state that the steps use: one value, or a map of values by name.

The steps are pure and use only these protocols. The operators implement them with Flink's keyed state
(``flink_state.py``); the in-memory implementations serve tests and replays without Flink.
"""

# The methods of the in-memory classes are documented in the protocols that these classes implement.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

Value = TypeVar("Value")


class ValueState(Protocol[Value]):
    """One value of the current key."""

    def value(self) -> Value | None:
        """Return the value; None when there is none or when it has expired."""
        ...

    def update(self, value: Value) -> None:
        """Replace the value."""
        ...

    def clear(self) -> None:
        """Remove the value."""
        ...


class MapState(Protocol[Value]):
    """Values of the current key by name; each value has its own expiry."""

    def get(self, name: str) -> Value | None:
        """Return the value of ``name``; None when there is none or when it has expired."""
        ...

    def put(self, name: str, value: Value) -> None:
        """Store ``value`` under ``name``."""
        ...

    def remove(self, name: str) -> None:
        """Remove ``name``; an unknown name is ignored."""
        ...

    def items(self) -> Iterator[tuple[str, Value]]:
        """Return all names and values; the map may be changed during the iteration."""
        ...

    def keys(self) -> Iterator[str]:
        """Return all names, which may include expired ones; the map may be changed during the iteration."""
        ...

    def clear(self) -> None:
        """Remove all values."""
        ...


class InMemoryValueState(ValueState[Value]):
    """A value in the memory of the process."""

    def __init__(self) -> None:
        self._value: Value | None = None

    def value(self) -> Value | None:
        return self._value

    def update(self, value: Value) -> None:
        self._value = value

    def clear(self) -> None:
        self._value = None


class InMemoryMapState(MapState[Value]):
    """A map in the memory of the process."""

    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def get(self, name: str) -> Value | None:
        return self._values.get(name)

    def put(self, name: str, value: Value) -> None:
        self._values[name] = value

    def remove(self, name: str) -> None:
        self._values.pop(name, None)

    def items(self) -> Iterator[tuple[str, Value]]:
        return iter(list(self._values.items()))

    def keys(self) -> Iterator[str]:
        return iter(list(self._values))

    def clear(self) -> None:
        self._values.clear()
