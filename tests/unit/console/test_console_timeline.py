"""Tests the bars of the timeline of a run."""

from __future__ import annotations

import dataclasses

import pytest

from sparkfuse_console.timeline import LABEL_WIDTH, MOST_STAGES, WIDTH, timeline
from sparkfuse_native_analytics.queries import Stage

START = 1_000_000


def stage(number: int, submitted_ms: int | None, elapsed_ms: int | None, name: str = "scan") -> Stage:
    values = dict.fromkeys(field.name for field in dataclasses.fields(Stage))
    known = {"stage_id": number, "stage_attempt": 0, "submitted_ms": submitted_ms, "elapsed_ms": elapsed_ms}
    return Stage(**{**values, **known, "name": name})


def test_bars_have_the_proportions_of_the_run() -> None:
    """The second half of a run is the right half of the axis."""
    found = timeline([(stage(1, START + 50, 50), None), (stage(0, START, 25), None)], START, START + 100)

    assert found is not None
    assert [(each.stage.stage_id, each.x, each.width) for each in found.spans] == [
        (0, LABEL_WIDTH, (WIDTH - LABEL_WIDTH) / 4),
        (1, LABEL_WIDTH + (WIDTH - LABEL_WIDTH) / 2, (WIDTH - LABEL_WIDTH) / 2),
    ]
    assert found.run_ms == 100


@pytest.mark.parametrize(("usual_ms", "share"), [(None, None), (25, 0.25), (50, None), (80, None)])
def test_expected_end_is_marked_if_it_is_exceeded(usual_ms: float | None, share: float | None) -> None:
    """A stage that took longer than expected shows where it was expected to end; others show nothing."""
    found = timeline([(stage(0, START, 50), usual_ms)], START, START + 100)

    assert found is not None
    assert found.spans[0].expected_x == (None if share is None else LABEL_WIDTH + share * (WIDTH - LABEL_WIDTH))


def test_longest_stages_are_shown() -> None:
    """If a run has more stages than fit, the shortest ones are left out and counted."""
    found = timeline([(stage(n, START + n, n), None) for n in range(1, MOST_STAGES + 4)], START, START + 100)

    assert found is not None
    assert [each.stage.stage_id for each in found.spans] == list(range(4, MOST_STAGES + 4))
    assert found.hidden == 3


@pytest.mark.parametrize("stages", [[], [stage(0, None, 5)], [stage(0, START, None)]], ids=["none", "start", "end"])
def test_no_timeline_without_times(stages: list[Stage]) -> None:
    """Without a stage whose time is known there is no timeline."""
    assert timeline([(each, None) for each in stages], START, START + 100) is None


def test_stages_outside_of_the_run_stay_in_the_drawing() -> None:
    """If the clock of a driver differs, the axis covers the stages too."""
    found = timeline([(stage(0, START - 100, 50), None), (stage(1, START + 500, 0), None)], START, START + 100)

    assert found is not None
    assert all(each.x >= LABEL_WIDTH and each.x + each.width <= WIDTH for each in found.spans)


def test_long_names_are_cut() -> None:
    """A long name does not run into the bars."""
    found = timeline([(stage(0, START, 50, "x" * 500), None)], START, START + 100)

    assert found is not None
    assert len(found.spans[0].label) <= 38
