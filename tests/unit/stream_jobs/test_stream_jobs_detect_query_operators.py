"""Tests the columns about operators: the detect job adds them to the row of an ended query."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow, QueryLive
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import read_application
from sparkfuse_native_analytics.offline.query_rows import query_rows
from sparkfuse_stream_jobs.detect import queries
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from tests.logs.log_facts import facts_of_log
from tests.unit.stream_jobs.detect_rows import WINDOW_MS as W
from tests.unit.stream_jobs.detect_rows import Run

LOGS = Path(__file__).parents[2] / "logs"
T = 1_795_226_400_000
FIRST, LAST = (QueryLive.DESCRIPTOR.fields_by_name[name].number for name in ("loop_join_pairs", "repeated_due"))
COLUMNS = tuple(
    field.name
    for field in QueryLive.DESCRIPTOR.fields
    if FIRST <= field.number <= LAST and not field.name.endswith("_due")
)
PLAN = (("WholeStageCodegen (1)", -1, ""), ("Scan json", 0, "in/events json"))
METRICS = ((0, 41, "duration"), (1, 42, "number of files read"), (1, 43, "size of files read"), (1, 44, "scan time"))
VALUES = {41: 700, 42: 1_500, 43: 90_000, 44: 9}


class Identified:
    """A run of a job; its rows pass through the identify step."""

    def __init__(self) -> None:
        self.run, self.state = Run("app-1", T), in_memory_run_state()
        self.pass_on(self.run.started(T), self.run.query_started(T))

    def pass_on(self, *rows: LiveRow) -> QueryLive:
        """Process the rows, and return the last one as the row of a query."""
        found = [output for row in rows for output in step(row, self.state) if isinstance(output, LiveRow)]
        return found[-1].query

    def plan(self, version: int = 0, metrics: Sequence[tuple[int, int, str]] = METRICS) -> LiveRow:
        row = self.run.query_plan(T, version=version, nodes=PLAN)
        for node, accumulator, name in metrics:
            row.sql_plan.metrics.add(node=node, accumulator_id=accumulator, name=name)
        return row


def operators(row: Any) -> dict[str, Any]:
    """Return the columns about operators that are present in a row."""
    return {name: getattr(row, name) for name in COLUMNS if row.HasField(name)}


def test_row_of_an_ended_query_describes_its_operators():
    """While a query runs it has no metrics; with the metrics, all later rows of the query have the columns."""
    found = Identified()
    running = found.pass_on(found.plan(), found.run.query(T + W))
    ended = found.pass_on(found.run.query_metrics(T + W, VALUES), found.run.query(T + W, status="succeeded"))
    later = found.pass_on(found.run.query_ended(T + W), found.run.query(T + 2 * W, status="succeeded"))

    assert operators(running) == {}
    assert operators(ended) == {
        "scanned_files": 1_500,
        "scanned_file_bytes": 90_000,
        "scanned_table": "in/events json",
        "scan_task_ms": 700,
    }
    assert operators(later) == operators(ended)


def test_operators_are_those_of_the_newest_plan():
    """Adaptive execution replaces operators, so metrics of an older plan do not count."""
    found = Identified()
    found.pass_on(found.plan(), found.plan(version=1, metrics=((1, 52, "number of files read"),)))
    row = found.pass_on(found.run.query_metrics(T + W, VALUES), found.run.query(T + W, status="succeeded"))

    assert operators(row) == {}


@pytest.mark.parametrize("lost", ["plan", "start", "metrics"])
def test_query_with_lost_facts_has_no_columns(lost: str):
    """Without its plan, its start or its metrics, the row of a query is passed on without columns about operators."""
    found = Identified()
    query = 6 if lost == "start" else 5
    if lost != "plan":
        found.pass_on(found.plan())
    values = {} if lost == "metrics" else VALUES
    row = found.pass_on(
        found.run.query_metrics(T + W, values, query), found.run.query(T + W, query, status="succeeded")
    )

    assert operators(row) == {}


def test_damaged_plan_does_not_stop_the_rows(monkeypatch: pytest.MonkeyPatch):
    """If the columns cannot be computed, the row of the query is passed on without them."""

    def fail(*_: object) -> None:
        raise ValueError("damaged")

    monkeypatch.setattr(queries, "operator_columns", fail)
    found = Identified()
    row = found.pass_on(found.plan(), found.run.query_metrics(T, VALUES), found.run.query(T + W, status="succeeded"))

    assert (row.status, operators(row)) == ("succeeded", {})


@pytest.mark.parametrize(
    "path", ["detection/plans.zstd", "detection/plans-data.zstd", "detection/cross-join.zstd",
             "queries/spark35.zstd", "queries/spark4.zstd",
             "queries/reports-spark33.zstd", "queries/reports-spark40.zstd"],
)  # fmt: skip
def test_live_columns_equal_those_of_the_event_log(path: str):
    """The facts of a real run give the same columns as its event log."""
    (log,) = find_logs(str(LOGS / path)).logs
    rows: list[dict[str, Any]] = [dict(row) for row in query_rows(read_application(log))]
    offline = {row["query_id"]: {name: row[name] for name in COLUMNS if row.get(name) is not None} for row in rows}
    found, ids = Identified(), []
    for fact in facts_of_log(LOGS / path):
        if fact.HasField("sql_ended"):
            ids.append(fact.sql_ended.sql_execution_id)
        for kind in ("sql_started", "sql_plan", "sql_metrics"):
            if fact.HasField(kind):
                list(step(found.run.row(kind, T, **{kind: getattr(fact, kind)}), found.state))
    live = {}
    for query_id in ids:
        live[query_id] = operators(found.pass_on(found.run.query(T + W, query_id, status="succeeded")))

    assert live == {query_id: columns for query_id, columns in offline.items() if query_id in live}
    assert any(live.values())
    assert not any(columns for query_id, columns in offline.items() if query_id not in live)
