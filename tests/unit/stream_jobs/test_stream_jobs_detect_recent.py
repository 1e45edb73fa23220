"""Recent: values of the keys that were met last, as the state behind them has them."""

from __future__ import annotations

from sparkfuse_stream_jobs.detect.recent import Recent


class Store:
    """The state behind: counts how often it is asked."""

    def __init__(self, **values):
        self.values, self.asked = values, 0

    def fetch(self, name):
        def found():
            self.asked += 1
            return self.values.get(name)

        return found


def test_a_value_is_fetched_once_and_an_absent_one_too():
    """None is an answer: most stages of a fleet have no baseline."""
    recent, store = Recent(), Store(a=1)
    recent.turn_to("key")
    found = [recent.get("state", name, store.fetch(name)) for name in "abab"]

    assert found == [1, None, 1, None]
    assert store.asked == 2


def test_keys_and_states_are_kept_apart():
    """One application's stage 3 is not the other's, nor is its plan 3."""
    recent, store = Recent(), Store()
    recent.turn_to("one")
    recent.put("stages", "3", "a stage")
    found = [recent.get("plans", "3", store.fetch("3"))]
    recent.turn_to("two")
    found.append(recent.get("stages", "3", store.fetch("3")))
    recent.turn_to("one")
    found.append(recent.get("stages", "3", store.fetch("3")))

    assert found == [None, None, "a stage"]


def test_what_was_cleared_is_asked_for_again():
    """An application that ended has nothing left, whatever was held of it."""
    recent, store = Recent(), Store()
    recent.turn_to("key")
    recent.put("stages", "3", "a stage")
    recent.put("plans", "3", "a plan")
    recent.clear("stages")

    assert recent.get("stages", "3", store.fetch("3")) is None
    assert recent.get("plans", "3", store.fetch("3")) == "a plan"
    assert len(recent) == 2


def test_the_keys_that_were_met_longest_ago_go_first():
    """It holds no more than it may, and counts right while it lets go."""
    recent, store = Recent(most=4), Store(x="fetched")
    for key in ("one", "two"):
        recent.turn_to(key)
        recent.put("state", "x", key)
        recent.put("state", "y", key)
    recent.turn_to("one")
    recent.get("state", "x", store.fetch("x"))
    recent.turn_to("three")
    recent.put("state", "x", "three")

    assert len(recent) == 3
    assert store.asked == 0
    recent.turn_to("one")
    assert recent.get("state", "x", store.fetch("x")) == "one"
    recent.turn_to("two")
    assert recent.get("state", "x", store.fetch("x")) == "fetched"


def test_a_key_with_more_than_may_be_held_is_not_held():
    """A loop of stages in one application does not fill the process."""
    recent, store = Recent(most=3), Store(x="fetched")
    recent.turn_to("loop")
    for number in range(10):
        recent.put("stages", str(number), number)

    assert len(recent) <= 3
    assert recent.get("stages", "0", store.fetch("x")) == "fetched"


def test_nothing_is_asked_for_a_key_that_had_nothing_when_it_was_met():
    """New stages, jobs and plans come all the time, and each would be a call."""
    recent, empty = Recent(), {"new": True, "old": False}
    whole = []
    for key in ("new", "old", "new"):
        recent.turn_to(key)
        recent.put("stages", "3", "a stage")
        whole.append(recent.is_whole("run", lambda key=key: empty.pop(key)))

    assert whole == [True, False, True]
    assert not recent.is_whole("hosts", lambda: False)


def test_a_key_of_which_something_was_let_go_is_asked_for_again():
    """What is not held of it may be there."""
    recent = Recent(most=5)
    recent.turn_to("one")
    recent.put("plans", "3", "a plan")
    first = recent.is_whole("run", lambda: True)
    recent.turn_to("two")
    for number in range(4):
        recent.put("stages", str(number), number)
    recent.turn_to("one")

    assert first
    assert not recent.is_whole("run", lambda: False)
    assert len(recent) == 5
