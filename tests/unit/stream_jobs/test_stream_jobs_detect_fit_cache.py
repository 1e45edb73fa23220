"""FitCache: what is remembered of the lines that runs are judged by, and what is forgotten first."""

from __future__ import annotations

from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey
from sparkfuse_stream_jobs.detect.fit_cache import MAX_RUNS_PER_KEY, FitCache


def key(stage: str) -> BaselineKey:
    return BaselineKey("prod-eu", "orders", "nightly", stage)


class Asked:
    """Asks for fits, and knows which had to be made."""

    def __init__(self, most: int) -> None:
        self.fits, self.made = FitCache(most), list[tuple[str, int]]()

    def of(self, stage: str, start_ms: int = 0) -> Fit | None:
        def make() -> Fit:
            self.made.append((stage, start_ms))
            return Fit(5, {}, {}, {})

        return self.fits.get(key(stage), start_ms, make)


def test_a_run_that_goes_on_keeps_its_lines_while_others_come_and_go():
    """Whoever asks every few seconds is never the one that was asked for longest ago."""
    asked = Asked(3)
    for other in range(10):
        asked.of("goes on")
        asked.of(f"stage {other}")

    assert asked.made.count(("goes on", 0)) == 1
    assert len(asked.fits) == 3


def test_another_baseline_is_fitted_anew_for_every_run():
    asked = Asked(10)
    first = [asked.of("join", start) for start in (1, 2)]
    asked.of("sort", 1)
    asked.fits.invalidate(key("join"))
    left = len(asked.fits)
    anew = [asked.of("join", start) for start in (1, 2)]
    asked.of("sort", 1)

    assert (left, len(asked.fits)) == (1, 3)
    assert all(one is not other for one, other in zip(first, anew, strict=True))
    assert asked.made == [("join", 1), ("join", 2), ("sort", 1), ("join", 1), ("join", 2)]


def test_that_nothing_is_expected_is_remembered_too():
    """A stage that is met first is asked about as often as others."""
    fits, made = FitCache(), list[int]()
    for _ in range(3):
        assert fits.get(key("new"), 7, lambda: made.append(7)) is None

    assert made == [7]


def test_a_job_that_never_ends_well_does_not_fill_the_memory():
    """No baseline of it changes, so nothing is forgotten by that."""
    asked = Asked(10_000)
    for start in range(3 * MAX_RUNS_PER_KEY):
        asked.of("fails", start)

    assert len(asked.fits) == MAX_RUNS_PER_KEY
    asked.of("fails", 3 * MAX_RUNS_PER_KEY - 1)
    assert len(asked.made) == 3 * MAX_RUNS_PER_KEY
