"""Tests baselines: the expected duration of a stage, computed from its earlier runs."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.baseline import Sample, expect, fit, learn, level_changed, moved
from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, student_t_95, theil_sen_slope
from sparkfuse_rules.knowledge.work import Work

NOW = 10**12


def run(number, wall_ms=60_000, cpu_ms=30_000, work_bytes=10**9, work_records=10**6, learned_ms=None):
    return Sample(
        f"run-{number}", number if learned_ms is None else learned_ms, wall_ms, cpu_ms, work_bytes, work_records
    )


def learned(samples):
    memory: tuple[Sample, ...] = ()
    for sample in samples:
        memory = learn(memory, sample)
    return memory


QUIET_RUNS = tuple(run(n, wall_ms=60_000 + 500 * (n % 5), cpu_ms=30_000 + 200 * (n % 3)) for n in range(20))
GROWING_RUNS = tuple(run(n, 1_000 * (n + 1), 500 * (n + 1), 10**7 * (n + 1), 10**4 * (n + 1)) for n in range(20))

times = st.integers(min_value=1_000, max_value=10**7)
works = st.integers(min_value=1, max_value=10**13)
histories = st.lists(st.tuples(times, times, works, works), min_size=5, max_size=25).map(
    lambda rows: tuple(run(n, *row) for n, row in enumerate(rows))
)


def test_five_runs_are_required():
    """A stage has an expectation after five runs; five samples of one run count as one run."""
    same_run = tuple(replace(run(n), run_key="one") for n in range(5))

    assert expect(QUIET_RUNS[:4], 10**9, 10**6, NOW) is None
    assert expect(QUIET_RUNS[:5], 10**9, 10**6, NOW).runs == 5
    assert expect(same_run, 10**9, 10**6, NOW) is None


def test_samples_learned_after_the_start_do_not_count():
    """The expectation uses only samples that were learned before the run started, live and offline."""
    later = tuple(replace(sample, learned_ms=NOW + 1, wall_ms=10) for sample in QUIET_RUNS)

    assert expect((*QUIET_RUNS, *later), 10**9, 10**6, NOW) == expect(QUIET_RUNS, 10**9, 10**6, NOW)
    assert expect(later, 10**9, 10**6, NOW) is None


def test_unseen_size_grows_in_proportion():
    """If all earlier runs had one size, the expectation grows in proportion to the size.

    The p95 of the unknown size is higher than that of the known size.
    """
    usual, grown = (expect(QUIET_RUNS, work, None, NOW) for work in (10**9, 3 * 10**9))

    assert grown.expected_ms == pytest.approx(3 * usual.expected_ms, rel=0.01)
    assert grown.expected_p95_ms > 3.5 * usual.expected_ms


def test_slope_is_fitted_to_varying_sizes():
    """With varying sizes, half the input is expected to take half the time."""
    expectation = expect(GROWING_RUNS, 5 * 10**7, 5 * 10**4, NOW)

    assert expectation.expected_ms == pytest.approx(5_000, rel=0.02)
    assert expectation.work_known


def test_size_below_the_range_keeps_the_p95():
    """For a size below the learned range, the p95 is that of the smallest learned size, because overhead may dominate.

    A running stage is compared with runs of the usual size.
    """
    least = expect(GROWING_RUNS, 10**7, 10**4, NOW)
    usual = expect(GROWING_RUNS, 10**8, 10**5, NOW)
    none = expect(GROWING_RUNS, 1, 1, NOW)

    assert none.expected_ms == pytest.approx(least.expected_ms / 4, rel=0.01)
    assert none.expected_p95_ms == least.expected_p95_ms
    assert none.expected_cpu_p95_ms == pytest.approx(least.expected_cpu_p95_ms / 2, abs=501)
    assert expect(GROWING_RUNS, 1, 1, NOW, running=True).expected_ms == pytest.approx(usual.expected_ms, rel=0.1)


@pytest.mark.parametrize("times", [10, 1_000, 10**9], ids=lambda times: f"{times} times the work")
def test_size_far_outside_the_range_has_a_wide_p95(times):
    """For work far above the learned sizes, the expectation is only four times the usual duration.

    The p95 is so high that a duration in proportion to the work is not slow.
    """
    usual, far = (expect(QUIET_RUNS, work, None, NOW) for work in (10**9, times * 10**9))
    tiny = expect(QUIET_RUNS, 10**9 // times, None, NOW)

    assert far.expected_ms == pytest.approx(4 * usual.expected_ms, rel=0.01)
    assert far.expected_p95_ms > times * usual.expected_ms
    assert tiny.expected_ms == pytest.approx(usual.expected_ms / 4, rel=0.01)
    assert tiny.expected_p95_ms == usual.expected_p95_ms


@pytest.mark.parametrize("fixed, moves", [(1.0, "cpu"), (0.7, "none"), (0.0, "none")])
def test_same_cpu_for_a_third_of_the_work_is_abnormal(fixed, moves):
    """If a run needs the usual CPU time for a third of the usual work, its CPU time is abnormal.

    The model assumes that at least half of the CPU time is proportional to the work; wall time has no such minimum.
    """
    third = expect(QUIET_RUNS, 10**9 // 3, 10**6 // 3, NOW)
    cpu_ms = round(30_000 * (fixed + (1 - fixed) / 3))

    assert moved(third, 60_000, cpu_ms) == moves


def test_same_cpu_for_two_thirds_of_the_work_is_normal():
    """If CPU time does not depend on the input, the usual CPU time is normal for two thirds of the work.

    CPU time that does not depend on the input exceeds the p95 only if the work is far below the learned sizes.
    """
    assert moved(expect(QUIET_RUNS, 2 * 10**9 // 3, 2 * 10**6 // 3, NOW), 60_000, 30_000) == "none"


@pytest.mark.parametrize("work, wall_ms", [(10**10, 61_000), (10**8, 7_000)], ids=["all overhead", "all work"])
def test_other_sizes_are_no_new_level(work, wall_ms):
    """Runs of a week with small inputs are not abnormal, and do not replace the samples of the usual size."""
    memory = learned([*QUIET_RUNS, *(run(100 + n, wall_ms, 30_000, work, work // 1_000) for n in range(4))])

    assert not any(sample.abnormal for sample in memory)
    assert expect(memory, 10**9, 10**6, NOW).expected_ms == pytest.approx(60_000, rel=0.2)


def test_unknown_work_doubles_the_p95():
    """If the work is unknown, the p95 is twice as high, and work_known is false."""
    known, unknown = expect(QUIET_RUNS, 10**9, 10**6, NOW), expect(QUIET_RUNS, None, 0, NOW)

    assert (known.work_known, unknown.work_known) == (True, False)
    assert (known.work_measure, unknown.work_measure) == ("bytes", "none")
    assert unknown.expected_p95_ms == pytest.approx(2 * known.expected_p95_ms, abs=2)


def test_records_measure_work_without_bytes():
    """If a source such as range or JDBC reports only records, the records measure the work."""
    records_only = tuple(replace(sample, work_bytes=0) for sample in GROWING_RUNS)
    expectation = expect(records_only, 0, 5 * 10**4, NOW)

    assert expectation.expected_ms == pytest.approx(5_000, rel=0.02)
    assert expectation.work_measure == "records"


def test_one_growing_measure_is_limited_by_the_others():
    """If only one measure of work grows, the others limit the expectation.

    For example, after the eviction of a cache the records grow from a hundred batches to a million rows, while the
    bytes stay equal.
    """
    cached = [run(n, work_bytes=10**8 + n, work_records=100) for n in range(20)]
    whole = expect(cached, 10**8, 100, NOW)
    lost = expect(cached, 10**8, 10**6, NOW)
    grown = expect(cached, 10**10, 10**4, NOW)

    assert whole is not None
    assert lost is not None
    assert grown is not None
    assert 10 * whole.expected_p95_ms < lost.expected_p95_ms < 20 * whole.expected_p95_ms
    assert grown.expected_p95_ms > 100 * whole.expected_p95_ms


def test_unknown_measure_does_not_limit_the_others():
    """Operator rows are known only at the end of a stage.

    Until then, bytes and records alone determine the expectation.
    """
    known = [replace(run(n, 600_000, 600_000, 10**9, 10**7), operator_rows=10**4) for n in range(20)]
    running = expect(known, 30 * 10**9, 30 * 10**7, NOW, running=True)
    ended = expect(known, 30 * 10**9, 30 * 10**7, NOW, operator_rows=30 * 10**4)

    assert running is not None
    assert ended is not None
    assert running.expected_p95_ms >= ended.expected_p95_ms > 30 * 600_000


def test_operator_rows_measure_work_without_input():
    """If a source reports neither bytes nor records, three times the operator rows may take three times as long."""
    made = tuple(replace(sample, work_bytes=0, work_records=0, operator_rows=10**9) for sample in QUIET_RUNS)
    usual, grown = (expect(made, 0, 0, NOW, operator_rows=rows) for rows in (10**9, 3 * 10**9))

    assert (usual.work_measure, usual.work_known) == ("rows", True)
    assert moved(grown, 180_000, 90_000) == "none"
    assert moved(usual, 180_000, 90_000) == "both"


def test_running_stage_without_input_has_unknown_work():
    """The work of a running stage without input is unknown, so its p95 is doubled.

    The stage may be processing three times the usual rows.
    """
    made = tuple(replace(sample, work_bytes=0, work_records=0, operator_rows=10**9) for sample in QUIET_RUNS)
    running, ended = (expect(made, 0, 0, NOW, running, rows) for running, rows in ((True, None), (False, 10**9)))

    assert (running.work_known, running.work_measure) == (False, "none")
    assert running.expected_ms == ended.expected_ms
    assert running.expected_p95_ms == pytest.approx(2 * ended.expected_p95_ms, abs=2)


def test_application_work_includes_operator_rows():
    """The work of an application includes operator rows.

    For example, a count over generated rows shuffles equally few records for any number of rows.
    """
    counted = tuple(replace(each, work_bytes=900, work_records=10, operator_rows=10**9) for each in QUIET_RUNS)
    usual, grown = (expect(counted, 900, 10, NOW, operator_rows=rows) for rows in (10**9, 3 * 10**9))

    assert grown.work_measure == "rows"
    assert grown.expected_ms == pytest.approx(3 * usual.expected_ms, rel=0.01)
    assert not expect(counted, 900, 10, NOW, running=True).work_known


def test_few_operator_rows_keep_running_work_known():
    """A small literal table does not make the work of a running application unknown."""
    read = tuple(replace(each, operator_rows=3) for each in QUIET_RUNS)

    assert expect(read, 10**9, 10**6, NOW, running=True).work_known


@pytest.mark.parametrize(("count", "measure"), [(4, "none"), (5, "rows")])
def test_measure_is_used_from_five_runs_on(count, measure):
    """A measure of work (bytes, records or rows) is used if at least five runs have a value of this measure."""
    without_input = tuple(replace(each, work_bytes=0, work_records=0) for each in QUIET_RUNS)
    some = (*without_input[count:], *(replace(each, operator_rows=10**9) for each in without_input[:count]))

    assert expect(some, 0, 0, NOW, operator_rows=10**9).work_measure == measure


def test_one_run_without_input_keeps_the_measure():
    """One run without input among twenty runs does not make the measure of work unusable."""
    empty = replace(run(99, wall_ms=2_000, cpu_ms=10), work_bytes=0, work_records=0)

    assert expect((*QUIET_RUNS, empty), 10**9, 10**6, NOW).work_known


@given(histories, works, st.data())
def test_samples_without_cpu_or_work_are_accepted(history, work, data):
    """Whatever values the samples lack, there is an expectation, and the p95 is not below the expectation."""
    lacking = st.sets(st.sampled_from(["cpu_ms", "work_bytes", "work_records"]))
    some = tuple(replace(each, **dict.fromkeys(data.draw(lacking))) for each in history)
    expectation = expect(some, work, work, NOW)

    assert 0 < expectation.expected_ms <= expectation.expected_p95_ms
    working = [each for each in some if each.work.sizes()]
    used = working if len(working) >= 5 else some
    assert (expectation.expected_cpu_ms is None) == (2 * sum(each.cpu_ms is not None for each in used) <= len(used))


def test_few_runs_give_a_higher_p95():
    """For equally scattered durations, the p95 of five runs is higher than the p95 of fifty runs."""
    few, many = (expect(tuple(run(n) for n in range(count)), 10**9, 10**6, NOW) for count in (5, 50))

    assert few.expected_p95_ms > many.expected_p95_ms > 60_000


@given(histories, works, works, st.booleans())
def test_expectation_rises_with_operator_rows(history, one, other, running):
    """For any history without input, more operator rows never lower the expectation."""
    less, more = sorted((one, other))
    made = tuple(replace(each, work_bytes=None, work_records=None, operator_rows=each.work_records) for each in history)
    small, big = (expect(made, None, None, NOW, running, rows) for rows in (less, more))

    assert small.expected_ms <= big.expected_ms
    assert small.expected_p95_ms <= big.expected_p95_ms


@given(histories, works, works, st.booleans())
def test_expectation_rises_with_work(history, one, other, running):
    """For any history, more bytes or records never lower the expectation."""
    less, more = sorted((one, other))
    small, big = (expect(history, work, work, NOW, running) for work in (less, more))

    assert small.expected_ms <= big.expected_ms
    assert small.expected_p95_ms <= big.expected_p95_ms
    assert small.expected_cpu_ms <= big.expected_cpu_ms


@given(histories, works, st.randoms())
def test_order_of_samples_does_not_matter(history, work, random):
    """Any order of the samples gives the same expectation."""
    assert expect(random.sample(history, len(history)), work, work, NOW) == expect(history, work, work, NOW)


@given(histories, works, st.integers(min_value=2, max_value=50))
def test_expectation_scales_with_durations(history, work, factor):
    """If all durations double, the expectation doubles."""
    slower = tuple(replace(s, wall_ms=s.wall_ms * factor, cpu_ms=s.cpu_ms * factor) for s in history)
    here, there = expect(history, work, work, NOW), expect(slower, work, work, NOW)

    assert math.isclose(there.expected_ms, min(here.expected_ms * factor, MAX_MS), rel_tol=0.001, abs_tol=factor + 1)


@given(histories, works, works)
def test_expectation_outside_the_range_is_limited(history, one, other):
    """The expectation for any size stays within limits that depend on the learned sizes.

    The expectation is at least a quarter of that for the smallest size, and at most sixteen times that for the largest
    size.
    """
    sizes = [sample.work_bytes for sample in history]
    only_bytes = tuple(replace(sample, work_records=None) for sample in history)
    least, greatest = (expect(only_bytes, size, None, NOW) for size in (min(sizes), max(sizes)))
    found = expect(only_bytes, max(one, other) * 10**6, None, NOW)
    none = expect(only_bytes, 1, None, NOW)

    assert found.expected_ms <= 16 * greatest.expected_ms + 16
    assert 4 * none.expected_ms >= least.expected_ms - 4
    assert none.expected_p95_ms == least.expected_p95_ms


@given(histories, works, st.integers(min_value=2, max_value=50))
def test_expectation_does_not_depend_on_the_unit(history, work, factor):
    """The expectation does not depend on whether work is given in kilobytes or in bytes."""
    scaled = tuple(replace(s, work_bytes=s.work_bytes * factor, work_records=s.work_records * factor) for s in history)
    here, there = expect(history, work, work, NOW), expect(scaled, work * factor, work * factor, NOW)

    assert math.isclose(there.expected_ms, here.expected_ms, rel_tol=1e-6, abs_tol=1)
    assert math.isclose(there.expected_p95_ms, here.expected_p95_ms, rel_tol=1e-6, abs_tol=1)


@given(histories, works)
def test_p95_is_above_the_expectation(history, work):
    """For any history, the expectation is above 0 and the p95 is at least the expectation."""
    expectation = expect(history, work, work, NOW)

    assert 0 < expectation.expected_ms <= expectation.expected_p95_ms
    assert 0 < expectation.expected_cpu_ms <= expectation.expected_cpu_p95_ms


@given(st.lists(st.integers(min_value=55_000, max_value=65_000), min_size=12, max_size=30), st.data())
def test_thirty_percent_outliers_do_not_matter(good, data):
    """If a quarter of the runs hung or were aborted, the expectation stays within the range of the good runs.

    The newest runs are good: three newest runs that agree would be a new level.
    """
    count = len(good) // 4
    wild = data.draw(st.lists(st.integers(min_value=1, max_value=10**9), min_size=count, max_size=count))
    older = data.draw(st.permutations([*good[: len(good) - 9], *wild]))
    history = [*older, *good[len(good) - 9 :]]
    expectation = expect(tuple(run(n, wall) for n, wall in enumerate(history)), 10**9, 10**6, NOW)

    assert 55_000 <= expectation.expected_ms <= 65_001


def test_abnormal_run_changes_nothing():
    """One hung run changes neither the expectation nor the p95."""
    memory = learned(QUIET_RUNS)
    after = learn(memory, run(99, wall_ms=3_600_000))

    assert after[-1].abnormal
    assert expect(after, 10**9, 10**6, NOW) == expect(memory, 10**9, 10**6, NOW)


@pytest.mark.parametrize(("wall_ms", "runs"), [(240_000, 3), (12_000, 5)], ids=["slower", "faster"])
def test_consistent_runs_are_a_new_level(wall_ms, runs):
    """A lasting change of the duration is accepted after three longer or five shorter runs."""
    memory, steps = learned(QUIET_RUNS), []
    for number in range(runs):
        before, memory = memory, learn(memory, run(100 + number, wall_ms + number, wall_ms // 2))
        steps.append(level_changed(before, memory))

    assert steps == [*[False] * (runs - 1), True]
    assert expect(memory, 10**9, 10**6, NOW).expected_ms == pytest.approx(wall_ms, rel=0.02)


@pytest.mark.parametrize("empty", [0, 60], ids=["after full runs", "before them"])
def test_runs_without_work_change_nothing(empty):
    """Runs without work do not change the expectation of runs with work, whichever come first."""
    nothing = [run(n, 1_500, 20, 0, 0) for n in range(60)]
    full = [replace(each, learned_ms=100 + each.learned_ms) for each in QUIET_RUNS]
    memory = learned([*nothing[:empty], *full, *(replace(each, learned_ms=200) for each in nothing[empty:])])

    assert expect(memory, 10**9, 10**6, NOW) == expect(learned(full), 10**9, 10**6, NOW)


def test_run_with_work_is_not_compared_with_empty_runs():
    """If no earlier run had any work, a run with work has no comparable run."""
    nothing = tuple(run(n, 1_500, 20, 0, 0) for n in range(10))

    assert expect(nothing, 0, 0, NOW).runs == 10
    assert expect(nothing, 10**9, 10**6, NOW).runs == 0


def test_expectation_follows_a_drift():
    """If each run takes 2 % longer, the expected duration is at most a quarter behind, and the p95 does not inflate."""
    memory = learned(run(n, round(60_000 * 1.02**n), round(30_000 * 1.02**n)) for n in range(60))
    expectation = expect(memory, 10**9, 10**6, NOW)

    assert 0.8 < expectation.expected_ms / (60_000 * 1.02**60) <= 1
    assert expectation.expected_p95_ms < 1.4 * expectation.expected_ms


def test_three_inconsistent_runs_are_no_new_level():
    """Three runs in a row with different problems do not change the expected duration."""
    memory = learned(QUIET_RUNS)
    for number, wall_ms in ((100, 300_000), (101, 2_000_000), (102, 9_000_000)):
        memory = learn(memory, run(number, wall_ms=wall_ms))

    assert expect(memory, 10**9, 10**6, NOW) == expect(learned(QUIET_RUNS), 10**9, 10**6, NOW)


def test_learning_is_idempotent():
    """Learning the same sample again, as after a restart, changes nothing."""
    memory = learned(QUIET_RUNS)

    assert learn(memory, QUIET_RUNS[3]) == memory


def test_samples_are_bounded_per_run_and_in_all():
    """The number of samples per run is limited, so a loop of a hundred equal stages leaves room for other runs."""
    loop = [replace(run(1_000 + n), run_key="loop") for n in range(100)]
    memory = learned([*QUIET_RUNS, *loop, *(run(2_000 + n) for n in range(60))])

    assert len(memory) == 50
    assert len(learned([*QUIET_RUNS, *loop])) == 25


@pytest.mark.parametrize(
    ("elapsed_ms", "cpu_ms", "expected"),
    [(60_000, 30_000, "none"), (600_000, 30_000, "wall"), (60_000, 300_000, "cpu"), (600_000, 300_000, "both"),
     (None, None, "none"), (600_000, None, "wall")],
)  # fmt: skip
def test_moved_names_wall_cpu_both_or_none(elapsed_ms, cpu_ms, expected):
    """The column `moved` names which of wall time and CPU time is above its p95: one, both or none.

    An unknown value is never above its p95.
    """
    assert moved(expect(QUIET_RUNS, 10**9, 10**6, NOW), elapsed_ms, cpu_ms) == expected


def test_fit_and_expect_agree():
    """A fit that is evaluated several times gives the same numbers as a single call of `expect`."""
    assert fit(GROWING_RUNS, NOW).at(Work(10**8, 10**5)) == expect(GROWING_RUNS, 10**8, 10**5, NOW)


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 6.314), (2, 2.920), (3, 2.353), (4, 2.132), (10, 1.812), (30, 1.697), (1000, 1.646)]
)
def test_student_t_matches_published_tables(degrees, expected):
    """The computed 95 % quantiles of Student's t differ from the published ones by less than 2 %."""
    assert student_t_95(degrees) == pytest.approx(expected, rel=0.02)


@given(st.integers(min_value=1, max_value=500))
def test_more_samples_never_raise_the_factor(samples):
    """More learned runs never raise the factor by which the spread is multiplied for the p95."""
    assert prediction_factor(samples + 1, 1) <= prediction_factor(samples, 1)


def test_theil_sen_and_median_resist_outliers():
    """Two outliers among eight points do not change the slope. The median of an empty list raises ValueError."""
    points = [(float(x), 2.0 * x) for x in range(8)]
    points[0], points[7] = (0.0, 500.0), (7.0, -900.0)

    assert theil_sen_slope(points) == pytest.approx(2.0, abs=0.5)
    with pytest.raises(ValueError, match="empty list"):
        median([])


@given(histories, works, works, st.booleans())
def test_usual_work_has_the_lowest_p95_of_a_running_stage(samples, work_bytes, work_records, operators):
    """No amount of work lowers the p95 of a running stage below that of its usual work.

    Detection relies on this when it drops rows of running stages before their work is considered.
    """
    if operators:
        samples = tuple(replace(sample, work_bytes=None, operator_rows=sample.work_records) for sample in samples)
    fitted = fit(samples, NOW)
    assume(fitted is not None)
    least, found = fitted.at_usual(), fitted.at(Work(work_bytes, work_records), running=True)

    assert found.expected_p95_ms >= least.expected_p95_ms
    assert found.expected_cpu_p95_ms >= least.expected_cpu_p95_ms
