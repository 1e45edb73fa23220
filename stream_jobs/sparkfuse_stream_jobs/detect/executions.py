"""Learns at the end of each query, micro-batch or job without a query, in applications that may never end.

When an execution ends, its stages have their last rows, except for task ends that arrive late. So it waits for ten
seconds of event time; then its samples are *ready* (``learned_ms`` is set). In a long-lived application, ready samples
are learned at once, and are *settled* (``updated_ms`` is set). In other applications they wait for the end of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.long_lived import has_run_long, is_served, key_of_job, key_of_query, learned_after
from sparkfuse_stream_jobs.detect.queries import put_query, query_of
from sparkfuse_stream_jobs.detect.state.run_state import EndedExecution, RunState, application_of

# Other collectors and lanes may deliver the last task ends of a stage two windows after its end.
LATE_MS = 10_000
# Maximum numbers per application: executions that wait, and templates whose last execution is known. Beyond them, the
# oldest executions are not learned, and the oldest templates count as new.
MAX_WAITING, MAX_TEMPLATES = 1_000, 10_000


def add_query_end(row: LiveRow, state: RunState) -> None:
    """Store that a query ended; it succeeded if it and all of its jobs did."""
    ended = row.sql_ended
    query_id = ended.sql_execution_id
    succeeded = not ended.failure_reason and not (ended.HasField("succeeded") and not ended.succeeded)
    run_key = key_of_query(application_of(state).run_key, query_id)
    _add((row.window_end_ms, run_key, ended.ended_ms or row.window_end_ms, succeeded, query_id, ()), state)


def add_job_end(row: LiveRow, state: RunState) -> None:
    """Store that a job without a query ended, or that a job of a query failed; call it before the job is dropped."""
    ended, job = row.job_ended, state.jobs.get(str(row.job_ended.job_id))
    if job is None:
        return
    succeeded = not (ended.HasField("succeeded") and not ended.succeeded)
    if job.sql_execution_id is None:
        run_key = key_of_job(application_of(state).run_key, ended.job_id)
        started = tuple(each for each in job.stage_ids if state.stages.get(str(each)))
        _add((row.window_end_ms, run_key, ended.completed_ms or row.window_end_ms, succeeded, None, started), state)
    elif not succeeded and (query := query_of(job.sql_execution_id, state)):
        put_query(job.sql_execution_id, replace(query, job_failed=True), state)


def learn_ended(row: LiveRow, state: RunState) -> Iterator[Baseline]:
    """Return the samples that are learned now, each as a baseline with one sample.

    Call it for each row that reports the application or a job: an application is long-lived once it serves queries or
    has run for long enough. At the end of the application no execution waits any longer.
    """
    application = application_of(state)
    if not application.start_seen or application.ended:
        return
    now_ms = row.window_end_ms
    if row.HasField("application_ended"):
        now_ms = row.application_ended.ended_ms or now_ms
    served = row.HasField("job_started") and is_served(row.job_started.description)
    if not application.long_lived and (served or has_run_long(row.app_start_ms, now_ms)):
        state.application.update(replace(application, long_lived=True))
        yield from _settle(((name, each) for name, each in state.samples.items() if is_ready(each)), state)
    until_ms = row.window_end_ms if row.HasField("application_ended") else row.window_end_ms - LATE_MS
    waiting = application.waiting_executions
    due = [each for each in waiting if each[0] <= until_ms]
    if due:
        state.application.update(replace(application_of(state), waiting_executions=waiting[len(due) :]))
    for each in due:
        yield from _end(each, state)


def is_ready(sample: Baseline) -> bool:
    """Return whether the execution of the sample ended well, and the sample has not been settled."""
    return bool(sample.samples[0].learned_ms) and not is_settled(sample)


def is_settled(sample: Baseline) -> bool:
    """Return whether the sample was learned, or is not needed because another execution was learned before."""
    return sample.HasField("updated_ms")


def _add(ended: EndedExecution, state: RunState) -> None:
    application = application_of(state)
    if application.start_seen and not application.ended:
        waiting = (*application.waiting_executions, ended)[-MAX_WAITING:]
        state.application.update(replace(application, waiting_executions=waiting))


def _end(ended: EndedExecution, state: RunState) -> Iterator[Baseline]:
    """Settle the samples of an execution in a long-lived application; otherwise make them ready.

    The samples are dropped if the execution failed, or if the last attempt of one of its stages did.
    """
    _, run_key, ended_ms, succeeded, query_id, stage_ids = ended
    if query_id is not None:
        query = query_of(query_id, state)
        stage_ids = query.stage_ids if query else ()
        succeeded = succeeded and not (query and query.job_failed)
    stages = [state.stages.get(str(each)) for each in stage_ids]
    succeeded = succeeded and not any(stage and stage.failed for stage in stages)
    found = [(str(each), sample) for each in stage_ids if (sample := state.samples.get(str(each)))]
    # A stage that several jobs use belongs to the first of them that ended.
    samples = [(name, sample) for name, sample in found if not (is_settled(sample) or is_ready(sample))]
    for name, sample in samples:
        if succeeded:
            sample.samples[0].run_key, sample.samples[0].learned_ms = run_key, ended_ms
            state.samples.put(name, sample)
        else:
            state.samples.remove(name)
    if succeeded and application_of(state).long_lived:
        yield from _settle(samples, state)


def _settle(ready: Iterable[tuple[str, Baseline]], state: RunState) -> Iterator[Baseline]:
    """Settle samples in the order in which their executions ended, and return those that are learned."""
    due: dict[tuple[str, str], bool] = {}
    for name, sample in sorted(ready, key=lambda each: (each[1].samples[0].learned_ms, each[1].samples[0].run_key)):
        [one] = sample.samples
        template = (one.run_key, sample.stage_fingerprint)
        if template not in due:
            due[template] = _is_due(sample.stage_fingerprint, one.learned_ms, state)
        sample.updated_ms = one.learned_ms
        state.samples.put(name, sample)
        if due[template]:
            yield sample


def _is_due(fingerprint: str, ended_ms: int, state: RunState) -> bool:
    known = state.templates.get(fingerprint)
    after = learned_after(known, ended_ms)
    if after is None:
        return False
    if known is None and application_of(state).templates >= MAX_TEMPLATES:
        oldest = sorted(state.templates.items(), key=lambda each: each[1].last_ms)
        for name, _ in oldest[: MAX_TEMPLATES // 4]:
            state.templates.remove(name)
        application = replace(application_of(state), templates=max(0, len(oldest) - MAX_TEMPLATES // 4))
        state.application.update(application)
    if known is None:
        state.application.update(replace(application_of(state), templates=application_of(state).templates + 1))
    state.templates.put(fingerprint, after)
    return True
