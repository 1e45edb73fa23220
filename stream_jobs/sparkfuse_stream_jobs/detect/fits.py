"""The lines that were fitted to baselines, for the runs that are judged by them: fitting takes milliseconds.

A stage that runs is asked about every few seconds, and what it is judged by was known before its run started; so the
samples themselves need not be at hand, and a fleet's history takes no room beside those of its runs that go on.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_stream_jobs.detect.memory_key import Key

# Of all stages and runs, at 3 kB each. Five hundred applications with twenty running stages each ask for 10,500.
MOST_FITS = 20_000
# Of the runs of one job: more than these at once ask by turns.
RUNS_OF_A_KEY = 1_000


class Fits:
    """By whose baseline it is and the start of the run; those that were asked for longest ago go first.

    None for a run of which is known that nothing can be expected.
    """

    def __init__(self, most: int = MOST_FITS) -> None:
        self._most = most
        self._of: OrderedDict[Key, OrderedDict[int, Fit | None]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def of(self, key: Key, app_start_ms: int, make: Callable[[], Fit | None]) -> Fit | None:
        """The lines for a run that started at ``app_start_ms`` [ms since epoch]; ``make`` gives those not held."""
        runs = self._of.get(key)
        if runs is None:
            runs = self._of[key] = OrderedDict()
        self._of.move_to_end(key)
        if app_start_ms not in runs:
            runs[app_start_ms] = make()
            self._count += 1
            self._make_room(runs)
        runs.move_to_end(app_start_ms)
        return runs[app_start_ms]

    def forget(self, key: Key) -> None:
        """The baseline is another from now on."""
        self._count -= len(self._of.pop(key, ()))

    def _make_room(self, runs: OrderedDict[int, Fit | None]) -> None:
        if len(runs) > RUNS_OF_A_KEY:
            runs.popitem(last=False)
            self._count -= 1
        while self._count > self._most and len(self._of) > 1:
            _, oldest = self._of.popitem(last=False)
            self._count -= len(oldest)
