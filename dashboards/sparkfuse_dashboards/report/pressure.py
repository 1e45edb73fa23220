"""Selects the stages with memory pressure: stages that spilled to disk, and stages with a lot of garbage collection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_PRESSURE_STAGES
from sparkfuse_dashboards.report.stages import Stage, gc_share, key, label, stage_name
from sparkfuse_dashboards.report.text import number, share, size, span

_LEAST_GC_MS = 100
"""If garbage collection took less than this time in ms, its share of the run time is not meaningful."""


def pressure(stages: Sequence[Stage]) -> dict[str, Any]:
    """Return bars and table rows of the stages with the most spill or the largest share of garbage collection."""
    spilled = [each for each in stages if (number(each.get("disk_spilled_bytes")) or 0) > 0]
    spilled.sort(key=lambda each: (-(number(each.get("disk_spilled_bytes")) or 0), key(each)))
    collected = [each for each in stages if (number(each.get("gc_ms")) or 0) >= _LEAST_GC_MS and gc_share(each)]
    collected.sort(key=lambda each: (-(gc_share(each) or 0), key(each)))
    return {
        "spill_bars": [
            _bar(each, number(each.get("disk_spilled_bytes")) or 0, _spilled(each)) for each in _few(spilled)
        ],
        "spill_rows": [
            (label(each), stage_name(each), size(each.get("disk_spilled_bytes")),
             size(each.get("memory_spilled_bytes")))
            for each in _few(spilled)
        ],
        "gc_bars": [_bar(each, gc_share(each) or 0, _collected(each)) for each in _few(collected)],
        "gc_rows": [
            (label(each), stage_name(each), share(each.get("gc_ms"), each.get("run_ms")),
             span(each.get("gc_ms")))
            for each in _few(collected)
        ],
        "spill_left_out": max(len(spilled) - MAX_PRESSURE_STAGES, 0),
        "gc_left_out": max(len(collected) - MAX_PRESSURE_STAGES, 0),
    }  # fmt: skip


def _few(stages: list[Stage]) -> list[Stage]:
    return stages[:MAX_PRESSURE_STAGES]


def _bar(stage: Stage, value: float, tip: str) -> dict[str, Any]:
    return {"name": label(stage), "value": value, "tip": f"{label(stage)}: {tip}"}


def _spilled(stage: Stage) -> str:
    return f"{size(stage.get('disk_spilled_bytes'))} to disk, {size(stage.get('memory_spilled_bytes'))} in memory"


def _collected(stage: Stage) -> str:
    return f"{span(stage.get('gc_ms'))} of {span(stage.get('run_ms'))}"
