"""Tests that the live display names of two recorded jobs equal those that offline analysis computes from their logs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge.query_plan import QueryPlan
from sparkfuse_rules.knowledge.stage_names import name_query
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from tests.logs.queries.names import NamedLog, Rows
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
LOGS = sorted((Path(__file__).parents[2] / "logs" / "queries").glob("*.zstd"))


def live_rows(run: Run, log: NamedLog) -> Iterator[LiveRow]:
    """Return the rows of the log's queries and stages in the order in which they reach the detect job."""
    yield run.started(T)
    yield from stage_rows(run, [stage for stage in log.stages if stage["sql_execution_id"] is None])
    for query in log.queries:
        number = query["sql_execution_id"]
        first, *later = log.plans.get(number) or [QueryPlan((), ())]
        yield run.query_started(T, number, description=query["description"], call_site=query["call_site"])
        yield plan_row(run, number, 0, first)
        yield from stage_rows(run, [stage for stage in log.stages if stage["sql_execution_id"] == number])
        for version, plan in enumerate(later, 1):
            yield plan_row(run, number, version, plan)
        yield run.query_ended(T, number)


def plan_row(run: Run, number: int, version: int, plan: QueryPlan) -> LiveRow:
    details = [*plan.node_details, *[""] * len(plan.node_names)][: len(plan.node_names)]
    parents = [-1 if parent is None else parent for parent in plan.node_parents]
    return run.query_plan(
        T, number, version, list(zip(plan.node_names, parents, [each or "" for each in details], strict=True))
    )


def stage_rows(run: Run, stages: Rows) -> Iterator[LiveRow]:
    for stage in stages:
        known = {name: stage[name] for name in ("name", "scope_names", "call_site", "sql_execution_id") if stage[name]}
        if stage["sql_execution_id"] is not None:
            known["sql_execution_id"] = stage["sql_execution_id"]
        yield run.stage_started(T, stage["stage_id"], **{"scope_names": [], **known})
        yield run.stage_done(T, 900, stage["stage_id"])


@pytest.mark.parametrize("path", LOGS, ids=[path.stem for path in LOGS])
def test_live_names_are_the_names_of_the_event_log(path: Path):
    """After the end of its query, each stage has the name that `sparkfuse analyze` prints for the stage."""
    log, state = NamedLog(path), in_memory_run_state()
    outputs = [output for row in live_rows(Run("app-1", T), log) for output in step(row, state)]
    records = [output for output in outputs if isinstance(output, DisplayName)]
    stages = {record.stage_id: (record.name, record.title) for record in records if record.kind == "stage"}
    queries = {record.query_id: record for record in records if record.kind == "query"}

    assert len(stages) > 50
    for stage in log.stages:
        expected = log.stage_name(stage)

        assert stages[stage["stage_id"]] == (expected.name, expected.title)
    for query in log.queries:
        number = query["sql_execution_id"]
        named = name_query(
            number, description=query["description"], call_site=query["call_site"], plans=log.plans.get(number, [])
        )
        found = queries[number]

        assert (found.name, found.title) == (named.name, named.title)
        assert (found.sources or None, found.sink or None) == (named.sources, named.sink)
