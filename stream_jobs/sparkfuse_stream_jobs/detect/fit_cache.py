"""A cache of the curves that are fitted to baselines, because fitting a curve takes milliseconds.

Each running stage requests its curve every few seconds, and the curve depends only on samples of earlier runs. So only
the curves of running stages are in memory, and all samples stay in Flink's state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey

# Maximum number of fits of all stages and runs; one fit takes 3 kB. 500 applications, each with 20 running stages, need
# 10,500 fits.
MAX_FITS = 20_000
# Maximum number of fits of one baseline, which has one fit for each run, and for each start of its stage; the oldest
# fits are evicted.
MAX_RUNS_PER_KEY = 1_000


class FitCache:
    """Fits by baseline and by start of the run; the least recently used baselines are evicted first.

    A cached None means that too few runs are known for a fit.
    """

    def __init__(self, limit: int = MAX_FITS) -> None:
        self._limit = limit
        self._of: OrderedDict[BaselineKey, OrderedDict[int, Fit | None]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: BaselineKey, started_ms: int, compute: Callable[[], Fit | None]) -> Fit | None:
        """Return the fit for what started at ``started_ms`` [ms since epoch]; ``compute`` fills the cache."""
        runs = self._of.get(key)
        if runs is None:
            runs = self._of[key] = OrderedDict()
        self._of.move_to_end(key)
        if started_ms not in runs:
            runs[started_ms] = compute()
            self._count += 1
            self._evict(runs)
        runs.move_to_end(started_ms)
        return runs[started_ms]

    def invalidate(self, key: BaselineKey) -> None:
        """Remove the fits of a baseline that changed."""
        self._count -= len(self._of.pop(key, ()))

    def _evict(self, runs: OrderedDict[int, Fit | None]) -> None:
        if len(runs) > MAX_RUNS_PER_KEY:
            runs.popitem(last=False)
            self._count -= 1
        while self._count > self._limit and len(self._of) > 1:
            _, oldest = self._of.popitem(last=False)
            self._count -= len(oldest)
