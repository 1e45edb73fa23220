"""Tests the cache of fits: which fits are computed again, and which are evicted first."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.baseline import Fit, Sample, fit
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey
from sparkfuse_stream_jobs.detect.fit_cache import MAX_RUNS_PER_KEY, FitCache, KnownFit, fit_known

DAY_MS = 86_400_000


def key(stage: str) -> BaselineKey:
    return BaselineKey("prod-eu", "orders", "nightly", stage)


class Requests:
    """Requests fits from the cache, and records which fits were computed."""

    def __init__(self, limit: int) -> None:
        self.fits, self.computed = FitCache(limit), list[tuple[str, int]]()

    def of(self, stage: str, start_ms: int = 0) -> Fit | None:
        def compute() -> KnownFit:
            self.computed.append((stage, start_ms))
            return KnownFit(Fit(5, {}, {}, {}), start_ms - 1, start_ms)

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

    def compute() -> KnownFit:
        made.append(7)
        return fit_known((), 7)

    for start_ms in (7, 7, 9):
        assert fits.get(key("new"), start_ms, compute) is None

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


@example([(day, 60_000) for day in range(30)], list(range(38, 45)))
@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1_000, 400_000)), max_size=40),
    st.lists(st.integers(20, 45), min_size=2, max_size=6),
)
def test_fit_of_another_start_is_the_fit_of_its_samples(runs: list[tuple[int, int]], starts: list[int]) -> None:
    """A fit is used for another start only if both know the same samples; it is then the fit for that start.

    Some jobs are slow on a day of the week, so the expectation depends on the day of the start.
    """
    samples = [
        Sample(
            f"run-{place}", day * DAY_MS, wall_ms * (9 if day % 7 == 3 else 1), wall_ms, wall_ms, None, reference=True
        )
        for place, (day, wall_ms) in enumerate(runs)
    ]
    fits = FitCache()
    for day in starts:
        start_ms = day * DAY_MS + 1
        found = fits.get(key("stage"), start_ms, lambda at_ms=start_ms: fit_known(samples, at_ms))
        expected = fit(samples, start_ms)

        assert found == expected
        assert (found and found.history) == (expected and expected.history)


def test_stages_between_two_samples_are_fitted_once():
    """Stages of one run start at different times, but know the same samples."""
    samples = [Sample(f"run-{number}", number, 60_000, 1, 1, 1) for number in (1, 2, 3, 4, 5, 90)]
    fits, computed = FitCache(), list[int]()
    for start_ms in (6, 7, 90, 91, 92):

        def compute(at_ms: int = start_ms) -> KnownFit:
            computed.append(at_ms)
            return fit_known(samples, at_ms)

        fits.get(key("stage"), start_ms, compute)

    assert computed == [6, 91]
