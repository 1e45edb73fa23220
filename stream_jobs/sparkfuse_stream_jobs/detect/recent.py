"""What a step remembers of the keys that it met last, ready for use: state that need not be fetched and decoded again.

It holds what the state behind it holds: whoever writes, writes to both. What is held is given out as it is, so those
who remember must put another value instead of changing the one they got.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

# Values of one step; five hundred applications with twenty stages each have some fifteen thousand.
MOST_VALUES = 50_000
_Place = tuple[str, str]
# No state's name: by map of states, whether all that a key has there is held.
_WHOLE = ""


class Recent:
    """The values of the current key, by the name of their state and their own, and those of the keys before it.

    None for a value that is known to be absent. The keys that were met longest ago go first when there are too many
    values.
    """

    def __init__(self, most: int = MOST_VALUES) -> None:
        self._most = most
        self._values: OrderedDict[_Place, dict[str, Any]] = OrderedDict()
        self._count = 0
        self._key = ""

    def __len__(self) -> int:
        return self._count

    def turn_to(self, key: str) -> None:
        """Say whose values are asked for from now on."""
        self._key = key
        if (_WHOLE, key) in self._values:
            self._values.move_to_end((_WHOLE, key))

    def is_whole(self, map_name: str, is_empty: Callable[[], bool]) -> bool:
        """Whether all that the current key has in a map of states is held: what is not held is not there.

        So it is when nothing was there when it was met first, as ``is_empty`` says, and nothing was let go since.
        """
        return bool(self.get(_WHOLE, map_name, is_empty))

    def get(self, state: str, name: str, fetch: Callable[[], Any]) -> Any:
        """The value; ``fetch`` gives it when it is not held."""
        place = (state, self._key)
        values = self._values.get(place)
        if values is not None and name in values:
            self._values.move_to_end(place)
            return values[name]
        found = fetch()
        self.put(state, name, found)
        return found

    def put(self, state: str, name: str, value: Any) -> None:
        """Hold ``value``; None when it was removed."""
        place = (state, self._key)
        values = self._values.get(place)
        if values is None:
            values = self._values[place] = {}
        else:
            self._values.move_to_end(place)
        self._count += name not in values
        values[name] = value
        while self._count > self._most:
            (_, key), values = self._values.popitem(last=False)
            self._count -= len(values) + len(self._values.pop((_WHOLE, key), ()))

    def clear(self, state: str) -> None:
        """Let go of all values of the current key in the state."""
        self._count -= len(self._values.pop((state, self._key), ()))
