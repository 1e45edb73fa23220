"""What a step keeps of each key in Flink's keyed state: bytes that expire by themselves.

PyFlink keeps state that expires in its cache only if reading does not prolong its life and what has expired may still
be seen until it is cleaned up; otherwise each look and each change is a call to the JVM and back, which made a row
ten times as dear. So what must live on is written again by its step from time to time.
Above that cache stands one of our own (``recent.py``): in PyFlink's each look decodes the bytes, and each bundle walks
all that is held, so that one must be small. It also knows of a key that was met first what is not there, which PyFlink
asks the JVM for each time.
All that lives equally long is in one map: at each turn to another key PyFlink makes every state anew, read or not, and
what was written of each state is a call of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from pyflink.common import Time, Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, StateTtlConfig

from sparkfuse_stream_jobs.detect.codec import Codec
from sparkfuse_stream_jobs.detect.memory import Cell, Shelf
from sparkfuse_stream_jobs.detect.recent import Recent

Value = TypeVar("Value")


class Kept:
    """What a step keeps of the current key for some time after nobody wrote it; each value expires by itself."""

    def __init__(self, context: RuntimeContext, recent: Recent, name: str, lives: timedelta) -> None:
        """``recent`` is the step's, which says to it whose turn it is; ``name`` is that of the state."""
        descriptor = MapStateDescriptor(name, Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
        ttl = StateTtlConfig.new_builder(Time.milliseconds(int(lives.total_seconds() * 1000)))
        ttl.update_ttl_on_create_and_write().return_expired_if_not_cleaned_up()
        descriptor.enable_time_to_live(ttl.build())
        self._map, self._recent = _Map(name, context.get_map_state(descriptor), recent), recent

    def cell(self, name: str, codec: Codec[Value]) -> Cell[Value]:
        """The cell ``name`` of the current key."""
        return _StateCell(name, self._map, self._recent, codec)

    def shelf(self, name: str, codec: Codec[Value]) -> Shelf[Value]:
        """The shelf ``name`` of the current key."""
        return _StateShelf(name, self._map, self._recent, codec)


class _Map:
    """Flink's map of one key's values."""

    def __init__(self, name: str, state: Any, recent: Recent) -> None:
        self._name, self.state, self._recent = name, state, recent

    def get(self, name: str) -> bytes | None:
        """What stands there; the JVM is not asked for what a key cannot have."""
        if self._recent.is_whole(self._name, self.state.is_empty):
            return None
        content = self.state.get(name)
        return None if content is None else bytes(content)


class _StateCell(Cell[Value]):
    def __init__(self, name: str, of: _Map, recent: Recent, codec: Codec[Value]) -> None:
        self._name, self._map, self._recent, self._codec = name, of, recent, codec

    def get(self) -> Value | None:
        found: Value | None = self._recent.get(self._name, "", self._fetch)
        return found

    def put(self, value: Value) -> None:
        self._map.state.put(self._name, self._codec.encode(value))
        self._recent.put(self._name, "", value)

    def clear(self) -> None:
        self._map.state.remove(self._name)
        self._recent.put(self._name, "", None)

    def _fetch(self) -> Value | None:
        content = self._map.get(self._name)
        return None if content is None else self._codec.decode(content)


class _StateShelf(Shelf[Value]):
    """Its values stand in the map under its name and theirs."""

    def __init__(self, name: str, of: _Map, recent: Recent, codec: Codec[Value]) -> None:
        self._name, self._map, self._recent, self._codec = name, of, recent, codec
        self._prefix = f"{name}/"

    def get(self, name: str) -> Value | None:
        found: Value | None = self._recent.get(self._name, name, partial(self._fetch, name))
        return found

    def put(self, name: str, value: Value) -> None:
        self._map.state.put(self._prefix + name, self._codec.encode(value))
        self._recent.put(self._name, name, value)

    def remove(self, name: str) -> None:
        self._map.state.remove(self._prefix + name)
        self._recent.put(self._name, name, None)

    def items(self) -> Iterator[tuple[str, Value]]:
        whole = [(name, content) for name, content in self._map.state.items() if name.startswith(self._prefix)]
        return iter([(name[len(self._prefix) :], self._codec.decode(bytes(content))) for name, content in whole])

    def clear(self) -> None:
        for name in [name for name in self._map.state.keys() if name.startswith(self._prefix)]:  # noqa: SIM118 - no dict
            self._map.state.remove(name)
        self._recent.clear(self._name)

    def _fetch(self, name: str) -> Value | None:
        content = self._map.get(self._prefix + name)
        return None if content is None else self._codec.decode(content)
