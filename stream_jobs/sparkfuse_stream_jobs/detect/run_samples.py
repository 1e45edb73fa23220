"""Training samples of a run, stored until the run ended, or in a long-lived application until their query ended."""

from __future__ import annotations

from collections.abc import Iterator

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.sample_messages import message_of
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY
from sparkfuse_rules.knowledge.stage_names import without_query
from sparkfuse_rules.knowledge.training_samples import (
    APPLICATION,
    application_sample,
    ended_well,
    plan_of,
    stage_sample,
)
from sparkfuse_stream_jobs.detect import executions
from sparkfuse_stream_jobs.detect.row_columns import present
from sparkfuse_stream_jobs.detect.state.run_state import RunState, application_of


def store_sample(row: LiveRow, state: RunState) -> None:
    """Store the training sample of a row of a stage or of the application; a later row replaces an earlier one."""
    application = application_of(state)
    if not application.start_seen or application.ended:
        return
    if row.HasField("application"):
        sample = row.application.status == "succeeded" and application_sample(
            row.run_key, row.completeness, present(row.application)
        )
        if sample:
            state.samples.put(APPLICATION, _baseline(row, APPLICATION, APPLICATION, sample))
    elif not row.stage.stage_fingerprint.startswith(NAME_ONLY):
        _store_stage(row, state)


def _store_stage(row: LiveRow, state: RunState) -> None:
    stage, name = row.stage, str(row.stage.stage_id)
    if stage.stage_attempt:
        state.samples.remove(name)
    elif stage.status == "succeeded":  # a cheap test first: running stages have a row every few seconds
        sample = stage_sample(row.run_key, row.completeness, present(stage))
        # A row that arrives after the end of the stage's execution must not make its sample count again.
        known = state.samples.get(name)
        if sample is not None and not (known and known.samples[0].learned_ms):
            state.samples.put(name, _baseline(row, stage.stage_fingerprint, without_query(stage.stage_name), sample))


def samples_of_ended_run(row: LiveRow, state: RunState) -> Iterator[Baseline]:
    """Return the samples of the application whose end is ``row``, each as a baseline with one sample.

    If the application did not end successfully, these are the samples of stages whose query, or job without a query,
    succeeded. Samples that were learned at the end of their query are not returned again.
    """
    yield from executions.learn_ended(row, state)
    failed_stages = sum(stage.failed for _, stage in state.stages.items())
    well = ended_well(row.application_ended.failed_jobs, failed_stages, application_of(state).jobs)
    learned_ms = row.application_ended.ended_ms or row.window_end_ms
    baselines = [baseline for _, baseline in state.samples.items()]
    plan = plan_of(each.stage_fingerprint for each in baselines if each.stage_fingerprint != APPLICATION)
    for baseline in baselines:
        if executions.is_settled(baseline) or not (well or executions.is_ready(baseline)):
            continue
        if plan and baseline.stage_fingerprint == APPLICATION:
            baseline.samples[0].plan = plan
        baseline.samples[0].run_key = row.run_key
        baseline.updated_ms = baseline.samples[0].learned_ms = learned_ms
        yield baseline


def _baseline(row: LiveRow, fingerprint: str, name: str, sample: Sample) -> Baseline:
    """Return a baseline with one sample; its ``learned_ms`` is set when its execution or the application ends."""
    return Baseline(
        cluster=row.cluster or None,
        tenant=row.tenant or None,
        job_key=row.job_key,
        stage_fingerprint=fingerprint,
        stage_name=name,
        samples=[message_of(sample)],
    )
