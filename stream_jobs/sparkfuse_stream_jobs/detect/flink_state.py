"""Cells and shelves in Flink's keyed state: bytes that expire by themselves.

PyFlink keeps state that expires in its cache only if reading does not prolong its life and what has expired may still
be seen until it is cleaned up; otherwise each look and each change is a call to the JVM and back, which made a row
ten times as dear. So what must live on is written again by its step from time to time.
Above that cache stands one of our own (``recent.py``): in PyFlink's each look decodes the bytes, each turn to another
key touches every state, and each bundle walks all that is held, so that one must be small.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar

from pyflink.common import Time, Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, StateDescriptor, StateTtlConfig, ValueStateDescriptor

from sparkfuse_stream_jobs.detect.codec import Codec
from sparkfuse_stream_jobs.detect.memory import Cell, Shelf
from sparkfuse_stream_jobs.detect.recent import Recent

Value = TypeVar("Value")


def cell(context: RuntimeContext, recent: Recent, name: str, codec: Codec[Value], lives: timedelta) -> Cell[Value]:
    """A cell of the current key under ``name``, forgotten some time after nobody wrote it for ``lives``.

    ``recent`` is the step's, which says to it whose turn it is.
    """
    descriptor = _expiring(ValueStateDescriptor(name, _bytes()), lives)
    return _StateCell(name, context.get_state(descriptor), recent, codec)


def shelf(context: RuntimeContext, recent: Recent, name: str, codec: Codec[Value], lives: timedelta) -> Shelf[Value]:
    """A shelf of the current key under ``name``; a value is forgotten some time after nobody wrote it for ``lives``.

    ``recent`` is the step's, which says to it whose turn it is.
    """
    descriptor = _expiring(MapStateDescriptor(name, Types.STRING(), _bytes()), lives)
    return _StateShelf(name, context.get_map_state(descriptor), recent, codec)


def _bytes() -> Any:
    return Types.PRIMITIVE_ARRAY(Types.BYTE())


def _expiring(descriptor: StateDescriptor, lives: timedelta) -> StateDescriptor:
    ttl = StateTtlConfig.new_builder(Time.milliseconds(int(lives.total_seconds() * 1000)))
    descriptor.enable_time_to_live(ttl.update_ttl_on_create_and_write().return_expired_if_not_cleaned_up().build())
    return descriptor


class _StateCell(Cell[Value]):
    def __init__(self, name: str, state: Any, recent: Recent, codec: Codec[Value]) -> None:
        self._name, self._state, self._recent, self._codec = name, state, recent, codec

    def get(self) -> Value | None:
        found: Value | None = self._recent.get(self._name, "", self._fetch)
        return found

    def put(self, value: Value) -> None:
        self._state.update(self._codec.encode(value))
        self._recent.put(self._name, "", value)

    def clear(self) -> None:
        self._state.clear()
        self._recent.clear(self._name)

    def _fetch(self) -> Value | None:
        content = self._state.value()
        return None if content is None else self._codec.decode(bytes(content))


class _StateShelf(Shelf[Value]):
    def __init__(self, name: str, state: Any, recent: Recent, codec: Codec[Value]) -> None:
        self._name, self._state, self._recent, self._codec = name, state, recent, codec

    def get(self, name: str) -> Value | None:
        found: Value | None = self._recent.get(self._name, name, partial(self._fetch, name))
        return found

    def put(self, name: str, value: Value) -> None:
        self._state.put(name, self._codec.encode(value))
        self._recent.put(self._name, name, value)

    def remove(self, name: str) -> None:
        self._state.remove(name)
        self._recent.put(self._name, name, None)

    def items(self) -> Iterator[tuple[str, Value]]:
        return iter([(name, self._codec.decode(bytes(content))) for name, content in list(self._state.items())])

    def clear(self) -> None:
        self._state.clear()
        self._recent.clear(self._name)

    def _fetch(self, name: str) -> Value | None:
        content = self._state.get(name)
        return None if content is None else self._codec.decode(bytes(content))
