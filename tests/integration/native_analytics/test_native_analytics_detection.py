"""Tests the labelled corpus offline: each problem is found at its stage, and healthy runs have no finding."""

from __future__ import annotations

import functools

import pytest

from tests.bench.bench_detection import judge_offline
from tests.logs.detection_labels import CORPUS, SUFFIX, Label, Verdict, history, labels
from tests.logs.make_detection import RUNS

MOST_BYTES = 5_000_000


@functools.cache
def verdicts() -> dict[str, Verdict]:
    """Return the verdict on each run with a log, by the name of the run."""
    return {found.label.run: found for found in judge_offline([label for label in labels() if label.log.exists()])}


def cases() -> list[object]:
    """Return each label. If detection is known to miss a label, its test must fail, so an improvement is noticed."""
    return [
        pytest.param(
            label,
            id=label.run,
            marks=pytest.mark.xfail(reason=label.falls_short, strict=True) if label.falls_short else (),
        )
        for label in labels()
    ]


@pytest.mark.parametrize("label", cases())
def test_findings_match_the_label(label: Label):
    """The labelled rules match at the labelled stages, and no other warning or critical finding appears."""
    if not label.log.exists():
        pytest.skip(f"its log is not made: python tests/logs/make_detection.py {label.run}")
    found = verdicts()[label.run]

    assert (found.missed, found.false_alarms) == ((), ())


def test_each_log_has_a_label_and_a_recipe():
    """Each log of the corpus is small, and has a label and an entry in `make_detection.py`."""
    of_history = {path for label in labels() for path in history(label)}
    named = {path.stem for path in {label.log for label in labels()} | of_history if path.parent == CORPUS}
    logs = {path.stem: path.stat().st_size for path in CORPUS.glob(f"*{SUFFIX}")}

    assert set(logs) <= set(RUNS)
    assert named <= set(RUNS)
    assert sum(logs.values()) < MOST_BYTES
    assert sum(label.log.exists() for label in labels()) >= 20
