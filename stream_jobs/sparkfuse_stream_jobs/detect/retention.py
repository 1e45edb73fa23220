"""How long Identify keeps the state of an application: while it runs, and after its end.

Flink drops a value that was not written for a week (``RUN_TTL``), by the clock of the process. The functions of this
module drop values by event time, which also passes while the job catches up, and keep the counters correct.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect.queries import drop_plans, used_queries
from sparkfuse_stream_jobs.detect.state.run_state import RunState, application_of

# State values expire unless they are written again. At every 97th row of an application, the values of the row's stage
# and of the application are written again. Once a day, the values of jobs and executors are written again.
REFRESH_EVERY_ROWS = 97
REFRESH_EVERY_MS = 86_400_000
# A stage or query is kept for this long, or for as long as a job runs that uses it.
KEPT_MS = 7 * 86_400_000
# After the end of an application, its identity and the number of its last row are kept for this long, because the
# windows job emits old rows again if it has lost its state. It must exceed the retention of the topic ``facts``.
KEPT_AFTER_END_MS = 7 * 86_400_000


def refresh(row: LiveRow, state: RunState) -> None:
    """Rewrite values that were written once, so that they do not expire while the application runs."""
    application = application_of(state)
    if row.window_end_ms >= application.refreshed_at_ms + REFRESH_EVERY_MS:
        application = replace(application, refreshed_at_ms=row.window_end_ms)
        for name, job in state.jobs.items():
            state.jobs.put(name, job)
        for name, executor in state.executors.items():
            state.executors.put(name, executor)
        for name, pod in state.pods.items():
            state.pods.put(name, pod)
        for name, template in state.templates.items():
            state.templates.put(name, template)
        if losses := state.losses.value():
            state.losses.update(losses)
        state.application.update(application)
        _drop_old(row.window_end_ms, state)
        application = application_of(state)
    state.application.update(application)
    name = str(row.stage.stage_id if row.HasField("stage") else row.task.stage_id)
    if stage := state.stages.get(name):
        state.stages.put(name, stage)


def clear_ended(row: LiveRow, state: RunState) -> None:
    """Clear the state of an application that ended, except its identity."""
    ended_ms = row.application_ended.ended_ms or row.window_end_ms
    state.application.update(
        replace(
            application_of(state), ended=True, ended_ms=ended_ms, stages=0, plans=0, jobs=0, executors=0, pods=0,
            cores=0, stored_plans=0, ended_queries=(), marks=(), waiting_executions=(),
            templates=0,
        )
    )  # fmt: skip
    _clear_subjects(state)


def forget(state: RunState) -> None:
    """Drop everything about an application, ``KEPT_AFTER_END_MS`` after its end."""
    _clear_subjects(state)
    for value in (state.application, state.last_seq, state.row_epoch):
        value.clear()


def _clear_subjects(state: RunState) -> None:
    for values in (
        state.stages, state.queries, state.sql_plans, state.samples, state.jobs, state.executors, state.pods,
        state.templates,
    ):  # fmt: skip
        values.clear()
    for value in (state.losses, state.progress):
        value.clear()


def _drop_old(now_ms: int, state: RunState) -> None:
    """Drop the stages and queries that started ``KEPT_MS`` ago or earlier, unless a running job uses them.

    Spark numbers stages and queries in the order of their starts. So the highest numbers of a day show which of them
    started before the end of that day.
    """
    application = application_of(state)
    marks = (*application.marks, (now_ms, application.newest_stage, application.newest_query))
    old = [mark for mark in marks if mark[0] <= now_ms - KEPT_MS]
    state.application.update(replace(application, marks=marks[len(old) :]))
    if not old:
        return
    _, last_stage, last_query = old[-1]
    running = [job for _, job in state.jobs.items()]
    for query_id in _until(last_query, state.queries.keys(), used_queries(state)):
        drop_plans(query_id, state)
        state.queries.remove(str(query_id))
    for stage_id in _until(last_stage, state.stages.keys(), {stage for job in running for stage in job.stage_ids}):
        state.stages.remove(str(stage_id))
        state.samples.remove(str(stage_id))
    templates = list(state.templates.items())
    old_templates = [name for name, each in templates if each.last_ms <= now_ms - KEPT_MS]
    for name in old_templates:
        state.templates.remove(name)
    stages, queries = list(state.stages.keys()), list(state.queries.keys())
    state.application.update(
        replace(
            application_of(state), stages=len(stages), plans=len(queries), templates=len(templates) - len(old_templates)
        )
    )


def _until(last: int, names: Iterable[str], used: Collection[int | None]) -> list[int]:
    """Return the numbers up to ``last`` that are not in use."""
    return [number for number in map(int, names) if number <= last and number not in used]
