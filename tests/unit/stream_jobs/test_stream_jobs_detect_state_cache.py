"""StateCache: values of the keys that were met last, as the state behind them has them."""

from __future__ import annotations

from sparkfuse_stream_jobs.detect.state.state_cache import NAMES_PER_KEY, NOT_CACHED, KnownNames, StateCache


class Store:
    """The state behind: counts how often it is asked."""

    def __init__(self, **values):
        self.values, self.asked = values, 0

    def look(self, recent, state, name):
        """The value as it is held, or as it stands here and is held from then on."""
        found = recent.get(state, name)
        if found is NOT_CACHED:
            self.asked += 1
            found = self.values.get(name)
            recent.put(state, name, found)
        return found


def test_a_value_is_fetched_once_and_an_absent_one_too():
    """None is an answer: most stages of a fleet have no baseline."""
    recent, store = StateCache(), Store(a=1)
    recent.set_key("key")
    found = [store.look(recent, "state", name) for name in "abab"]

    assert found == [1, None, 1, None]
    assert store.asked == 2


def test_keys_and_states_are_kept_apart():
    """One application's stage 3 is not the other's, nor is its plan 3."""
    recent, store = StateCache(), Store()
    recent.set_key("one")
    recent.put("stages", "3", "a stage")
    found = [store.look(recent, "plans", "3")]
    recent.set_key("two")
    found.append(store.look(recent, "stages", "3"))
    recent.set_key("one")
    found.append(store.look(recent, "stages", "3"))

    assert found == [None, None, "a stage"]


def test_what_was_cleared_is_asked_for_again():
    """An application that ended has nothing left, whatever was held of it."""
    recent, store = StateCache(), Store()
    recent.set_key("key")
    recent.put("stages", "3", "a stage")
    recent.put("plans", "3", "a plan")
    recent.clear("stages")

    assert store.look(recent, "stages", "3") is None
    assert store.look(recent, "plans", "3") == "a plan"
    assert len(recent) == 2


def test_what_was_dropped_is_neither_there_nor_gone():
    """Who knows what is there need not hold that something is not."""
    recent, store = StateCache(), Store(x="fetched")
    recent.set_key("key")
    recent.put("state", "x", "a value")
    recent.drop("state", "x")
    recent.drop("state", "never there")

    assert len(recent) == 0
    assert not recent._values, "nothing of a key that is over stays for ever"
    assert store.look(recent, "state", "x") == "fetched"


def test_the_keys_that_were_met_longest_ago_lose_their_older_half():
    """It holds no more than it may, and counts right while it lets go."""
    recent, store = StateCache(limit=6), Store(ended="fetched")
    for key in ("one", "two"):
        recent.set_key(key)
        for name in ("ended", "running", "new"):
            recent.put("stages", name, key)
    recent.set_key("one")
    store.look(recent, "stages", "new")
    recent.set_key("three")
    recent.put("stages", "new", "three")

    assert len(recent) == 5
    recent.set_key("one")
    assert [store.look(recent, "stages", name) for name in ("ended", "running", "new")] == ["one"] * 3
    recent.set_key("two")
    assert store.look(recent, "stages", "new") == "two"
    assert store.asked == 0
    assert store.look(recent, "stages", "ended") == "fetched"


def test_taking_turns_beyond_the_bound_keeps_what_each_key_put_last():
    """Applications of a fleet are met in turns: to let go of all of the longest ago would be to hold none."""
    recent, store = StateCache(limit=40), Store()
    for stage in range(50):
        for key in range(10):
            recent.set_key(str(key))
            for running in range(max(0, stage - 1), stage):
                store.look(recent, "stages", str(running))
            recent.put("stages", str(stage), "a stage")

    assert store.asked == 0


def test_keys_that_have_little_are_left_alone_while_others_have_much():
    """Stages that ended make room, not the jobs that run and are asked for at their end only."""
    recent, store = StateCache(limit=500), Store()
    for key in range(4):
        recent.set_key(str(key))
        for job in range(20):
            recent.put("jobs", str(job), "runs")
    for stage in range(1000):
        recent.set_key(str(stage % 4))
        recent.put("stages", str(stage), "a stage")
    for key in range(4):
        recent.set_key(str(key))
        assert [store.look(recent, "jobs", str(job)) for job in range(20)] == ["runs"] * 20

    assert store.asked == 0
    assert len(recent) <= 500


def test_what_was_used_last_is_kept_longer_than_what_was_put_last():
    """A stage that runs for an hour is older than hundreds that ended since."""
    recent, store = StateCache(limit=200), Store()
    recent.set_key("one")
    recent.put("stages", "long", "runs")
    for stage in range(1000):
        recent.put("stages", str(stage), "ended")
        assert store.look(recent, "stages", "long") == "runs"

    assert store.asked == 0


def test_a_key_with_more_than_may_be_held_is_not_held_whole():
    """A loop of stages in one application does not fill the process."""
    recent, store = StateCache(limit=3), Store(**{"0": "fetched"})
    recent.set_key("loop")
    for number in range(10):
        recent.put("stages", str(number), number)

    assert len(recent) <= 3
    assert store.look(recent, "stages", "9") == 9
    assert store.look(recent, "stages", "0") == "fetched"


def test_names_of_a_key_that_had_nothing_are_all_known():
    """The state is asked once for a key, and never for one that was written to first."""
    names, asked = KnownNames(), []

    def is_empty(answer: bool) -> bool:
        asked.append(answer)
        return answer

    first = names.lacks("new", "3", lambda: is_empty(True))
    names.add("new", "3")
    found = [names.lacks("new", name, lambda: is_empty(True)) for name in ("3", "4")]
    removed = names.remove("new", "3")
    gone = names.lacks("new", "3", lambda: is_empty(True))
    old = [names.lacks("old", name, lambda: is_empty(False)) for name in ("3", "4")]
    names.add("written", "3")
    written = names.lacks("written", "4", lambda: is_empty(True))

    assert (first, found, removed, gone) == (True, [False, True], True, True)
    assert (old, names.remove("old", "3"), written) == ([False, False], False, False)
    assert asked == [True, False]


def test_names_of_a_key_are_given_in_order_where_all_are_known():
    """Who walks what is there need not ask for it; of a key that was met with something in it, one must."""
    names = KnownNames()
    names.lacks("new", "x", lambda: True)
    for name in ("units/b", "units/a", "ended"):
        names.add("new", name)
    names.remove("new", "ended")
    names.lacks("old", "x", lambda: False)

    assert names.of("new") == ["units/a", "units/b"]
    assert names.of("old") is None
    assert names.of("never met") is None


def test_names_are_bounded_and_forgotten_by_key():
    """What was forgotten of a key is asked of the state again."""
    names = KnownNames(limit=2 * NAMES_PER_KEY + 3)
    names.lacks("one", "x", lambda: True)
    for number in range(3):
        names.add("one", str(number))
    names.lacks("two", "x", lambda: True)
    before = len(names)
    names.add("two", "0")

    assert (before, len(names)) == (2 * NAMES_PER_KEY + 3, NAMES_PER_KEY + 1)
    assert not names.lacks("one", "9", lambda: False)
    assert names.lacks("two", "9", lambda: False)


def test_names_of_the_key_whose_turn_was_longest_ago_are_forgotten_first():
    """Not those that were met first: a fleet's applications come by turns for as long as they run."""
    names = KnownNames(limit=2 * NAMES_PER_KEY + 1)
    for key in ("one", "two"):
        names.lacks(key, "x", lambda: True)
    names.mark_used("one")
    names.mark_used("never met")
    names.add("one", "0")
    names.add("one", "1")

    assert len(names) == NAMES_PER_KEY + 2
    assert names.lacks("one", "x", lambda: False)
    assert not names.lacks("two", "x", lambda: False)
