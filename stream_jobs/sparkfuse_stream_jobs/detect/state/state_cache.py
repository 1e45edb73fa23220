"""A cache of decoded state values, for the keys that a step used most recently.

Each write changes both the cache and the state. Values are returned without a copy, so callers must store a new value
instead of modifying the returned one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

# Maximum number of cached values of one step. 1,500 applications, each with 20 running stages, use about 90,000 values:
# stages with their jobs and queries, and executors.
MAX_VALUES = 200_000
# The first round of eviction keeps this many values of each state and key; the other values are mostly of ended stages.
SPARED_VALUES = 64
# Maximum number of names of one map; one name takes about 100 bytes. An application keeps its ended stages until it
# ends. A key takes as much memory as a few names, and keys of ended applications and findings stay until they are
# evicted.
MAX_NAMES = 750_000
NAMES_PER_KEY = 4
# Returned for a value that must be read from the state.
NOT_CACHED = object()
_Place = tuple[str, str]


class StateCache:
    """Values by key, state and name; None is a value that is known to be absent.

    If there are too many values, the least recently used keys lose their least recently used values. The least recently
    used values of an application are mostly those of ended stages.
    """

    def __init__(self, limit: int = MAX_VALUES) -> None:
        self._limit = limit
        self._values: OrderedDict[_Place, dict[str, Any]] = OrderedDict()
        self._count = 0
        self.key = ""

    def __len__(self) -> int:
        return self._count

    def set_key(self, key: str) -> None:
        """Set the current key for the following calls."""
        self.key = key

    def get(self, state: str, name: str) -> Any:
        """Return the value, or ``NOT_CACHED``."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is None or name not in values:
            return NOT_CACHED
        self._values.move_to_end(place)
        found = values[name] = values.pop(name)
        return found

    def put(self, state: str, name: str, value: Any) -> None:
        """Cache ``value``; None means that the value was removed."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is None:
            values = self._values[place] = {}
        else:
            self._values.move_to_end(place)
        self._count += name not in values
        values.pop(name, None)
        values[name] = value
        if self._count > self._limit:
            self._evict()

    def all_of(self, state: str, names: Sequence[str]) -> list[Any] | None:
        """Return the values of the current key for ``names``; None when one of them is not cached."""
        values = self._values.get((state, self.key), {})
        return [values[name] for name in names] if all(name in values for name in names) else None

    def drop(self, state: str, name: str) -> None:
        """Remove the value, or the information that the value is absent, from the cache."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is not None and name in values:
            del values[name]
            self._count -= 1
            if not values:
                del self._values[place]

    def clear(self, state: str) -> None:
        """Remove all values of the current key in the state from the cache."""
        self._count -= len(self._values.pop((state, self.key), ()))

    def _evict(self) -> None:
        """Remove a tenth of the values or more: the older half of each of the least recently used keys.

        Such a key keeps its newer half: the rows of applications alternate, so the least recently used key is likely to
        be used next. In the first round, only keys with many values lose values.
        """
        limit = self._limit * 9 // 10
        for spared in (SPARED_VALUES, 0):
            for place in list(self._values):
                if self._count <= limit:
                    return
                if len(self._values[place]) > spared:
                    self._halve(place)

    def _halve(self, place: _Place) -> None:
        values = self._values[place]
        older = list(islice(values, (len(values) + 1) // 2))
        for name in older:
            del values[name]
        self._count -= len(older)
        if not values:
            del self._values[place]


class KnownNames:
    """The names of all values that a key has in a Flink map, for keys that were empty when first seen.

    New stages, jobs and queries arrive all the time. Without this class, each lookup of a new name would be a call to
    the JVM, although the value cannot exist.
    """

    def __init__(self, limit: int = MAX_NAMES) -> None:
        self._limit = limit
        # the value is None for a key whose names are unknown
        self._of: OrderedDict[str, set[str] | None] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def lacks(self, key: str, name: str, is_empty: Callable[[], bool]) -> bool:
        """Return whether the value is known not to exist; ``is_empty`` is called for a key that was not seen before."""
        if key not in self._of:
            self._store(key, set() if is_empty() else None)
        names = self._of[key]
        return names is not None and name not in names

    def mark_used(self, key: str) -> None:
        """Mark the key as used; the least recently used keys are evicted first."""
        if key in self._of:
            self._of.move_to_end(key)

    def of(self, key: str) -> list[str] | None:
        """Return the sorted names of a key's values; None when they are unknown."""
        names = self._of.get(key)
        return None if names is None else sorted(names)

    def add(self, key: str, name: str) -> None:
        """Record that a value was written."""
        if key not in self._of:
            self._store(key, None)
        names = self._of[key]
        if names is not None and name not in names:
            names.add(name)
            self._count += 1
            self._evict()

    def remove(self, key: str, name: str) -> bool:
        """Record that a value was removed; return whether its absence is now known."""
        names = self._of.get(key)
        if names is None:
            return False
        self._count -= name in names
        names.discard(name)
        if not names:
            # A new set frees memory, because a Python set never shrinks.
            self._of[key] = set()
        return True

    def _store(self, key: str, names: set[str] | None) -> None:
        self._of[key] = names
        self._count += NAMES_PER_KEY
        self._evict()

    def _evict(self) -> None:
        while self._count > self._limit and len(self._of) > 1:
            _, names = self._of.popitem(last=False)
            self._count -= NAMES_PER_KEY + len(names or ())
