"""What a step keeps in Flink's state: read from what is held where that is enough, and the same where it is not."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest

from sparkfuse_stream_jobs.detect.state.batched_commits import BatchedCommits
from sparkfuse_stream_jobs.detect.state.codec import integer_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory, _CachedMap
from sparkfuse_stream_jobs.detect.state.state_cache import StateCache


class State:
    """Flink's map of one key, which counts how often it is walked or asked."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content, self.asked = content, 0

    def is_empty(self) -> bool:
        return not self.content

    def get(self, name: str) -> bytes | None:
        self.asked += 1
        return self.content.get(name)

    def put(self, name: str, value: bytes) -> None:
        self.content[name] = value

    def remove(self, name: str) -> None:
        self.content.pop(name, None)

    def items(self):
        self.asked += 1
        return list(self.content.items())

    def keys(self):
        self.asked += 1
        return list(self.content)

    def get_internal_state(self) -> State:
        """PyFlink's own map of the key, which knows what is to be written."""
        return self


class Backend:
    """As much of PyFlink's keyed state as a step's commits stand on."""

    def __init__(self) -> None:
        self._map_state_handler = SimpleNamespace(_underlying=None)


class OfKeys(State):
    """Flink's map, of the key whose turn it is; a step finds it by its descriptor."""

    def __init__(self) -> None:
        super().__init__({})
        self._keyed_state_backend = Backend()
        self.of_keys: dict[str, dict[str, bytes]] = {}
        self.written: list[str] = []

    def get_map_state(self, _descriptor: object) -> OfKeys:
        return self

    def turn_to(self, key: str) -> None:
        self.content = self.of_keys.setdefault(key, {})

    def put(self, name: str, value: bytes) -> None:
        self.written.append(name)
        super().put(name, value)


def kept(content: dict[str, bytes]) -> tuple[_CachedMap, State]:
    recent, state = StateCache(), State(content)
    recent.set_key("key")
    return _CachedMap(state, recent, BatchedCommits(Backend())), state


def test_a_shelf_of_a_key_that_was_met_empty_is_walked_without_asking():
    """Each end of a stage walks what its run watches; a call to the JVM for that is dear."""
    held, state = kept({})
    for name, value in (("b", 2), ("a", 1), ("gone", 3)):
        held.get("units", name, integer_codec())
        held.put("units", name, value, integer_codec())
    held.put("ended", "\0", 9, integer_codec())
    held.remove("units", "gone")

    assert list(held.keys("units")) == ["a", "b"]
    assert list(held.items("units", integer_codec())) == [("a", 1), ("b", 2)]
    assert state.asked == 0


def test_a_shelf_of_a_key_that_had_something_is_walked_in_the_state():
    """After a restart nobody knows what is there but the state."""
    held, state = kept({"units/a": b"1", "units/b": b"2", "ended": b"9"})
    held.get("units", "a", integer_codec())
    held.put("units", "c", 3, integer_codec())

    assert sorted(held.keys("units")) == ["a", "b", "c"]
    assert sorted(held.items("units", integer_codec())) == [("a", 1), ("b", 2), ("c", 3)]
    assert state.asked == 3
    assert sorted(held.items("units", integer_codec())) == [("a", 1), ("b", 2), ("c", 3)]
    assert state.asked == 4, "a key of which not all is known is walked each time"


def test_a_shelf_that_is_not_held_whole_is_fetched_in_one_walk():
    """A call for each of a thousand executors would be a thousand calls."""
    held, state = kept({})
    for number in range(5):
        held.get("executors", str(number), integer_codec())
        held.put("executors", str(number), number, integer_codec())
    held._cache.clear("executors")
    walked = [list(held.items("executors", integer_codec())) for _ in range(2)]

    assert walked == [[(str(number), number) for number in range(5)]] * 2
    assert state.asked == 1


def test_a_shelf_that_is_not_held_costs_no_room_and_is_read_from_the_state():
    """What each stage teaches is read once, when its application ends."""
    held, _ = kept({})
    held.put("samples", "a", 1, integer_codec(), cached=False)
    held.put("samples", "b", 2, integer_codec(), cached=False)
    held.remove("samples", "b", cached=False)

    assert len(held._cache) == 0
    assert held.get("samples", "a", integer_codec(), cached=False) == 1
    assert held.get("samples", "b", integer_codec(), cached=False) is None
    assert list(held.items("samples", integer_codec(), cached=False)) == [("a", 1)]


def test_what_expired_in_the_state_is_not_among_the_values():
    """A name outlives its value, which Flink takes away by itself."""
    held, state = kept({})
    held.get("units", "a", integer_codec())
    held.put("units", "a", 1, integer_codec())
    held.put("units", "b", 2, integer_codec())
    del state.content["units/a"]
    held._cache.clear("units")

    assert list(held.items("units", integer_codec())) == [("b", 2)]


def test_a_cell_is_read_once_in_a_turn_and_written_at_its_end():
    """Each row has a number that is remembered, and only the last one counts."""
    state, turns = OfKeys(), KeyScope()
    cell = StateFactory(state, turns, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.of_keys["old"] = {"last": b"7"}
    state.turn_to("old")
    with turns.enter("old"):
        found = [cell.value(), cell.value()]
        for number in (8, 9):
            cell.update(number)
        found.append(cell.value())
    state.turn_to("new")
    with turns.enter("new"):
        found.append(cell.value())
    asked = state.asked

    assert found == [7, 7, 9, None]
    assert state.of_keys == {"old": {"last": b"9"}, "new": {}}
    assert (state.written, asked) == (["last"], 1)


def test_a_cell_that_is_cleared_in_a_turn_is_gone_after_it():
    """Also one that was written in the same turn."""
    state, turns = OfKeys(), KeyScope()
    cell = StateFactory(state, turns, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.turn_to("key")
    with turns.enter("key"):
        cell.update(1)
    with turns.enter("key"):
        cell.update(2)
        cell.clear()
        now = cell.value()
    with turns.enter("key"):
        later = cell.value()

    assert (now, later, state.content) == (None, None, {})


def test_a_turn_that_ends_by_an_error_writes_no_cell():
    """The job goes back to its checkpoint, and what the turn made of a cell is half of something."""
    state, turns = OfKeys(), KeyScope()
    cell = StateFactory(state, turns, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.turn_to("key")

    def turn() -> None:
        with turns.enter("key"):
            cell.update(1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        turn()
    assert state.content == {}


@pytest.mark.parametrize("ask", [lambda cell: cell.value(), lambda cell: cell.update(1), lambda cell: cell.clear()])
def test_a_cell_that_is_asked_outside_of_a_turn_is_refused(ask):
    """It would give, or take, the value of the key whose turn was last."""
    state, turns = OfKeys(), KeyScope()
    cell = StateFactory(state, turns, "run", timedelta(days=1)).value_state("last", integer_codec())
    state.turn_to("key")
    with turns.enter("key"):
        cell.update(7)

    with pytest.raises(RuntimeError, match="outside of the scope of a key"):
        ask(cell)
    assert state.content == {"last": b"7"}
