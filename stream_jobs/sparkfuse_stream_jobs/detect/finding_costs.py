"""Adds to an application's row its cost so far, and to a finding's run the cost that stopping it now would avoid."""

from __future__ import annotations

from sparkfuse_contracts.generated.finding_pb2 import FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.money import cost, cost_avoided
from sparkfuse_rules.prices import Prices

_MS, _MIB = 1000, 1024
_RUNNING = "running"


def cost_until(row: LiveRow, prices: Prices | None) -> float | None:
    """Return the application's cost up to the time of the row; None if its allocation or the prices are unknown."""
    memory_known = row.HasField("allocated_memory_mib_ms")
    gib_seconds = row.allocated_memory_mib_ms / _MIB / _MS if memory_known else None
    core_seconds = row.allocated_core_ms / _MS if row.HasField("allocated_core_ms") else None
    return cost(core_seconds, gib_seconds, prices)


def fill_application_cost(row: LiveRow, prices: Prices | None) -> LiveRow:
    """Add the cost so far to the row of an application, and return the row. An unknown cost stays absent.

    If the row has a longer level, the cost of the time that it loses in a month is added too: at the average cost per
    time of this run.
    """
    if prices is not None and (so_far := cost_until(row, prices)) is not None:
        application = row.application
        application.cost, application.currency = so_far, prices.currency
        if application.HasField("level_lost_month_ms") and application.elapsed_ms > 0:
            application.level_lost_month_cost = so_far * application.level_lost_month_ms / application.elapsed_ms
    return row


def fill_costs(run: FindingRun, row: LiveRow, prices: Prices) -> bool:
    """Add the costs to the run, and return whether they are known. Unknown costs stay absent and are never 0."""
    so_far = cost_until(row, prices)
    if so_far is None:
        return False
    run.cost = so_far
    if (rest := cost_avoided(so_far, row.window_end_ms - row.app_start_ms, remaining_ms(row))) is not None:
        run.cost_avoidable = rest
    return True


def remaining_ms(row: LiveRow) -> int | None:
    """Return the time until the usual end of the stage or application, or else until the deadline; None if unknown.

    An application has a forecast. A stage has a projection from its progress, or the expected duration of earlier runs.
    A finding about anything else uses the deadline only, and an ended application has no remaining time.
    """
    candidates: list[int | None] = []
    if row.HasField("application"):
        if row.application.status != _RUNNING:
            return None
        candidates = [_known(row.application, "remaining_ms"), _known(row.application, "deadline_left_ms")]
    elif row.HasField("stage") and row.stage.status == _RUNNING and row.stage.HasField("elapsed_ms"):
        ends = (_known(row.stage, name) for name in ("projected_ms", "expected_ms"))
        candidates = [None if end is None else end - row.stage.elapsed_ms for end in ends]
    if row.HasField("run_deadline_ms"):
        candidates.append(row.run_deadline_ms - row.window_end_ms)
    return next((each for each in candidates if each is not None and each > 0), None)


def _known(columns: object, name: str) -> int | None:
    return getattr(columns, name) if columns.HasField(name) else None  # type: ignore[attr-defined]  # a message
