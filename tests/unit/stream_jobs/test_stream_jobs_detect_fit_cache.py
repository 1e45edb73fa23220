"""Tests the cache of fits: which fits are computed again, and which are evicted first."""

from __future__ import annotations

from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey
from sparkfuse_stream_jobs.detect.fit_cache import MAX_RUNS_PER_KEY, FitCache


def key(stage: str) -> BaselineKey:
    return BaselineKey("prod-eu", "orders", "nightly", stage)


class Requests:
    """Requests fits from the cache, and records which fits were computed."""

    def __init__(self, limit: int) -> None:
        self.fits, self.computed = FitCache(limit), list[tuple[str, int]]()

    def of(self, stage: str, start_ms: int = 0) -> Fit | None:
        def compute() -> Fit:
            self.computed.append((stage, start_ms))
            return Fit(5, {}, {}, {})

        return self.fits.get(key(stage), start_ms, compute)


def test_recently_used_fit_is_not_evicted():
    """The fit of a running stage is requested every few seconds, so it is not evicted."""
    requests = Requests(3)
    for other in range(10):
        requests.of("running")
        requests.of(f"stage {other}")

    assert requests.computed.count(("running", 0)) == 1
    assert len(requests.fits) == 3


def test_changed_baseline_is_fitted_again_for_every_run():
    """If a baseline changes, its fits for all runs are computed again, but the fits of other baselines are not."""
    requests = Requests(10)
    first = [requests.of("join", start) for start in (1, 2)]
    requests.of("sort", 1)
    requests.fits.invalidate(key("join"))
    left = len(requests.fits)
    again = [requests.of("join", start) for start in (1, 2)]
    requests.of("sort", 1)

    assert (left, len(requests.fits)) == (1, 3)
    assert all(one is not other for one, other in zip(first, again, strict=True))
    assert requests.computed == [("join", 1), ("join", 2), ("sort", 1), ("join", 1), ("join", 2)]


def test_absent_fit_is_cached_too():
    """The absence of a fit is cached too: a stage without enough runs requests its fit as often as other stages."""
    fits, made = FitCache(), list[int]()
    for _ in range(3):
        assert fits.get(key("new"), 7, lambda: made.append(7)) is None

    assert made == [7]


def test_runs_of_one_baseline_are_bounded():
    """The number of cached fits of one baseline is limited.

    The baseline of a job that never succeeds never changes, so nothing else evicts its fits.
    """
    requests = Requests(10_000)
    for start in range(3 * MAX_RUNS_PER_KEY):
        requests.of("fails", start)

    assert len(requests.fits) == MAX_RUNS_PER_KEY
    requests.of("fails", 3 * MAX_RUNS_PER_KEY - 1)
    assert len(requests.computed) == 3 * MAX_RUNS_PER_KEY
