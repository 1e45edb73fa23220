"""Tests that queries and stages are named by their plans, and that a name is reported when it is new or changes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge import stage_names
from sparkfuse_stream_jobs.detect import queries
from sparkfuse_stream_jobs.detect.identify import Output, step
from sparkfuse_stream_jobs.detect.state.plan_cache import PlanCache
from sparkfuse_stream_jobs.detect.state.run_state import RunState, in_memory_run_state
from tests.unit.stream_jobs.detect_rows import SCAN_AND_EXCHANGE, Run
from tests.unit.stream_jobs.detect_rows import WINDOW_MS as W

T = 1_795_226_400_000
CALL_SITE = "run at ThreadPoolExecutor.java:1136"
SCOPES = ["Exchange", "WholeStageCodegen (1)"]
# The plan after adaptive execution has added the join of the final plan.
JOIN = (
    ("AdaptiveSparkPlan", -1, ""),
    ("WholeStageCodegen (2)", 0, ""),
    ("SortMergeJoin", 1, "Inner o_custkey"),
    ("InputAdapter", 2, ""),
    ("Exchange", 3, "hashpartitioning o_custkey"),
    ("WholeStageCodegen (1)", 4, ""),
    ("Scan parquet", 5, "lake.orders parquet"),
    ("InputAdapter", 2, ""),
    ("Exchange", 7, "hashpartitioning c_custkey"),
    ("WholeStageCodegen (3)", 8, ""),
    ("Scan parquet", 9, "lake.customers parquet"),
)


class Identified:
    """A run of a job; its rows pass through the identify step."""

    def __init__(self) -> None:
        self.run = Run("app-1", T)
        self.state: RunState = in_memory_run_state()
        self.outputs(self.run.started(T))

    def outputs(self, *rows: LiveRow) -> list[Output]:
        return [output for row in rows for output in step(row, self.state)]

    def names(self, *rows: LiveRow) -> list[DisplayName]:
        return [output for output in self.outputs(*rows) if isinstance(output, DisplayName)]

    def last_row(self, *rows: LiveRow) -> LiveRow:
        return [output for output in self.outputs(*rows) if isinstance(output, LiveRow)][-1]

    def start_query(self, **more: Any) -> list[Output]:
        """Start query 5 with its plan, and its stage 3."""
        return self.outputs(
            self.run.query_started(T, description=CALL_SITE, **more),
            self.run.query_plan(T),
            self.run.stage_started(T, sql_execution_id=5, scope_names=SCOPES, name=CALL_SITE),
        )


def short(names: Iterable[DisplayName]) -> list[tuple[str, str]]:
    return [(name.kind, name.name) for name in names]


def test_stage_row_has_name_of_its_query_and_table():
    """A stage is named by its query and tables, not by a call site in a thread pool."""
    identified = Identified()
    identified.start_query()
    stage = identified.last_row(identified.run.stage(T + W, 900)).stage

    assert stage.stage_name.startswith("q5: ")
    assert "orders" in stage.stage_name
    assert stage.stage_title.startswith("query 5: ")
    assert "o_custkey" in stage.stage_title


def test_task_and_failure_rows_have_the_name_of_their_stage():
    """Rows of tasks and of failures have the name of their stage, so that findings can show it."""
    identified = Identified()
    identified.start_query()
    rows = [identified.run.task(T + W, 900), identified.run.failure(T + W), identified.run.stage(T + W, 900)]
    task, failure, stage = (row for row in identified.outputs(*rows) if isinstance(row, LiveRow))

    assert task.task.stage_name == failure.failure.stage_name == stage.stage.stage_name


def test_stage_without_start_is_named_by_its_id():
    """If the start of a stage was lost, the stage is named by its id."""
    identified = Identified()
    stage = identified.last_row(identified.run.stage(T + W, 900)).stage

    assert (stage.stage_name, stage.stage_title) == ("stage 3", "stage 3")


def test_stage_without_query_is_named_by_its_call_site():
    """A stage without a query, as in jobs that use RDDs, is named by its call site."""
    identified = Identified()
    start = identified.run.stage_started(T, name=CALL_SITE, scope_names=["map"], call_site="count_words at words.py:14")
    stage = identified.last_row(start, identified.run.stage(T + W, 900)).stage

    assert stage.stage_name == "count_words at words.py:14"


def test_query_row_has_name_sources_and_sink():
    """A query without a description is named by what it reads and writes."""
    identified = Identified()
    identified.outputs(
        identified.run.query_started(T, description=CALL_SITE),
        identified.run.query_plan(
            T, nodes=[("Execute InsertIntoHadoopFsRelationCommand", -1, "out/orders parquet"), *shifted()]
        ),
    )
    query = identified.last_row(identified.run.query(T + W, description=CALL_SITE)).query

    assert query.query_name.startswith("q5: ")
    assert (query.sources, query.sink) == ("lake.orders", "out/orders")


def shifted() -> list[tuple[str, int, str]]:
    """Return the nodes of the plan with one scan, shifted below an additional node."""
    return [(name, parent + 1, detail) for name, parent, detail in SCAN_AND_EXCHANGE]


def test_query_whose_plan_arrives_before_its_start_is_named_by_its_description():
    """The start of a query has the description that the user gave it, also if its plan was named before."""
    identified = Identified()
    identified.outputs(
        identified.run.query_plan(T), identified.run.query_started(T, description="load the orders of a day")
    )
    query = identified.last_row(identified.run.query(T + W, description="load the orders of a day")).query

    assert query.query_name == "q5: load the orders of a day"


def test_query_without_plan_or_start_is_named_by_its_number():
    """If the plan and the start of a query were lost, the query is named by its execution id."""
    identified = Identified()

    assert identified.last_row(identified.run.query(T + W, 9)).query.query_name == "q9"


def test_name_is_reported_once():
    """A name is reported once; later rows with the same name report nothing."""
    identified = Identified()
    first = [output for output in identified.start_query() if isinstance(output, DisplayName)]
    first += identified.names(identified.run.stage(T + W, 900))
    again = identified.names(
        identified.run.stage(T + 2 * W, 1800), identified.run.query(T + 2 * W), identified.run.query_plan(T + 2 * W)
    )

    assert [kind for kind, _ in short(first)] == ["query", "stage"]
    assert again == []


def test_reported_name_carries_identity_and_call_site():
    """The reported name contains the ids of application, query and stage, by which rows are joined with names."""
    identified = Identified()
    [query] = [
        output
        for output in identified.start_query(call_site="write_orders at orders.py:88")
        if isinstance(output, DisplayName)
    ]
    [stage] = identified.names(identified.run.stage(T + W, 900))

    assert (query.cluster, query.tenant, query.app_id, query.app_start_ms) == ("prod-eu", "orders", "app-1", T)
    assert (query.query_id, query.HasField("stage_id"), query.job_key) == (5, False, "nightly_orders")
    assert (query.call_site, query.sources) == ("write_orders at orders.py:88", "lake.orders")
    assert (stage.kind, stage.query_id, stage.stage_id) == ("stage", 5, 3)
    assert stage.stage_fingerprint == identified.last_row(identified.run.stage(T + 2 * W, 900)).stage.stage_fingerprint


def test_new_plan_version_renames_query_and_running_stage():
    """If adaptive execution changes the plan of a running query, the query and its running stages get new names."""
    identified = Identified()
    identified.start_query()
    identified.outputs(identified.run.stage(T + W, 900))
    renamed = identified.names(
        identified.run.query_plan(T + 2 * W, version=1, nodes=JOIN), identified.run.stage(T + 2 * W, 1800)
    )

    assert renamed[0].kind == "query"
    assert "customers" in renamed[0].name


def test_end_of_query_renames_its_ended_stages():
    """At the end of a query, its ended stages get the names that the event log gives them."""
    identified = Identified()
    identified.start_query()
    before = identified.last_row(identified.run.stage_done(T + W, 900)).stage.stage_name
    # The join now reads another table; the fused operators of the stage keep their codegen number.
    other = [(name, parent, detail.replace("orders", "returns")) for name, parent, detail in SCAN_AND_EXCHANGE]
    identified.outputs(identified.run.query_plan(T + 2 * W, version=1, nodes=other))
    [stage] = identified.names(identified.run.query_ended(T + 2 * W))

    assert "orders" in before
    assert (stage.kind, stage.stage_id) == ("stage", 3)
    assert "returns" in stage.name


def test_outdated_plan_version_is_ignored():
    """If a plan version that was already processed arrives again, it is ignored."""
    identified = Identified()
    identified.start_query()
    identified.outputs(identified.run.query_plan(T, version=2, nodes=JOIN))

    assert identified.names(identified.run.query_plan(T, version=1)) == []
    assert "customers" in identified.last_row(identified.run.query(T + W)).query.sources


def test_fingerprint_does_not_depend_on_the_plan_versions():
    """If the display name of a stage changes, its fingerprint does not, so the stage keeps its baseline."""
    with_plan, without = Identified(), Identified()
    with_plan.start_query()
    without.outputs(
        without.run.query_started(T, description=CALL_SITE),
        without.run.stage_started(T, sql_execution_id=5, scope_names=SCOPES, name=CALL_SITE),
    )
    first, second = (identified.last_row(identified.run.stage(T + W, 900)).stage for identified in (with_plan, without))

    assert first.stage_fingerprint == second.stage_fingerprint


def test_baseline_has_the_name_without_the_query_number():
    """A baseline has the stage's name without the number of the query, because this number differs from run to run."""
    identified = Identified()
    identified.start_query()
    outputs = identified.outputs(identified.run.stage_done(T + W, 900), identified.run.ended(T + W))
    [baseline] = [output for output in outputs if isinstance(output, Baseline)]
    [stage] = [output.stage for output in outputs if isinstance(output, LiveRow) and output.HasField("stage")]

    assert stage.stage_name == f"q5: {baseline.stage_name}"


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        pytest.param("write orders", "write orders", id="of the user"),
        pytest.param(CALL_SITE, "q5: ", id="call site of Spark"),
        pytest.param(None, "q5: ", id="none"),
    ],
)
def test_failed_job_is_described_by_user_or_query(description: str | None, expected: str):
    """A failed job is described by the user's text or by its query, and never by a call site in Spark's threads."""
    identified = Identified()
    identified.start_query()
    identified.outputs(identified.run.job_started(T, 1, sql_execution_id=5, description=description))
    job = identified.last_row(identified.run.job_ended(T + W, 1, "java.lang.IllegalStateException")).job

    assert job.description.startswith(expected)


def test_plans_of_long_ended_queries_are_dropped():
    """Of the ended queries, only the last ones keep their plans, so that a loop of queries does not fill the state."""
    identified = Identified()
    for query_id in range(40):
        identified.outputs(
            identified.run.query_started(T, query_id),
            identified.run.query_plan(T, query_id),
            identified.run.query_ended(T, query_id),
        )
    stored = sorted(int(name.partition("/")[0]) for name, _ in identified.state.sql_plans.items())

    assert stored == list(range(40 - queries.KEPT_QUERIES, 40))
    assert identified.state.application.value().stored_plans == queries.KEPT_QUERIES
    identified.outputs(identified.run.ended(T + W))
    assert not list(identified.state.sql_plans.keys())


def test_plans_of_open_queries_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """The number of plans of open queries is limited, and the oldest plans are dropped first.

    The limit is needed because queries whose end was lost stay open.
    """
    monkeypatch.setattr(queries, "MAX_PLANS", 4)
    identified = Identified()
    for query_id in range(8, 14):
        identified.outputs(identified.run.query_started(T, query_id), identified.run.query_plan(T, query_id))

    assert sorted(identified.state.sql_plans.keys()) == ["10/0", "11/0", "12/0", "13/0"]


def test_versions_of_one_plan_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """Only the newest versions of a plan are stored.

    A query with hundreds of stages has hundreds of versions.
    """
    monkeypatch.setattr(queries, "MAX_VERSIONS", 3)
    identified = Identified()
    identified.outputs(
        identified.run.query_started(T), *(identified.run.query_plan(T, version=version) for version in range(9))
    )

    assert sorted(identified.state.sql_plans.keys()) == ["5/6", "5/7", "5/8"]
    assert identified.state.application.value().stored_plans == 3


def test_uncached_plan_is_read_from_the_state():
    """If a plan is not in the cache, as after a restart, it is read from the state and gives the same names."""
    identified = Identified()
    identified.start_query()
    before = queries.plans_of(5, identified.state)
    object.__setattr__(identified.state, "plan_cache", PlanCache())

    assert queries.plans_of(5, identified.state) == before


def test_plan_that_cannot_be_named_does_not_lose_rows(monkeypatch: pytest.MonkeyPatch):
    """If a plan cannot be named, the row gets a fallback name and still reaches the rules."""

    def fail(*_arguments: object, **_more: object) -> None:
        raise IndexError("unexpected plan")

    monkeypatch.setattr(stage_names, "name_stage", fail)
    monkeypatch.setattr(stage_names, "name_query", fail)
    identified = Identified()
    identified.start_query()

    assert identified.last_row(identified.run.stage(T + W, 900)).stage.stage_name == "q5: stage 3"
    assert identified.last_row(identified.run.query(T + W)).query.query_name == "q5"


def test_plan_cache_evicts_the_least_recently_used_query():
    """The plan cache is limited by the number of plan nodes, and evicts the least recently used query."""
    identified = Identified()
    identified.start_query()
    [plan] = queries.plans_of(5, identified.state)
    cache = PlanCache(limit=2 * len(plan.node_names))
    for query_id in (1, 2):
        cache.put("run", query_id, 0, plan)
    cache.get("run", 1, 0)
    cache.put("run", 3, 0, plan)

    assert [cache.get("run", query_id, 0) is plan for query_id in (1, 2, 3)] == [True, False, True]
    assert len(cache) == 2 * len(plan.node_names)


@pytest.mark.parametrize(
    ("name", "query_id", "rest"),
    [
        ("q7: lineitem ⋈ part", 7, "lineitem ⋈ part"),
        ("count at q7: words.py:3", None, "count at q7: words.py:3"),
        ("stage 3", None, "stage 3"),
    ],
)
def test_query_is_read_from_a_name(name: str, query_id: int | None, rest: str):
    """The number of a query can be read from the name of the query or of its stage."""
    assert (stage_names.query_id_of(name), stage_names.without_query(name)) == (query_id, rest)
