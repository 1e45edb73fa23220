"""Tests the usual spill of a stage: the largest spill of its earlier successful runs."""

from dataclasses import replace

import pytest

from sparkfuse_rules.knowledge.baseline import fit
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of
from sparkfuse_rules.knowledge.training_samples import stage_sample, usual_spill_columns

NOW = 100
RUNS = [Sample(f"run-{number}", number, 60_000, disk_spilled_bytes=10 * number) for number in range(6)]


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param(RUNS, {"usual_disk_spilled_bytes": 50}, id="the largest"),
        pytest.param([*RUNS, replace(RUNS[0], learned_ms=NOW, disk_spilled_bytes=900)],
                     {"usual_disk_spilled_bytes": 50}, id="a later run does not count"),
        pytest.param([*RUNS[:5], replace(RUNS[5], abnormal=True)], {"usual_disk_spilled_bytes": 50},
                     id="an abnormal run succeeded too"),
        pytest.param([replace(each, disk_spilled_bytes=0) for each in RUNS], {"usual_disk_spilled_bytes": 0},
                     id="runs without spill"),
        pytest.param([replace(each, disk_spilled_bytes=None) for each in RUNS], {}, id="older samples lack it"),
    ],
)  # fmt: skip
def test_usual_spill_is_largest_of_earlier_runs(samples, expected):
    """The usual spill is the largest spill of the runs that ended before; if it is unknown, the column is absent."""
    fitted = fit(samples, NOW)

    assert fitted is not None
    assert usual_spill_columns(fitted) == expected


def test_five_runs_are_required():
    """A stage with fewer than five runs has no baseline, so it has no usual spill."""
    assert fit(RUNS[:4], NOW) is None


def test_stage_sample_stores_the_spill():
    """The training sample of a stage stores its spill; a spill of 0 is stored as 0."""
    ended = {"status": "succeeded", "elapsed_ms": 900, "num_tasks": 1, "succeeded_tasks": 1}
    samples = [stage_sample("run", 1.0, {**ended, "disk_spilled_bytes": spilled}) for spilled in (7, 0, None)]

    assert [sample.disk_spilled_bytes for sample in samples if sample] == [7, 0, None]
    assert [sample_of(message_of(sample)) for sample in samples if sample] == samples
