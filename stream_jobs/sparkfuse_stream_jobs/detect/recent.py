"""What a step remembers of the keys that it met last, ready for use: state that need not be fetched and decoded again.

It holds what the state behind it holds: whoever writes, writes to both. What is held is given out as it is, so those
who remember must put another value instead of changing the one they got.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

# Values of one step; five hundred applications with twenty running stages each have some thirty thousand in use: stages
# with their jobs and plans, executors.
MOST_VALUES = 60_000
# So many values of one state and key are left alone while others have more: those are stages that ended, these what
# runs.
LEFT_ALONE = 64
# Names of one map of states, at some hundred bytes each: an application keeps its ended stages until it ends. A key is
# as large as some names, and those of applications and findings that are over stay until they are too many.
MOST_NAMES = 250_000
NAMES_OF_A_KEY = 4
# What is said of a value that must be asked for.
NOT_HELD = object()
_Place = tuple[str, str]


class Recent:
    """The values of the current key, by the name of their state and their own, and those of the keys before it.

    None for a value that is known to be absent. When there are too many, the keys that were met longest ago lose the
    values that they have not used for longest: of an application those of stages that ended.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._values: OrderedDict[_Place, dict[str, Any]] = OrderedDict()
        self._count = 0
        self.key = ""

    def __len__(self) -> int:
        return self._count

    def turn_to(self, key: str) -> None:
        """Say whose values are asked for from now on."""
        self.key = key

    def get(self, state: str, name: str) -> Any:
        """The value; ``NOT_HELD`` when it is not held."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is None or name not in values:
            return NOT_HELD
        self._values.move_to_end(place)
        found = values[name] = values.pop(name)
        return found

    def put(self, state: str, name: str, value: Any) -> None:
        """Hold ``value``; None when it was removed."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is None:
            values = self._values[place] = {}
        else:
            self._values.move_to_end(place)
        self._count += name not in values
        values.pop(name, None)
        values[name] = value
        if self._count > self._most:
            self._make_room()

    def all_of(self, state: str, names: Sequence[str]) -> list[Any] | None:
        """The values of the current key by these names; None when one of them is not held."""
        values = self._values.get((state, self.key), {})
        return [values[name] for name in names] if all(name in values for name in names) else None

    def drop(self, state: str, name: str) -> None:
        """No longer hold the value, present or absent."""
        place = (state, self.key)
        values = self._values.get(place)
        if values is not None and name in values:
            del values[name]
            self._count -= 1
            if not values:
                del self._values[place]

    def clear(self, state: str) -> None:
        """Let go of all values of the current key in the state."""
        self._count -= len(self._values.pop((state, self.key), ()))

    def _make_room(self) -> None:
        """Let go of a tenth or more: the older halves of the keys that were met longest ago.

        Not of all that such a key has: a fleet's applications take turns, so that the one met longest ago is the one
        that comes next. And at first only of keys that have many.
        """
        most = self._most * 9 // 10
        for left_alone in (LEFT_ALONE, 0):
            for place in list(self._values):
                if self._count <= most:
                    return
                if len(self._values[place]) > left_alone:
                    self._halve(place)

    def _halve(self, place: _Place) -> None:
        values = self._values[place]
        older = list(islice(values, (len(values) + 1) // 2))
        for name in older:
            del values[name]
        self._count -= len(older)
        if not values:
            del self._values[place]


class Names:
    """Which values a key has in a map of states, known of keys that had none when they were met.

    New stages, jobs and plans come all the time, and to ask the JVM for one that cannot be there is a call each.
    """

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = most
        # None for a key of which it is not known.
        self._of: OrderedDict[str, set[str] | None] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def lacks(self, key: str, name: str, is_empty: Callable[[], bool]) -> bool:
        """Whether the value is certainly not there; ``is_empty`` is asked of a key that is met first."""
        if key not in self._of:
            self._keep(key, set() if is_empty() else None)
        names = self._of[key]
        return names is not None and name not in names

    def turn_to(self, key: str) -> None:
        """It is this key's turn: those whose turn was longest ago are forgotten first."""
        if key in self._of:
            self._of.move_to_end(key)

    def of(self, key: str) -> list[str] | None:
        """The names of a key's values in their order; None for a key of which they are not known."""
        names = self._of.get(key)
        return None if names is None else sorted(names)

    def add(self, key: str, name: str) -> None:
        """A value was written."""
        if key not in self._of:
            self._keep(key, None)
        names = self._of[key]
        if names is not None and name not in names:
            names.add(name)
            self._count += 1
            self._make_room()

    def remove(self, key: str, name: str) -> bool:
        """A value was removed; whether it is known from now on that it is not there."""
        names = self._of.get(key)
        if names is None:
            return False
        self._count -= name in names
        names.discard(name)
        if not names:
            # A set keeps the room of the most that it ever had.
            self._of[key] = set()
        return True

    def _keep(self, key: str, names: set[str] | None) -> None:
        self._of[key] = names
        self._count += NAMES_OF_A_KEY
        self._make_room()

    def _make_room(self) -> None:
        while self._count > self._most and len(self._of) > 1:
            _, names = self._of.popitem(last=False)
            self._count -= NAMES_OF_A_KEY + len(names or ())
