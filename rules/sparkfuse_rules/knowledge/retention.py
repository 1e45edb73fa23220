"""Choose the training samples that a baseline keeps: reference, unusual and recent runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sparkfuse_rules.knowledge.baseline_model import Sample

# One run must not fill the baseline: a loop in the job's code creates many equal stages in one run.
SAMPLES_OF_ONE_RUN = 5
# The largest number of samples. They are the reference runs, the unusual runs and the rest, which are the most recent.
LIMIT = 50
REFERENCE = 16
UNUSUAL = 12


def without_surplus(samples: Sequence[Sample]) -> list[Sample]:
    """Drop the oldest samples of each run that has more than five samples."""
    remaining: list[Sample] = []
    count: dict[str, int] = {}
    for sample in reversed(samples):
        count[sample.run_key] = count.get(sample.run_key, 0) + 1
        if count[sample.run_key] <= SAMPLES_OF_ONE_RUN:
            remaining.append(sample)
    return remaining[::-1]


def retained(samples: Sequence[Sample], limit: int, slowness: Callable[[Sample], float]) -> list[Sample]:
    """Return at most ``limit`` samples in their order; ``slowness`` is the duration relative to the expected one.

    Reference samples are kept. Of the other samples that are no longer recent, the slowest are kept, because they show
    which durations a healthy run of the job can have.
    """
    if len(samples) <= limit:
        return list(samples)
    others = [sample for sample in samples if not sample.reference]
    reference = [sample for sample in samples if sample.reference][-REFERENCE:]
    recent = max(0, limit - len(reference) - UNUSUAL)
    older, newest = others[: len(others) - recent], others[len(others) - recent :]
    # The newest run that reported a longer level is kept, so that the level is not reported again too early.
    reports = [each for each in older if each.level_ratio is not None][-1:]
    slowest = sorted(older, key=lambda each: (each in reports, slowness(each)), reverse=True)
    slowest = slowest[: limit - len(reference) - len(newest)]
    kept = {id(sample) for sample in (*reference, *newest, *slowest)}
    return [sample for sample in samples if id(sample) in kept]
