"""Tests how long Identify keeps the state of an application: while it runs, and after its end."""

from __future__ import annotations

from dataclasses import replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import retention
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.stage_identity import MAX_STAGES
from sparkfuse_stream_jobs.detect.state.run_state import RunState, application_of, in_memory_run_state
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
DAY_MS = 86_400_000


class LongLived:
    """An application that runs for many days; each day, it starts stages and queries, and refreshes its state."""

    def __init__(self) -> None:
        self.run, self.state = Run("app-1", T), in_memory_run_state()
        self.seq = 0
        self.process(self.run.started(T))

    def process(self, row: LiveRow) -> None:
        self.seq += 1
        row.row_seq = self.seq
        list(step(row, self.state))

    def refresh(self, day: int) -> None:
        row = self.run.row("app_live", T + day * DAY_MS, application={"status": "running"})
        self.seq += retention.REFRESH_EVERY_ROWS - self.seq % retention.REFRESH_EVERY_ROWS - 1
        self.process(row)

    def start(self, day: int, stage_id: int, query_id: int) -> None:
        at = T + day * DAY_MS
        query = {"sql_execution_id": query_id, "plan_nodes": ["Scan"]}
        plan = {"sql_execution_id": query_id, "plan_version": 0, "node_names": ["Scan"], "node_parents": [-1]}
        self.process(self.run.row("sql_started", at, sql_started=query))
        self.process(self.run.row("sql_plan", at, sql_plan=plan))
        self.process(self.run.stage_started(at, stage_id, sql_execution_id=query_id))
        self.process(self.run.stage_done(at + 5_000, 900, stage_id))


def numbers(state: RunState) -> tuple[list[int], list[int], list[str]]:
    """Return the stored stages, queries and versions of plans."""
    return (
        sorted(int(name) for name, _ in state.stages.items()),
        sorted(int(name) for name, _ in state.queries.items()),
        sorted(state.sql_plans.keys()),
    )


def test_stages_and_queries_of_the_last_week_are_kept():
    """Each day, the stages and queries that are older than a week are dropped; the counters follow."""
    app = LongLived()
    for day in range(1, 31):
        app.start(day, stage_id=day, query_id=100 + day)
        app.refresh(day)
    application = application_of(app.state)

    week = list(range(24, 31))
    assert numbers(app.state) == (week, [100 + day for day in week], [f"{100 + day}/0" for day in week])
    assert (application.stages, application.plans, application.stored_plans) == (7, 7, 7)
    assert sorted(name for name, _ in app.state.samples.items()) == sorted(str(day) for day in week)
    assert len(application.marks) == 7


def test_limit_of_stages_is_not_reached_by_old_stages():
    """An application that once started too many stages identifies new stages again, when the old ones are dropped."""
    app = LongLived()
    app.start(1, stage_id=1, query_id=1)
    app.state.application.update(replace(application_of(app.state), stages=MAX_STAGES))
    app.start(1, stage_id=2, query_id=2)
    for day in range(1, 10):
        app.refresh(day)
    app.start(10, stage_id=3, query_id=3)

    assert numbers(app.state)[0] == [3]


def test_stages_of_a_running_job_are_kept():
    """A streaming job can run a stage and its query for longer than a week."""
    app = LongLived()
    job = {"job_id": 0, "stage_ids": [1], "sql_execution_id": 1}
    app.process(app.run.row("job_started", T, job_started=job))
    app.start(1, stage_id=1, query_id=1)
    app.start(1, stage_id=2, query_id=2)
    for day in range(1, 15):
        app.refresh(day)
    kept = numbers(app.state)[:2]
    app.process(app.run.row("job_ended", T + 15 * DAY_MS, job_ended={"job_id": 0, "succeeded": True}))
    app.refresh(16)

    assert kept == ([1], [1])
    assert numbers(app.state) == ([], [], [])


def test_nothing_is_left_of_a_forgotten_application():
    """The identity and the last number outlive the application; a week after its end they are dropped."""
    app = LongLived()
    app.start(1, stage_id=1, query_id=1)
    app.process(app.run.ended(T + 2 * DAY_MS))
    ended = application_of(app.state)
    retention.forget(app.state)

    assert ended.ended
    assert ended.marks == ()
    assert (app.state.application.value(), app.state.last_seq.value(), app.state.row_epoch.value()) == (None,) * 3


def test_kept_times_exceed_the_retention_of_facts():
    """A windows job without state emits rows again for as long as Kafka keeps the facts."""
    from sparkfuse_contracts.topics import topics

    assert int(topics()["facts"].config["retention.ms"]) < retention.KEPT_AFTER_END_MS
