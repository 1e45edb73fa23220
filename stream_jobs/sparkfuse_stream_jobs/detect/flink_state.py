"""What a step keeps of each key in Flink's keyed state: bytes that expire by themselves.

PyFlink keeps state that expires in its cache only if reading does not prolong its life and what has expired may still
be seen until it is cleaned up; otherwise each look and each change is a call to the JVM and back, which made a row
ten times as dear. So what must live on is written again by its step from time to time.
Above that cache stands one of our own (``recent.py``): in PyFlink's each look decodes the bytes.
It also knows of a key that was met first what is not there, which PyFlink asks the JVM for each time.
All that lives equally long is in one map: at each turn to another key PyFlink makes every state anew, read or not, and
what was written of each state is a call of its own.
What was changed is written when the bundle ends (``commits.py``).
A cell is read once in a key's turn and written at its end: nearly every row asks for some, and many change them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from pyflink.common import Time, Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, StateTtlConfig

from sparkfuse_stream_jobs.detect.codec import Codec
from sparkfuse_stream_jobs.detect.commits import Commits
from sparkfuse_stream_jobs.detect.memory import Cell, Shelf
from sparkfuse_stream_jobs.detect.recent import NOT_HELD, Names, Recent

Value = TypeVar("Value")
# The name of the one value of a cell; no value of a shelf has it.
ITS_OWN = "\0"


class Turns:
    """Whose turn it is in a step: the key whose values are asked for, and what of them is written when it ends."""

    def __init__(self) -> None:
        self.recent = Recent()
        self._maps: list[_Map] = []
        self._cells: list[_StateCell[Any]] = []

    @property
    def key(self) -> str:
        """The key whose turn it is."""
        return self.recent.key

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """The turn of ``key``. When it ends by an error nothing is written: the job goes back to its checkpoint."""
        self.recent.turn_to(key)
        for state in self._maps:
            state.known_names.turn_to(key)
        for cell in self._cells:
            cell.begin()
        yield
        for cell in self._cells:
            cell.end()

    def add_map(self, state: _Map) -> None:
        """A map whose values belong to the key."""
        self._maps.append(state)

    def add_cell(self, cell: _StateCell[Any]) -> None:
        """A cell of it."""
        self._cells.append(cell)


class Kept:
    """What a step keeps of the current key for some time after nobody wrote it; each value expires by itself."""

    def __init__(self, context: RuntimeContext, turns: Turns, name: str, lives: timedelta) -> None:
        """``turns`` are the step's, all of its states share them; ``name`` is that of the state."""
        descriptor = MapStateDescriptor(name, Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
        ttl = StateTtlConfig.new_builder(Time.milliseconds(int(lives.total_seconds() * 1000)))
        ttl.update_ttl_on_create_and_write().return_expired_if_not_cleaned_up()
        descriptor.enable_time_to_live(ttl.build())
        commits = Commits.of(context._keyed_state_backend)  # noqa: SLF001 - as commits.py says
        self._turns, self._map = turns, _Map(context.get_map_state(descriptor), turns.recent, commits)
        turns.add_map(self._map)

    def cell(self, name: str, codec: Codec[Value]) -> Cell[Value]:
        """The cell ``name`` of the current key."""
        cell = _StateCell(name, self._map, codec)
        self._turns.add_cell(cell)
        return cell

    def shelf(self, name: str, codec: Codec[Value], *, held: bool = True) -> Shelf[Value]:
        """The shelf ``name`` of the current key.

        Not ``held`` are values that are written and hardly ever read: neither they nor their names take room here.
        """
        return _StateShelf(name, self._map, codec, held)


class _Map:
    """Flink's map of one key's values, with what is held of it."""

    def __init__(self, state: Any, recent: Recent, commits: Commits) -> None:
        self.state, self._recent, self.known_names, self._commits = state, recent, Names(), commits

    def get(self, shelf: str, name: str, codec: Codec[Value], held: bool = True) -> Value | None:
        """What stands there; the JVM is not asked for what is held, and for what a key cannot have."""
        full_name = _full(shelf, name)
        if not held:
            return self._fetch(full_name, codec)
        found: Any = self._recent.get(shelf, name)
        if found is NOT_HELD:
            if self.known_names.lacks(self._recent.key, full_name, self.state.is_empty):
                return None
            found = self._fetch(full_name, codec)
            self._recent.put(shelf, name, found)
        return found  # type: ignore[no-any-return] # as it was put there, or fetched

    def put(self, shelf: str, name: str, value: Value, codec: Codec[Value], held: bool = True) -> None:
        """Write it."""
        full_name = _full(shelf, name)
        if held:
            # First: a key that is met by this has nothing yet for all that is known, and would seem empty.
            self.known_names.add(self._recent.key, full_name)
            self._recent.put(shelf, name, value)
        self._changing().put(full_name, codec.encode(value))

    def remove(self, shelf: str, name: str, held: bool = True) -> None:
        """Take it away."""
        full_name = _full(shelf, name)
        self._changing().remove(full_name)
        if not held:
            return
        if self.known_names.remove(self._recent.key, full_name):
            self._recent.drop(shelf, name)
        else:
            self._recent.put(shelf, name, None)

    def items(self, shelf: str, codec: Codec[Value], held: bool = True) -> Iterator[tuple[str, Value]]:
        """All that stands on the shelf."""
        known = self._known(shelf) if held else None
        values = None if known is None else self._recent.all_of(shelf, known)
        if known is not None and values is not None:
            return iter([(name, value) for name, value in zip(known, values, strict=True) if value is not None])
        prefix = f"{shelf}/"
        whole = [(name, content) for name, content in self.state.items() if name.startswith(prefix)]
        found = [(name[len(prefix) :], codec.decode(bytes(content))) for name, content in whole]
        for name, value in found if held else ():
            self._recent.put(shelf, name, value)
        return iter(found)

    def names(self, shelf: str, held: bool = True) -> Iterator[str]:
        """The names of all that stands on the shelf, perhaps with some that have expired."""
        known = self._known(shelf) if held else None
        if known is not None:
            return iter(known)
        prefix = f"{shelf}/"
        return iter([name[len(prefix) :] for name in self.state.keys() if name.startswith(prefix)])  # noqa: SIM118 - no dict

    def _known(self, shelf: str) -> list[str] | None:
        """The names on the shelf where the JVM need not be asked for them, which takes a call for each few."""
        names, prefix = self.known_names.of(self._recent.key), f"{shelf}/"
        return None if names is None else [name[len(prefix) :] for name in names if name.startswith(prefix)]

    def clear(self, shelf: str) -> None:
        """Take all away that stands on the shelf."""
        prefix = f"{shelf}/"
        for name in [name for name in self.state.keys() if name.startswith(prefix)]:  # noqa: SIM118 - no dict
            self._changing().remove(name)
            self.known_names.remove(self._recent.key, name)
        self._recent.clear(shelf)

    def _changing(self) -> Any:
        """The current key's own map, to be written at the end of the bundle."""
        state = self.state.get_internal_state()
        self._commits.changed(state)
        return state

    def _fetch(self, full_name: str, codec: Codec[Value]) -> Value | None:
        content = self.state.get(full_name)
        return None if content is None else codec.decode(bytes(content))


def _full(shelf: str, name: str) -> str:
    """The name of a value in the map: that of its cell, or its own behind that of its shelf."""
    return shelf if name == ITS_OWN else f"{shelf}/{name}"


class _StateCell(Cell[Value]):
    """Holds its value for the turn of a key; outside of one it would be that of another key, and is refused."""

    def __init__(self, name: str, of: _Map, codec: Codec[Value]) -> None:
        self._name, self._map, self._codec = name, of, codec
        self._value: Any = NOT_HELD
        self._changed = self._in_turn = False

    def begin(self) -> None:
        """Another key's turn begins."""
        self._value = NOT_HELD
        self._changed, self._in_turn = False, True

    def end(self) -> None:
        """Write what the turn made of the value."""
        value, self._value, self._in_turn = self._value, NOT_HELD, False
        if not self._changed:
            return
        if value is None:
            self._map.remove(self._name, ITS_OWN)
        else:
            self._map.put(self._name, ITS_OWN, value, self._codec)

    def get(self) -> Value | None:
        if self._value is NOT_HELD:
            self._refuse_outside()
            self._value = self._map.get(self._name, ITS_OWN, self._codec)
        return self._value  # type: ignore[no-any-return] # it is that of the codec, or None

    def put(self, value: Value) -> None:
        self._refuse_outside()
        self._value, self._changed = value, True

    def clear(self) -> None:
        self._refuse_outside()
        self._value, self._changed = None, True

    def _refuse_outside(self) -> None:
        if not self._in_turn:
            raise RuntimeError(f"the cell {self._name} is asked outside of a key's turn")


class _StateShelf(Shelf[Value]):
    """Its values stand in the map under its name and theirs."""

    def __init__(self, name: str, of: _Map, codec: Codec[Value], held: bool) -> None:
        self._name, self._map, self._codec, self._held = name, of, codec, held

    def get(self, name: str) -> Value | None:
        return self._map.get(self._name, name, self._codec, self._held)

    def put(self, name: str, value: Value) -> None:
        self._map.put(self._name, name, value, self._codec, self._held)

    def remove(self, name: str) -> None:
        self._map.remove(self._name, name, self._held)

    def items(self) -> Iterator[tuple[str, Value]]:
        return self._map.items(self._name, self._codec, self._held)

    def names(self) -> Iterator[str]:
        return self._map.names(self._name, self._held)

    def clear(self) -> None:
        self._map.clear(self._name)
