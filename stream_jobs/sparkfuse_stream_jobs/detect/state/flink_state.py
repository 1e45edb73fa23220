"""Keyed state of a step in Flink: encoded values that expire by themselves.

PyFlink caches state with a time to live only under two conditions: reads do not extend this time, and reads may return
expired values that were not cleaned up yet. Without PyFlink's cache, each read and write is a call to the JVM, which
makes a row ten times as expensive. So a read must not extend the time to live, and a step must regularly rewrite each
value that must not expire.

A second cache contains decoded values (``state_cache.py``), because PyFlink decodes the bytes at each read. The second
cache also knows which values a key does not have; PyFlink would ask the JVM for an absent value each time.

All values with the same time to live share one Flink map: PyFlink recreates every state object when the key changes,
and writes each state with a call of its own. Changes are written at the end of the bundle (``batched_commits.py``).
A ``ValueState`` is read at most once for each record and written at the end of the record.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar

from pyflink.common import Time, Types
from pyflink.datastream import RuntimeContext
from pyflink.datastream.state import MapStateDescriptor, StateTtlConfig

from sparkfuse_stream_jobs.detect.state.batched_commits import BatchedCommits
from sparkfuse_stream_jobs.detect.state.bundle_sampler import stop_sampling
from sparkfuse_stream_jobs.detect.state.codec import Codec
from sparkfuse_stream_jobs.detect.state.state_cache import NOT_CACHED, KnownNames, StateCache
from sparkfuse_stream_jobs.detect.state.values import MapState, ValueState

Value = TypeVar("Value")
# The name of the only value of a ValueState; no value of a MapState has it.
ONLY_VALUE = "\0"


class KeyScope:
    """The current key of a step, which its states share; values that changed are written when the scope ends."""

    def __init__(self) -> None:
        self.cache = StateCache()
        self._maps: list[_CachedMap] = []
        self._values: list[_FlinkValueState[Any]] = []

    @property
    def key(self) -> str:
        """The current key."""
        return self.cache.key

    @contextmanager
    def enter(self, key: str) -> Iterator[None]:
        """Make ``key`` the current key, and write its changed values at the end.

        If the block raises, nothing is written: the job restarts from its checkpoint.
        """
        self.cache.set_key(key)
        for state in self._maps:
            state.known_names.mark_used(key)
        for value in self._values:
            value.begin()
        yield
        for value in self._values:
            value.end()

    def add_map(self, state: _CachedMap) -> None:
        """Register a map whose values belong to the current key."""
        self._maps.append(state)

    def add_value(self, value: _FlinkValueState[Any]) -> None:
        """Register a value that belongs to the current key."""
        self._values.append(value)


class StateFactory:
    """Creates the states of a step that share one time to live."""

    def __init__(self, context: RuntimeContext, scope: KeyScope, name: str, ttl: timedelta) -> None:
        """``scope`` is shared by all states of the step; ``name`` is the name of Flink's state."""
        stop_sampling()
        descriptor = MapStateDescriptor(name, Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE()))
        config = StateTtlConfig.new_builder(Time.milliseconds(int(ttl.total_seconds() * 1000)))
        config.update_ttl_on_create_and_write().return_expired_if_not_cleaned_up()
        descriptor.enable_time_to_live(config.build())
        commits = BatchedCommits.of(context._keyed_state_backend)  # noqa: SLF001 - see batched_commits.py
        self._scope, self._map = scope, _CachedMap(context.get_map_state(descriptor), scope.cache, commits)
        scope.add_map(self._map)

    def value_state(self, name: str, codec: Codec[Value]) -> ValueState[Value]:
        """Return the value ``name`` of the current key."""
        value = _FlinkValueState(name, self._map, codec)
        self._scope.add_value(value)
        return value

    def map_state(self, name: str, codec: Codec[Value], *, cached: bool = True) -> MapState[Value]:
        """Return the map ``name`` of the current key.

        With ``cached=False``, no values are kept in memory; use it for values that are rarely read. Their names are
        kept, so that a read of an absent value does not ask the JVM.
        """
        return _FlinkMapState(name, self._map, codec, cached)


class _CachedMap:
    """Flink's map of the current key with the cache of its decoded values."""

    def __init__(self, state: Any, cache: StateCache, commits: BatchedCommits) -> None:
        self.state, self._cache, self.known_names, self._commits = state, cache, KnownNames(), commits

    def get(self, group: str, name: str, codec: Codec[Value], cached: bool = True) -> Value | None:
        """Return a value. The JVM is asked only if the value is not cached and may exist."""
        full_name = _full_name(group, name)
        found: Any = self._cache.get(group, name) if cached else NOT_CACHED
        if found is NOT_CACHED:
            if self.known_names.lacks(self._cache.key, full_name, self.state.is_empty):
                return None
            found = self._fetch(full_name, codec)
            if cached:
                self._cache.put(group, name, found)
        return found  # type: ignore[no-any-return] # the cache holds what the codec decoded

    def put(self, group: str, name: str, value: Value, codec: Codec[Value], cached: bool = True) -> None:
        """Store a value."""
        full_name = _full_name(group, name)
        # The name is added before the value is cached. Otherwise a key whose first use is this write would count as
        # empty.
        self.known_names.add(self._cache.key, full_name)
        if cached:
            self._cache.put(group, name, value)
        self._changed_state().put(full_name, codec.encode(value))

    def remove(self, group: str, name: str, cached: bool = True) -> None:
        """Remove a value."""
        full_name = _full_name(group, name)
        self._changed_state().remove(full_name)
        absence_known = self.known_names.remove(self._cache.key, full_name)
        if not cached:
            return
        if absence_known:
            self._cache.drop(group, name)
        else:
            self._cache.put(group, name, None)

    def items(self, group: str, codec: Codec[Value], cached: bool = True) -> Iterator[tuple[str, Value]]:
        """Return all names and values of a map."""
        known = self._known(group) if cached else None
        values = None if known is None else self._cache.all_of(group, known)
        if known is not None and values is not None:
            return iter([(name, value) for name, value in zip(known, values, strict=True) if value is not None])
        prefix = f"{group}/"
        encoded = [(name, content) for name, content in self.state.items() if name.startswith(prefix)]
        found = [(name[len(prefix) :], codec.decode(bytes(content))) for name, content in encoded]
        for name, value in found if cached else ():
            self._cache.put(group, name, value)
        return iter(found)

    def keys(self, group: str, cached: bool = True) -> Iterator[str]:
        """Return all names of a map; names of expired values may be among them."""
        known = self._known(group) if cached else None
        if known is not None:
            return iter(known)
        prefix = f"{group}/"
        return iter([name[len(prefix) :] for name in self.state.keys() if name.startswith(prefix)])  # noqa: SIM118 - no dict

    def _known(self, group: str) -> list[str] | None:
        """Return the names of a map if they are known without a call to the JVM, else None."""
        names, prefix = self.known_names.of(self._cache.key), f"{group}/"
        return None if names is None else [name[len(prefix) :] for name in names if name.startswith(prefix)]

    def clear(self, group: str) -> None:
        """Remove all values of a map."""
        prefix = f"{group}/"
        for name in [name for name in self.state.keys() if name.startswith(prefix)]:  # noqa: SIM118 - no dict
            self._changed_state().remove(name)
            self.known_names.remove(self._cache.key, name)
        self._cache.clear(group)

    def _changed_state(self) -> Any:
        """Return PyFlink's map of the current key, and mark it as changed so that the bundle's end writes it."""
        state = self.state.get_internal_state()
        self._commits.mark_changed(state)
        return state

    def _fetch(self, full_name: str, codec: Codec[Value]) -> Value | None:
        content = self.state.get(full_name)
        return None if content is None else codec.decode(bytes(content))


def _full_name(group: str, name: str) -> str:
    """Return the key of a value in Flink's map: the name of its ValueState, or ``<name of the MapState>/<name>``."""
    return group if name == ONLY_VALUE else f"{group}/{name}"


class _FlinkValueState(ValueState[Value]):
    """A ValueState that keeps its value while a key is current; raises RuntimeError outside of ``KeyScope.enter``."""

    def __init__(self, name: str, of: _CachedMap, codec: Codec[Value]) -> None:
        self._name, self._map, self._codec = name, of, codec
        self._value: Any = NOT_CACHED
        self._changed = self._in_scope = False

    def begin(self) -> None:
        """Forget the value of the previous key."""
        self._value = NOT_CACHED
        self._changed, self._in_scope = False, True

    def end(self) -> None:
        """Write the value if it was changed."""
        value, self._value, self._in_scope = self._value, NOT_CACHED, False
        if not self._changed:
            return
        if value is None:
            self._map.remove(self._name, ONLY_VALUE)
        else:
            self._map.put(self._name, ONLY_VALUE, value, self._codec)

    def value(self) -> Value | None:
        if self._value is NOT_CACHED:
            self._require_scope()
            self._value = self._map.get(self._name, ONLY_VALUE, self._codec)
        return self._value  # type: ignore[no-any-return] # a value of the codec, or None

    def update(self, value: Value) -> None:
        self._require_scope()
        self._value, self._changed = value, True

    def clear(self) -> None:
        self._require_scope()
        self._value, self._changed = None, True

    def _require_scope(self) -> None:
        if not self._in_scope:
            raise RuntimeError(f"the state {self._name} is used outside of the scope of a key")


class _FlinkMapState(MapState[Value]):
    """A MapState that stores its values in the shared Flink map; a key is the state's name and the value's name."""

    def __init__(self, name: str, of: _CachedMap, codec: Codec[Value], cached: bool) -> None:
        self._name, self._map, self._codec, self._cached = name, of, codec, cached

    def get(self, name: str) -> Value | None:
        return self._map.get(self._name, name, self._codec, self._cached)

    def put(self, name: str, value: Value) -> None:
        self._map.put(self._name, name, value, self._codec, self._cached)

    def remove(self, name: str) -> None:
        self._map.remove(self._name, name, self._cached)

    def items(self) -> Iterator[tuple[str, Value]]:
        return self._map.items(self._name, self._codec, self._cached)

    def keys(self) -> Iterator[str]:
        return self._map.keys(self._name, self._cached)

    def clear(self) -> None:
        self._map.clear(self._name)
