"""Tests that explanations contain the numbers that rules evaluate."""

from __future__ import annotations

from dataclasses import replace

from sparkfuse_rules.knowledge.baseline import expect, learn
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.explanation import explain
from sparkfuse_rules.knowledge.work import Work

NOW = 1_000_000


def run(number: int, wall_ms: int = 60_000, work: int = 1_000_000) -> Sample:
    return Sample(f"run-{number}", number, wall_ms, cpu_ms=wall_ms * 3, work_bytes=work, work_records=work // 100)


def test_too_few_runs_are_explained() -> None:
    """With too few runs, the explanation has a reason instead of an expectation."""
    found = explain([run(number) for number in range(3)], NOW)

    assert (found.expected, found.missing_reason) == (None, "3 of the 5 required runs")
    assert found.training_runs == ("run-0", "run-1", "run-2")


def test_explained_expectation_is_the_evaluated_one() -> None:
    """If an amount of work is given, the expectation is for that work; otherwise it is for the usual work."""
    samples = [run(number, 30_000 * (1 + number), 1_000_000 * (1 + number)) for number in range(8)]

    assert explain(samples, NOW, Work(4_000_000)).expected == expect(samples, 4_000_000, None, NOW)
    assert explain(samples, NOW).expected == expect(samples, None, None, NOW, running=True)


def test_usual_operator_rows_are_expected() -> None:
    """The explanation assumes the usual number of rows for the next run, although a running stage has unknown work."""
    made = [replace(run(n), work_bytes=0, work_records=0, operator_rows=10**6) for n in range(8)]
    found = explain(made, NOW)

    assert found.expected == expect(made, None, None, NOW, operator_rows=10**6)
    assert [growth.measure for growth in found.growth] == ["rows"]


def test_growth_exists_for_each_measure() -> None:
    """For each measure of work, the explanation shows the time for twice the work; in this test, the time doubles."""
    samples = [run(number, 30_000 * (1 + number), 1_000_000 * (1 + number)) for number in range(8)]

    by_bytes, by_records = explain(samples, NOW).growth

    assert (by_bytes.measure, by_records.measure) == ("bytes", "records")
    assert 1.9 < by_bytes.doubled < 2.1
    assert (by_bytes.smallest, by_bytes.largest) == (1_000_000, 8_000_000)
    assert by_bytes.smallest < by_bytes.usual < by_bytes.largest


def test_abnormal_runs_are_listed() -> None:
    """A run that was ten times slower is listed as abnormal and does not change the expectation."""
    samples: tuple[Sample, ...] = ()
    for sample in [*(run(number) for number in range(6)), run(6, 600_000)]:
        samples = learn(samples, sample)

    found = explain(samples, NOW)

    assert found.abnormal_runs == ("run-6",)
    assert "run-6" not in found.training_runs
    assert found.expected is not None


def test_later_runs_do_not_count() -> None:
    """Samples learned after the start of the run are ignored."""
    samples = [run(number) for number in range(5)]

    assert explain([*samples, replace(run(9), learned_ms=NOW + 1)], NOW).training_runs == tuple(
        s.run_key for s in samples
    )


def test_driver_idle_time_exists_for_applications() -> None:
    """An application's explanation has the p95 of its time between jobs; a stage's explanation has none.

    The p95 is that of a run whose other time is as usual.
    """
    whole = [replace(run(number), between_jobs_ms=6_000) for number in range(6)]
    found = explain(whole, NOW).between_p95_ms

    assert found is not None
    assert 6_000 < found < 12_000
    assert explain([run(number) for number in range(6)], NOW).between_p95_ms is None
