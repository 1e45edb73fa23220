"""Tests the prefilters of detection: dropping rows changes no finding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import Catalog, load_catalog
from sparkfuse_rules.knowledge.hosts import MIN_LOST_MS, MIN_LOST_SHARE, MIN_STALLED_MS, problem_of_stage
from sparkfuse_stream_jobs.detect import prefilter
from sparkfuse_stream_jobs.detect.row_columns import Columns
from tests.unit.stream_jobs.detect_rows import Run
from tests.unit.stream_jobs.test_stream_jobs_detect_stage_bounds import evaluated
from tests.unit.stream_jobs.tracked_run import HOLDS, QUIET, T, Times, TrackedRun, W


def catalog_of(*rules):
    return Catalog({rule.id: rule for rule in rules})


SILENT = load_catalog()["executor_silent"]
STUCK = load_catalog()["task_stuck"]
SLOW = load_catalog()["stage_slow"]


def test_variants_of_a_rule_for_some_jobs_are_evaluated():
    """The prefilter also evaluates thresholds that are lower for some jobs, because it does not know a row's job."""
    lower = SILENT.with_params({"min_silent_ms": 7_000})
    predicate = prefilter.may_match_sql(catalog_of(replace(SILENT, variants=(("etl_*", lower),))), "executor_live")

    assert "`silent_ms` AS DOUBLE) >= 60000E0" in predicate
    assert "`silent_ms` AS DOUBLE) >= 7000E0" in predicate


def test_disabled_rule_is_evaluated_only_for_its_variants():
    """The prefilter evaluates a disabled rule only if the rule is enabled for some jobs."""
    off = replace(SILENT, enabled=False)

    assert prefilter.may_match_sql(catalog_of(off), "executor_live") == "FALSE"
    assert "silent_ms" in prefilter.may_match_sql(
        catalog_of(replace(off, variants=(("etl_*", SILENT),))), "executor_live"
    )
    assert "silent_ms" not in prefilter.may_match_sql(
        catalog_of(replace(off, variants=(("etl_*", None),))), "executor_live"
    )


def test_rule_on_a_column_of_detection_passes_all_rows():
    """If a rule uses a column that is added after the prefilter, such as the stage name, all rows pass."""
    named = replace(STUCK, when="stage_name LIKE 'save%'", severity={"warning": "true"}, params={})

    assert prefilter.may_match_sql(catalog_of(STUCK, named), "task_live") == "TRUE"


def test_rows_about_hosts_pass_without_a_rule():
    """A row about a host problem, such as a task stuck in storage, passes even if no rule on tasks matches."""
    predicate = prefilter.may_match_sql(catalog_of(), "task_live")

    assert predicate == f"(`task`.`stalled_ms` >= {MIN_STALLED_MS})"


SLOW_TASK = {"slowest_task_lost_ms": MIN_LOST_MS, "slowest_task_lost_share": MIN_LOST_SHARE, "succeeded_tasks": 3,
             "slowest_task_host": "h1", "slowest_task_bytes_ratio": 1.9}  # fmt: skip


@pytest.mark.parametrize(
    "changed",
    [
        {}, {"slowest_task_bytes_ratio": None}, {"slowest_task_bytes_ratio": 0.0}, {"slowest_task_bytes_ratio": 2.0},
        {"slowest_task_lost_ms": MIN_LOST_MS - 1}, {"slowest_task_lost_ms": None}, {"slowest_task_lost_share": 0.249},
        {"slowest_task_lost_share": None}, {"succeeded_tasks": 2}, {"succeeded_tasks": None},
        {"slowest_task_host": ""}, {"slowest_task_host": None},
    ],
    ids=lambda changed: " ".join(f"{name}={value}" for name, value in changed.items()) or "at the limits",
)  # fmt: skip
def test_stage_passes_for_its_host_only_if_it_reports_one(changed):
    """Without a rule, the JVM passes exactly the rows of stages in which Python finds a problem of a host."""
    columns = SLOW_TASK | changed
    row = Run("app-1", T).stage(T, 60_000, **{name: value for name, value in columns.items() if value is not None})
    for name in [name for name, value in columns.items() if value is None]:
        row.stage.ClearField(name)
    predicate = prefilter.may_match_sql(catalog_of(), "stage_live").replace("`stage`.", "").replace("`", '"')
    [found] = evaluated([row], {"passes": f"COALESCE({predicate}, FALSE)"})

    assert found["passes"] == (problem_of_stage(Columns(row.stage)) is not None)


def test_rows_of_tasks_executors_and_stages_are_filtered():
    """Rows of tasks, executors and stages are filtered; all other rows pass, because Python needs them."""
    sql = prefilter.decoded_sql(load_catalog(), W)
    rows = {view_specs()[view].row for view in prefilter.FILTERED}

    assert rows == {"task", "executor", "stage"}
    assert "ELSE TRUE END, FALSE) AS `holds`" in sql
    assert sql.count(" THEN ") >= 2 * len(rows)


def test_stage_above_its_p95_is_left_to_its_bounds():
    """A rule that needs ``moved`` matches no row within the bounds of the stage, so the predicate need not hold."""
    assert prefilter.may_match_sql(catalog_of(SLOW), "stage_live").startswith("(`stage`.`slowest_task_lost_ms` >= ")


def test_condition_on_another_column_of_detection_counts_as_true():
    """A rule that compares with an expected value, and does not need ``moved``, may match each row."""
    rule = replace(SLOW, when="elapsed_ms > 1000 AND elapsed_ms > expected_ms", params={})

    assert "(CAST(`stage`.`elapsed_ms` AS DOUBLE) > 1000E0)" in prefilter.may_match_sql(catalog_of(rule), "stage_live")


def test_linger_covers_keep_firing_for_and_three_windows():
    """Rows pass the filter for at least keep_firing_for plus three windows after a rule last matched.

    By the end of this time, a timer of the lifecycle has removed a subject without rows.
    """
    long = replace(SILENT, id="long", keep_firing_ms=600_000)

    assert prefilter.linger_ms(catalog_of(SILENT, long), "executor_live", W) == 600_000 + 3 * W
    assert prefilter.linger_ms(catalog_of(), "executor_live", W) == 3 * W
    assert prefilter.linger_ms(catalog_of(), "task_live", W) == 3 * W + 30_000, "a moving task has rare rows"


@dataclass
class Linger:
    """Does the same as io.sparkfuse.detect.LingerFilter for one subject."""

    linger_ms: int
    until_ms: int | None = field(default=None)

    def passes(self, holds: bool, at_ms: int) -> bool:
        if holds:
            self.until_ms = max(self.until_ms or 0, at_ms + self.linger_ms)
            return True
        if self.until_ms is None or at_ms > self.until_ms:
            self.until_ms = None
            return False
        return True


windows = st.lists(st.sampled_from(["true", "false", "no row"]), min_size=1, max_size=40)
times = st.builds(
    Times, for_ms=st.sampled_from([0, W, 2 * W, 20_000]), keep_firing_ms=st.sampled_from([0, W, 15_000, 60_000])
)


@given(windows, times)
def test_findings_are_the_same_with_the_prefilter(story, rule):
    """Rules become pending, fire and resolve in the same windows with the filter and without it."""
    all_rows, filtered = TrackedRun(rule), TrackedRun(rule)
    linger = Linger(rule.keep_firing_ms + 3 * W)
    for window, condition in enumerate(story, 1):
        if condition != "no row":
            found = HOLDS if condition == "true" else QUIET
            all_rows.task(window, found)
            if linger.passes(condition == "true", T + window * W):
                filtered.task(window, found)
    for tracked in (all_rows, filtered):
        tracked.idle_until(len(story) + 50)

    assert filtered.emitted == all_rows.emitted


@pytest.mark.parametrize("rule", [Times(keep_firing_ms=15_000)])
def test_shorter_linger_would_delay_the_resolution(rule):
    """If the prefilter drops rows too soon after the last match, the finding resolves late.

    This shows that the comparison of findings with and without the filter can fail.
    """
    all_rows, filtered = TrackedRun(rule), TrackedRun(rule)
    for window, found in enumerate([HOLDS, *[QUIET] * 8], 1):
        all_rows.task(window, found)
        if found or window == 2:
            filtered.task(window, found)
    for tracked in (all_rows, filtered):
        tracked.idle_until(60)
    resolved = [tracked.emitted[-1][0] for tracked in (all_rows, filtered)]

    assert all(before < after for before, after in pairwise(resolved))
