"""Selects the most expensive stages and prepares their table rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_TABLE_STAGES, MAX_WORST_STAGES
from sparkfuse_dashboards.report.text import clean, count, number, share, size, span, whole

Stage = Mapping[str, Any]
Key = tuple[int, int]
_SEVERITIES = {"critical": 0, "warning": 1}


def worst_stages(analysis: Mapping[str, Any], limit: int = MAX_WORST_STAGES) -> list[Key]:
    """Return (stage_id, stage_attempt) of the stages whose tasks the report draws, at most ``limit`` stages.

    Stages with findings come first, ordered by severity; the most expensive of the other stages follow.
    """
    stages = {key(stage): stage for stage in analysis.get("stages") or ()}
    findings = sorted(analysis.get("findings") or (), key=lambda each: _SEVERITIES.get(each.get("severity"), 2))
    named = [key(finding) for finding in findings if number(finding.get("stage_id")) is not None]
    by_cost = [key(stage) for stage in by_costs(stages.values()) if cost_ms(stage)]
    return list(dict.fromkeys(each for each in [*named, *by_cost] if each in stages))[:limit]


def key(of: Mapping[str, Any]) -> Key:
    """Return stage id and attempt; an absent attempt counts as 0, the first attempt."""
    return whole(of.get("stage_id")), whole(of.get("stage_attempt"))


def elapsed_ms(stage: Stage) -> float | None:
    """Return the time from submission to completion in ms; None if a time is absent or they are in the wrong order."""
    submitted, completed = number(stage.get("submitted_ms")), number(stage.get("completed_ms"))
    return completed - submitted if submitted is not None and completed is not None and completed >= submitted else None


def cost_ms(stage: Stage) -> float:
    """Return the time in ms for which tasks of the stage occupied task slots.

    The result is the larger of two sums: the tasks' wall times and the tasks' run times.
    """
    wall = number((stage.get("wall_ms") or {}).get("sum"))
    return max(wall or 0, number(stage.get("run_ms")) or 0)


def by_costs(stages: Iterable[Stage]) -> list[Stage]:
    """Sort stages: the most expensive first, then the longest, then by id."""
    return sorted(stages, key=lambda each: (-cost_ms(each), -(elapsed_ms(each) or 0), key(each)))


def work_bytes(stage: Stage) -> float:
    """Return the bytes that the stage read: input plus shuffle."""
    return (number(stage.get("input_bytes")) or 0) + (number(stage.get("shuffle_read_bytes")) or 0)


def table(stages: Sequence[Stage], start_ms: float | None, limit: int = MAX_TABLE_STAGES) -> dict[str, Any]:
    """Return rows for the table of stages, the most expensive first, and the number of omitted stages.

    ``start_ms`` is the start of the timeline. Each cell is (text, number to sort by).
    """
    ordered = by_costs(stages)
    total = sum(cost_ms(each) for each in stages)
    return {"rows": [_row(each, total, start_ms) for each in ordered[:limit]], "left_out": max(len(ordered) - limit, 0)}


def label(stage: Stage) -> str:
    """Return the stage id; the attempt is added unless it is the first."""
    stage_id, attempt = key(stage)
    return f"stage {stage_id}" + (f", attempt {attempt}" if attempt else "")


def stage_name(stage: Stage) -> str:
    """Return the display name of the stage."""
    return clean(stage.get("stage_name")) or "unnamed"


def _row(stage: Stage, total_ms: float, start_ms: float | None) -> dict[str, Any]:
    wall = stage.get("wall_ms") or {}
    failed = whole(stage.get("failed"))
    submitted = number(stage.get("submitted_ms"))
    started = submitted - start_ms if submitted is not None and start_ms is not None else None
    return {
        "label": label(stage),
        "name": stage_name(stage),
        "description": clean(stage.get("job_description")) or clean(stage.get("stage_title")),
        "status": clean(stage.get("status")) or "unknown",
        "failure": clean(stage.get("failure_reason")),
        "cells": [
            (span(started), started or 0),
            (span(elapsed_ms(stage)), elapsed_ms(stage) or 0),
            (span(cost_ms(stage)), cost_ms(stage)),
            (share(cost_ms(stage), total_ms), cost_ms(stage)),
            (count(stage.get("tasks")) + (f" ({count(failed)} failed)" if failed else ""), whole(stage.get("tasks"))),
            (span(wall.get("median")), number(wall.get("median")) or 0),
            (span(wall.get("p95")), number(wall.get("p95")) or 0),
            (span(wall.get("max")), number(wall.get("max")) or 0),
            (size(work_bytes(stage)), work_bytes(stage)),
            (size(stage.get("shuffle_write_bytes")), whole(stage.get("shuffle_write_bytes"))),
            (size(stage.get("disk_spilled_bytes")), whole(stage.get("disk_spilled_bytes"))),
            (share(stage.get("gc_ms"), stage.get("run_ms")), gc_share(stage) or 0),
        ],
    }


def gc_share(stage: Stage) -> float | None:
    """Return garbage collection's share of the tasks' run time; None if no task reported its garbage collection."""
    collected, ran = number(stage.get("gc_ms")), number(stage.get("run_ms"))
    return None if collected is None or not ran else collected / ran
