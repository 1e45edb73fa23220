"""Tests the keyed state of a step: values come from the cache if possible, otherwise from Flink, and are equal."""

from __future__ import annotations

import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest

from sparkfuse_stream_jobs.detect.state.batched_commits import BatchedCommits
from sparkfuse_stream_jobs.detect.state.codec import integer_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory, _CachedMap
from sparkfuse_stream_jobs.detect.state.state_cache import StateCache


class State:
    """A fake of Flink's map of one key that counts reads and iterations."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.reads = content, 0

    def is_empty(self) -> bool:
        return not self.content

    def get(self, name: str) -> bytes | None:
        self.reads += 1
        return self.content.get(name)

    def put(self, name: str, value: bytes) -> None:
        self.content[name] = value

    def remove(self, name: str) -> None:
        self.content.pop(name, None)

    def items(self):
        self.reads += 1
        return list(self.content.items())

    def keys(self):
        self.reads += 1
        return list(self.content)

    def get_internal_state(self) -> State:
        """Return PyFlink's own map of the key; the map has changes that are not yet written."""
        return self


class Backend:
    """The part of PyFlink's keyed state that commits use."""

    def __init__(self) -> None:
        self._map_state_handler = SimpleNamespace(_underlying=None)


class KeyedState(State):
    """A fake of Flink's keyed state: a step gets the map of the current key by the map's descriptor."""

    def __init__(self) -> None:
        super().__init__({})
        self._keyed_state_backend = Backend()
        self.of_keys: dict[str, dict[str, bytes]] = {}
        self.written: list[str] = []

    def get_map_state(self, _descriptor: object) -> KeyedState:
        return self

    def set_key(self, key: str) -> None:
        self.content = self.of_keys.setdefault(key, {})

    def put(self, name: str, value: bytes) -> None:
        self.written.append(name)
        super().put(name, value)


def cached_map(content: dict[str, bytes]) -> tuple[_CachedMap, State]:
    cache, state = StateCache(), State(content)
    cache.set_key("key")
    return _CachedMap(state, cache, BatchedCommits(Backend())), state


def test_map_of_a_new_key_is_iterated_without_the_jvm():
    """The map of a new key is iterated without a call to the JVM.

    Each end of a stage iterates the subjects of its run, and a call to the JVM is expensive.
    """
    values, state = cached_map({})
    for name, value in (("b", 2), ("a", 1), ("gone", 3)):
        values.get("units", name, integer_codec())
        values.put("units", name, value, integer_codec())
    values.put("ended", "\0", 9, integer_codec())
    values.remove("units", "gone")

    assert list(values.keys("units")) == ["a", "b"]
    assert list(values.items("units", integer_codec())) == [("a", 1), ("b", 2)]
    assert state.reads == 0


def test_map_of_a_restored_key_is_iterated_in_the_state():
    """After a restart, the map of a key is iterated in Flink's state, because only the state knows its entries."""
    values, state = cached_map({"units/a": b"1", "units/b": b"2", "ended": b"9"})
    values.get("units", "a", integer_codec())
    values.put("units", "c", 3, integer_codec())

    assert sorted(values.keys("units")) == ["a", "b", "c"]
    assert sorted(values.items("units", integer_codec())) == [("a", 1), ("b", 2), ("c", 3)]
    assert state.reads == 3
    assert sorted(values.items("units", integer_codec())) == [("a", 1), ("b", 2), ("c", 3)]
    assert state.reads == 4, "a key whose names are not all known is iterated each time"


def test_partly_cached_map_is_read_in_one_iteration():
    """A map that is only partly cached is read in one iteration.

    Single reads for a thousand executors would be a thousand calls.
    """
    values, state = cached_map({})
    for number in range(5):
        values.get("executors", str(number), integer_codec())
        values.put("executors", str(number), number, integer_codec())
    values._cache.clear("executors")
    iterated = [list(values.items("executors", integer_codec())) for _ in range(2)]

    assert iterated == [[(str(number), number) for number in range(5)]] * 2
    assert state.reads == 1


def test_uncached_map_is_read_from_the_state():
    """Training samples are not cached.

    Samples are written for each stage and read only once, when the application ends.
    """
    values, _ = cached_map({})
    values.put("samples", "a", 1, integer_codec(), cached=False)
    values.put("samples", "b", 2, integer_codec(), cached=False)
    values.remove("samples", "b", cached=False)

    assert len(values._cache) == 0
    assert values.get("samples", "a", integer_codec(), cached=False) == 1
    assert values.get("samples", "b", integer_codec(), cached=False) is None
    assert list(values.items("samples", integer_codec(), cached=False)) == [("a", 1)]


def test_absent_value_of_an_uncached_map_needs_no_call():
    """Each end of a stage reads whether the stage has a sample already; a call to the JVM is expensive."""
    values, state = cached_map({})
    absent = values.get("samples", "a", integer_codec(), cached=False)
    values.put("samples", "a", 1, integer_codec(), cached=False)
    values.put("samples", "b", 2, integer_codec(), cached=False)
    values.remove("samples", "b", cached=False)
    removed = values.get("samples", "b", integer_codec(), cached=False)

    assert (absent, removed, state.reads) == (None, None, 0)
    assert values.get("samples", "a", integer_codec(), cached=False) == 1


def test_uncached_map_of_a_restored_key_is_read_in_the_state():
    """After a restart, only the state knows which values of an uncached map exist, also after a first write."""
    values, _ = cached_map({"samples/a": b"1"})
    values.put("samples", "b", 2, integer_codec(), cached=False)

    assert values.get("samples", "a", integer_codec(), cached=False) == 1
    assert values.get("samples", "b", integer_codec(), cached=False) == 2
    assert values.get("samples", "c", integer_codec(), cached=False) is None


def test_bundle_of_a_step_starts_no_thread():
    """Beam's sampler of a bundle starts no thread, and the next bundle can start."""
    from apache_beam.runners.worker.statesampler import StateSampler, get_current_tracker
    from apache_beam.utils.counters import CounterFactory

    StateFactory(KeyedState(), KeyScope(), "run", timedelta(days=1))
    sampler, threads = StateSampler("step", CounterFactory()), threading.active_count()
    seen = []
    for _ in range(2):
        sampler.start()
        seen.append((threading.active_count(), get_current_tracker()))
        sampler.stop_if_still_running()
        seen.append((threading.active_count(), get_current_tracker()))
        sampler.reset()

    assert seen == [(threads, sampler), (threads, None)] * 2


def test_expired_value_is_not_returned():
    """A value that Flink has expired is not returned, even if the cache still knows the value's name."""
    values, state = cached_map({})
    values.get("units", "a", integer_codec())
    values.put("units", "a", 1, integer_codec())
    values.put("units", "b", 2, integer_codec())
    del state.content["units/a"]
    values._cache.clear("units")

    assert list(values.items("units", integer_codec())) == [("b", 2)]


def test_value_is_read_once_and_written_at_the_end():
    """A value that changes with each row is read once, and only its last change is written."""
    state, scope = KeyedState(), KeyScope()
    value = StateFactory(state, scope, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.of_keys["old"] = {"last": b"7"}
    state.set_key("old")
    with scope.enter("old"):
        found = [value.value(), value.value()]
        for number in (8, 9):
            value.update(number)
        found.append(value.value())
    state.set_key("new")
    with scope.enter("new"):
        found.append(value.value())
    asked = state.reads

    assert found == [7, 7, 9, None]
    assert state.of_keys == {"old": {"last": b"9"}, "new": {}}
    assert (state.written, asked) == (["last"], 1)


def test_cleared_value_is_removed():
    """A value that is cleared is removed from the state, even if it was written for the same record."""
    state, scope = KeyedState(), KeyScope()
    value = StateFactory(state, scope, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.set_key("key")
    with scope.enter("key"):
        value.update(1)
    with scope.enter("key"):
        value.update(2)
        value.clear()
        now = value.value()
    with scope.enter("key"):
        later = value.value()

    assert (now, later, state.content) == (None, None, {})


def test_error_writes_no_value():
    """If a record fails, none of its changes is written.

    The job restarts from its checkpoint.
    """
    state, scope = KeyedState(), KeyScope()
    value = StateFactory(state, scope, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.set_key("key")

    def process() -> None:
        with scope.enter("key"):
            value.update(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        process()
    assert state.content == {}


@pytest.mark.parametrize(
    "use", [lambda value: value.value(), lambda value: value.update(1), lambda value: value.clear()]
)
def test_value_outside_of_a_key_scope_is_an_error(use):
    """Reading a value outside of a key's scope is an error.

    Otherwise the result would be the value of the previous key.
    """
    state, scope = KeyedState(), KeyScope()
    value = StateFactory(state, scope, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.set_key("key")
    with scope.enter("key"):
        value.update(7)

    with pytest.raises(RuntimeError, match="outside of the scope of a key"):
        use(value)
    assert state.content == {"last": b"7"}
