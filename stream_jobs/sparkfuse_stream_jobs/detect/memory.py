"""What a step remembers of one key: a cell for one value, a shelf for many by name.

The steps are pure and see only these two shapes. The operators keep them in Flink's state; HeldCell and HeldShelf
keep them in the process, for tests and for analyses that replay rows without Flink.
"""

# The held ones promise what the protocols above them promise.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, TypeVar

Value = TypeVar("Value")


class Cell(Protocol[Value]):
    """One remembered value."""

    def get(self) -> Value | None:
        """The value; None when there is none or when it has expired."""
        ...

    def put(self, value: Value) -> None:
        """Remember ``value`` instead of what was there."""
        ...

    def clear(self) -> None:
        """Forget it."""
        ...


class Shelf(Protocol[Value]):
    """Remembered values by name; each expires by itself."""

    def get(self, name: str) -> Value | None:
        """The value of ``name``; None when there is none or when it has expired."""
        ...

    def put(self, name: str, value: Value) -> None:
        """Remember ``value`` under ``name``."""
        ...

    def remove(self, name: str) -> None:
        """Forget ``name``; nothing happens when it is unknown."""
        ...

    def items(self) -> Iterator[tuple[str, Value]]:
        """All names and values; the shelf may be changed while they are walked."""
        ...

    def names(self) -> Iterator[str]:
        """All names, perhaps with some whose values have expired; the shelf may be changed while they are walked."""
        ...

    def clear(self) -> None:
        """Forget all."""
        ...


class HeldCell(Cell[Value]):
    """A cell in the process's memory."""

    def __init__(self) -> None:
        self._value: Value | None = None

    def get(self) -> Value | None:
        return self._value

    def put(self, value: Value) -> None:
        self._value = value

    def clear(self) -> None:
        self._value = None


class HeldShelf(Shelf[Value]):
    """A shelf in the process's memory."""

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

    def names(self) -> Iterator[str]:
        return iter(list(self._values))

    def clear(self) -> None:
        self._values.clear()
