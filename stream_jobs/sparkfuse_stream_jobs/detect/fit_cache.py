"""A cache of the curves that are fitted to baselines, because fitting a curve takes milliseconds.

Each running stage requests its curve every few seconds, and the curve depends only on samples of earlier runs. So only
the curves of running stages are in memory, and all samples stay in Flink's state. Stages that start between the same
two samples have the same curve, so only the first of them needs the samples.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit, fit_at
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey

# Maximum number of fits of all stages and runs; one fit takes 5 kB, and a fit of the same samples for another start a
# tenth of it. 1,500 applications, each with 20 running stages, need 31,500 fits.
MAX_FITS = 60_000
# Maximum number of fits of one baseline, which has one fit for each run, and for each start of its stage; the oldest
# fits are evicted.
MAX_RUNS_PER_KEY = 1_000


@dataclass(frozen=True)
class KnownFit:
    """The fit for a start, and the other starts at which the same samples are known.

    These starts are later than ``after_ms``, and not later than ``until_ms`` [ms since epoch]. ``value`` is None if too
    few runs are known.
    """

    value: Fit | None
    after_ms: float
    until_ms: float

    def at(self, started_ms: int) -> KnownFit:
        """Return the fit for another start that knows the same samples."""
        return KnownFit(self.value and fit_at(self.value, started_ms), self.after_ms, self.until_ms)


def fit_known(samples: Sequence[Sample], started_ms: int) -> KnownFit:
    """Return the fit for a start at ``started_ms`` [ms since epoch]; only earlier samples are known to it."""
    learned = [each.learned_ms for each in samples]
    return KnownFit(
        fit(samples, started_ms),
        max((each for each in learned if each < started_ms), default=-math.inf),
        min((each for each in learned if each >= started_ms), default=math.inf),
    )


class FitCache:
    """Fits by baseline and by start of the run; the least recently used baselines are evicted first.

    A cached None means that too few runs are known for a fit.
    """

    def __init__(self, limit: int = MAX_FITS) -> None:
        self._limit = limit
        self._of: OrderedDict[BaselineKey, OrderedDict[int, KnownFit]] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: BaselineKey, started_ms: int, compute: Callable[[], KnownFit]) -> Fit | None:
        """Return the fit for what started at ``started_ms`` [ms since epoch].

        ``compute`` fills the cache, unless the fit that was used last knows the same samples.
        """
        runs = self._of.get(key)
        if runs is None:
            runs = self._of[key] = OrderedDict()
        self._of.move_to_end(key)
        if started_ms not in runs:
            runs[started_ms] = _of_last(runs, started_ms) or compute()
            self._count += 1
            self._evict(runs)
        runs.move_to_end(started_ms)
        return runs[started_ms].value

    def invalidate(self, key: BaselineKey) -> None:
        """Remove the fits of a baseline that changed."""
        self._count -= len(self._of.pop(key, ()))

    def _evict(self, runs: OrderedDict[int, KnownFit]) -> None:
        if len(runs) > MAX_RUNS_PER_KEY:
            runs.popitem(last=False)
            self._count -= 1
        while self._count > self._limit and len(self._of) > 1:
            _, oldest = self._of.popitem(last=False)
            self._count -= len(oldest)


def _of_last(runs: OrderedDict[int, KnownFit], started_ms: int) -> KnownFit | None:
    last = runs[next(reversed(runs))] if runs else None
    return last.at(started_ms) if last and last.after_ms < started_ms <= last.until_ms else None
