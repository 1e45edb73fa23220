"""Tests the cache of decoded state values."""

from __future__ import annotations

from sparkfuse_stream_jobs.detect.state.state_cache import NAMES_PER_KEY, NOT_CACHED, KnownNames, StateCache


class State:
    """The state behind the cache; it counts its reads."""

    def __init__(self, **values):
        self.values, self.reads = values, 0

    def read(self, cache, group, name):
        """Return the cached value, or read and cache it."""
        found = cache.get(group, name)
        if found is NOT_CACHED:
            self.reads += 1
            found = self.values.get(name)
            cache.put(group, name, found)
        return found


def test_value_is_fetched_once_even_if_absent():
    """A value is fetched once, even if it is absent, because most stages of a fleet have no baseline."""
    cache, state = StateCache(), State(a=1)
    cache.set_key("key")
    found = [state.read(cache, "state", name) for name in "abab"]

    assert found == [1, None, 1, None]
    assert state.reads == 2


def test_keys_and_states_are_separate():
    """Values with equal names are cached separately if they belong to different applications or states."""
    cache, state = StateCache(), State()
    cache.set_key("one")
    cache.put("stages", "3", "a stage")
    found = [state.read(cache, "plans", "3")]
    cache.set_key("two")
    found.append(state.read(cache, "stages", "3"))
    cache.set_key("one")
    found.append(state.read(cache, "stages", "3"))

    assert found == [None, None, "a stage"]


def test_cleared_state_is_fetched_again():
    """After the state of an ended application is cleared, its values are no longer cached."""
    cache, state = StateCache(), State()
    cache.set_key("key")
    cache.put("stages", "3", "a stage")
    cache.put("plans", "3", "a plan")
    cache.clear("stages")

    assert state.read(cache, "stages", "3") is None
    assert state.read(cache, "plans", "3") == "a plan"
    assert len(cache) == 2


def test_dropped_value_is_fetched_again():
    """After a value was dropped from the cache, it is fetched from the state again."""
    cache, state = StateCache(), State(x="fetched")
    cache.set_key("key")
    cache.put("state", "x", "a value")
    cache.drop("state", "x")
    cache.drop("state", "unknown")

    assert len(cache) == 0
    assert not cache._values, "an empty key uses no memory"
    assert state.read(cache, "state", "x") == "fetched"


def test_least_recently_used_key_loses_its_older_half():
    """At its limit, the cache evicts the older half of the values of the least recently used key."""
    cache, state = StateCache(limit=6), State(ended="fetched")
    for key in ("one", "two"):
        cache.set_key(key)
        for name in ("ended", "running", "new"):
            cache.put("stages", name, key)
    cache.set_key("one")
    state.read(cache, "stages", "new")
    cache.set_key("three")
    cache.put("stages", "new", "three")

    assert len(cache) == 5
    cache.set_key("one")
    assert [state.read(cache, "stages", name) for name in ("ended", "running", "new")] == ["one"] * 3
    cache.set_key("two")
    assert state.read(cache, "stages", "new") == "two"
    assert state.reads == 0
    assert state.read(cache, "stages", "ended") == "fetched"


def test_alternating_keys_keep_their_newest_values():
    """If applications alternate, each keeps its newest values in the cache.

    The cache never evicts all values of the least recently used application.
    """
    cache, state = StateCache(limit=40), State()
    for stage in range(50):
        for key in range(10):
            cache.set_key(str(key))
            for running in range(max(0, stage - 1), stage):
                state.read(cache, "stages", str(running))
            cache.put("stages", str(stage), "a stage")

    assert state.reads == 0


def test_keys_with_few_values_are_evicted_last():
    """Values of a state that has few values per key are evicted last.

    So values of ended stages are evicted before values of running jobs. The values of a job are read only when the job
    ends.
    """
    cache, state = StateCache(limit=500), State()
    for key in range(4):
        cache.set_key(str(key))
        for job in range(20):
            cache.put("jobs", str(job), "runs")
    for stage in range(1000):
        cache.set_key(str(stage % 4))
        cache.put("stages", str(stage), "a stage")
    for key in range(4):
        cache.set_key(str(key))
        assert [state.read(cache, "jobs", str(job)) for job in range(20)] == ["runs"] * 20

    assert state.reads == 0
    assert len(cache) <= 500


def test_recently_used_value_is_kept_before_newer_ones():
    """A recently used value is kept rather than newer values, as for a stage that runs for an hour."""
    cache, state = StateCache(limit=200), State()
    cache.set_key("one")
    cache.put("stages", "long", "runs")
    for stage in range(1000):
        cache.put("stages", str(stage), "ended")
        assert state.read(cache, "stages", "long") == "runs"

    assert state.reads == 0


def test_single_key_is_bounded():
    """The number of cached values of a single key is limited, so that a loop of stages does not fill the memory."""
    cache, state = StateCache(limit=3), State(**{"0": "fetched"})
    cache.set_key("loop")
    for number in range(10):
        cache.put("stages", str(number), number)

    assert len(cache) <= 3
    assert state.read(cache, "stages", "9") == 9
    assert state.read(cache, "stages", "0") == "fetched"


def test_names_of_a_new_key_are_all_known():
    """All names of a new key are known without a call to the state, if the key was written before it was read.

    If a new key is read first, there is one call to the state.
    """
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


def test_known_names_are_sorted():
    """If all names are known, iteration is sorted and needs no call to the JVM."""
    names = KnownNames()
    names.lacks("new", "x", lambda: True)
    for name in ("units/b", "units/a", "ended"):
        names.add("new", name)
    names.remove("new", "ended")
    names.lacks("old", "x", lambda: False)

    assert names.of("new") == ["units/a", "units/b"]
    assert names.of("old") is None
    assert names.of("never met") is None


def test_names_are_bounded_by_key():
    """The number of keys with known names is limited. For an evicted key, there is another call to the state."""
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


def test_names_of_least_recently_used_key_are_evicted_first():
    """The names of the least recently used key are evicted first, not those of the oldest key.

    The oldest key may belong to a running application.
    """
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
