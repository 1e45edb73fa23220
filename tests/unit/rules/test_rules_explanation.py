"""What is expected of a stage is explained by the same numbers that judge it."""

from __future__ import annotations

from dataclasses import replace

from sparkfuse_rules.knowledge.baseline import expect, learn
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.explanation import explain
from sparkfuse_rules.knowledge.work import Work

NOW = 1_000_000


def run(number: int, wall_ms: int = 60_000, work: int = 1_000_000) -> Sample:
    return Sample(f"run-{number}", number, wall_ms, cpu_ms=wall_ms * 3, work_bytes=work, work_records=work // 100)


def test_too_few_runs_are_said() -> None:
    """Nothing is expected, and why not."""
    found = explain([run(number) for number in range(3)], NOW)

    assert (found.expected, found.why_not) == (None, "3 of the 5 runs that are needed")
    assert found.teaching == ("run-0", "run-1", "run-2")


def test_the_expectation_is_the_one_that_judges() -> None:
    """With a given work as for an ended stage, without one for the usual work."""
    samples = [run(number, 30_000 * (1 + number), 1_000_000 * (1 + number)) for number in range(8)]

    assert explain(samples, NOW, Work(4_000_000)).expected == expect(samples, 4_000_000, None, NOW)
    assert explain(samples, NOW).expected == expect(samples, None, None, NOW, running=True)


def test_the_usual_rows_of_a_source_that_reports_nothing_are_expected() -> None:
    """What is asked of the next run is not judged by the bar of a running one, whose rows nobody knows yet."""
    made = [replace(run(n), work_bytes=0, work_records=0, operator_rows=10**6) for n in range(8)]
    found = explain(made, NOW)

    assert found.expected == expect(made, None, None, NOW, operator_rows=10**6)
    assert [growth.measure for growth in found.growth] == ["rows"]


def test_growth_is_told_for_each_measure_of_work() -> None:
    """Twice the rows take twice the time, within the sizes that were seen."""
    samples = [run(number, 30_000 * (1 + number), 1_000_000 * (1 + number)) for number in range(8)]

    by_bytes, by_records = explain(samples, NOW).growth

    assert (by_bytes.measure, by_records.measure) == ("bytes", "records")
    assert 1.9 < by_bytes.doubled < 2.1
    assert (by_bytes.smallest, by_bytes.largest) == (1_000_000, 8_000_000)
    assert by_bytes.smallest < by_bytes.usual < by_bytes.largest


def test_abnormal_runs_are_set_aside_and_named() -> None:
    """One run that was ten times slower is known and does not count."""
    samples: tuple[Sample, ...] = ()
    for sample in [*(run(number) for number in range(6)), run(6, 600_000)]:
        samples = learn(samples, sample)

    found = explain(samples, NOW)

    assert found.set_aside == ("run-6",)
    assert "run-6" not in found.teaching
    assert found.expected is not None


def test_later_runs_do_not_count() -> None:
    """As nothing that is learned after a run's start may judge it."""
    samples = [run(number) for number in range(5)]

    assert explain([*samples, replace(run(9), learned_ms=NOW + 1)], NOW).teaching == tuple(s.run_key for s in samples)


def test_how_long_a_driver_may_wait_is_told_of_applications() -> None:
    """Beside jobs that take as long as usual; stages have none."""
    whole = [replace(run(number), between_jobs_ms=6_000) for number in range(6)]
    found = explain(whole, NOW).between_p95_ms

    assert found is not None
    assert 6_000 < found < 12_000
    assert explain([run(number) for number in range(6)], NOW).between_p95_ms is None
