"""The gates of detect: rows that they hold back change no finding."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import Catalog, load_catalog
from sparkfuse_rules.knowledge.hosts import MIN_STALLED_MS
from sparkfuse_stream_jobs.detect import prefilter
from tests.unit.stream_jobs.test_stream_jobs_detect_lifecycle import HOLDS, QUIET, T, Times, W, Watched


def catalog_of(*rules):
    return Catalog({rule.id: rule for rule in rules})


SILENT = load_catalog()["executor_silent"]
STUCK = load_catalog()["task_stuck"]


def test_a_row_may_hold_for_any_job_that_a_rule_is_set_for():
    """A threshold that is lower for some jobs is asked too: whose job it is, the row says only behind the gate."""
    lower = SILENT.with_params({"min_silent_ms": 7_000})
    asked = prefilter.may_match_sql(catalog_of(replace(SILENT, variants=(("etl_*", lower),))), "executor_live")

    assert "`silent_ms` AS DOUBLE) >= 60000E0" in asked
    assert "`silent_ms` AS DOUBLE) >= 7000E0" in asked


def test_a_rule_that_is_off_is_asked_only_where_it_is_on():
    """Off for all but some jobs: those jobs' rows pass; off for all: no row passes for it."""
    off = replace(SILENT, enabled=False)

    assert prefilter.may_match_sql(catalog_of(off), "executor_live") == "FALSE"
    assert "silent_ms" in prefilter.may_match_sql(
        catalog_of(replace(off, variants=(("etl_*", SILENT),))), "executor_live"
    )
    assert "silent_ms" not in prefilter.may_match_sql(
        catalog_of(replace(off, variants=(("etl_*", None),))), "executor_live"
    )


def test_a_rule_on_what_detection_adds_lets_all_rows_pass():
    """The name of the stage is not known in front of the gate: nobody may decide by its absence."""
    named = replace(STUCK, when="stage_name LIKE 'save%'", severity={"warning": "true"}, params={})

    assert prefilter.may_match_sql(catalog_of(STUCK, named), "task_live") == "TRUE"


def test_rows_that_tell_of_hosts_pass_without_a_rule():
    """A task that stands still in storage is news of its host, whoever is told of the task."""
    asked = prefilter.may_match_sql(catalog_of(), "task_live")

    assert asked == f"(`task`.`stalled_ms` >= {MIN_STALLED_MS})"


def test_only_views_that_nothing_is_remembered_of_are_filtered_before_python():
    """Stages and applications have progress, projections and lessons: each of their rows counts."""
    sql = prefilter.decoded_sql(load_catalog(), W)
    rows = {view_specs()[view].row for view in prefilter.FILTERED}

    assert rows == {"task", "executor"}
    assert "ELSE TRUE END, FALSE) AS `holds`" in sql
    assert sql.count(" THEN ") >= 2 * len(rows)


def test_a_thing_lingers_for_the_longest_that_a_rule_of_its_view_fires_on():
    """And three windows more, after which a thing without rows is gone by the lifecycle's own timer."""
    long = replace(SILENT, id="long", keep_firing_ms=600_000)

    assert prefilter.linger_ms(catalog_of(SILENT, long), "executor_live", W) == 600_000 + 3 * W
    assert prefilter.linger_ms(catalog_of(), "executor_live", W) == 3 * W


@dataclass
class Attention:
    """What io.sparkfuse.detect.LingerFilter does for one thing."""

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


windows = st.lists(st.sampled_from(["holds", "quiet", "no row"]), min_size=1, max_size=40)
times = st.builds(
    Times, for_ms=st.sampled_from([0, W, 2 * W, 20_000]), keep_firing_ms=st.sampled_from([0, W, 15_000, 60_000])
)


@given(windows, times)
def test_held_back_rows_change_nothing_that_is_said(story, rule):
    """Pending, firing, going on and resolved come at the same windows with the gate and without it."""
    all_rows, gated = Watched(rule), Watched(rule)
    attention = Attention(rule.keep_firing_ms + 3 * W)
    for window, told in enumerate(story, 1):
        if told != "no row":
            found = HOLDS if told == "holds" else QUIET
            all_rows.task(window, found)
            if attention.passes(told == "holds", T + window * W):
                gated.task(window, found)
    for watched in (all_rows, gated):
        watched.idle_until(len(story) + 50)

    assert gated.said == all_rows.said


@pytest.mark.parametrize("rule", [Times(keep_firing_ms=15_000)])
def test_a_shorter_time_behind_would_be_heard(rule):
    """The comparison is no tautology: a gate that forgets at once makes a finding resolve late."""
    all_rows, gated = Watched(rule), Watched(rule)
    for window, found in enumerate([HOLDS, *[QUIET] * 8], 1):
        all_rows.task(window, found)
        if found or window == 2:
            gated.task(window, found)
    for watched in (all_rows, gated):
        watched.idle_until(60)
    resolved = [watched.said[-1][0] for watched in (all_rows, gated)]

    assert all(before < after for before, after in pairwise(resolved))
