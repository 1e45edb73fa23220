"""What a run could teach, held until it ended well."""

from __future__ import annotations

from collections.abc import Iterator

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.baseline_model import Sample
from sparkfuse_rules.knowledge.sample_messages import message_of
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY
from sparkfuse_rules.knowledge.training_samples import APPLICATION, application_sample, ended_well, stage_sample
from sparkfuse_stream_jobs.detect.rows import present
from sparkfuse_stream_jobs.detect.run_memory import Memory, application_of


def hold(row: LiveRow, memory: Memory) -> None:
    """Remember what the row of a stage or of the application could teach; the last word counts."""
    application = application_of(memory)
    if not application.start_seen or application.ended:
        return
    if row.HasField("application"):
        taught = row.application.status == "succeeded" and application_sample(
            row.run_key, row.completeness, present(row.application)
        )
        if taught:
            memory.samples.put(APPLICATION, _baseline(row, APPLICATION, APPLICATION, taught))
    elif not row.stage.stage_fingerprint.startswith(NAME_ONLY):
        _hold_stage(row, memory)


def _hold_stage(row: LiveRow, memory: Memory) -> None:
    stage, name = row.stage, str(row.stage.stage_id)
    if stage.stage_attempt:
        memory.samples.remove(name)
    elif stage.status == "succeeded":  # spares the look at rows that come every few seconds
        taught = stage_sample(row.run_key, row.completeness, present(stage))
        if taught is not None:
            memory.samples.put(name, _baseline(row, stage.stage_fingerprint, stage.name, taught))


def lessons(row: LiveRow, memory: Memory) -> Iterator[Baseline]:
    """What the application taught that ends with the row, if it ended well: one sample each of a stage or the whole."""
    failed_stages = sum(stage.failed for _, stage in memory.stages.items())
    if not ended_well(row.application_ended.failed_jobs, failed_stages):
        return
    learned_ms = row.application_ended.ended_ms or row.window_end_ms
    for _, baseline in memory.samples.items():  # noqa: PERF102 - a shelf is no dict
        baseline.updated_ms = baseline.samples[0].learned_ms = learned_ms
        yield baseline


def _baseline(row: LiveRow, fingerprint: str, name: str, taught: Sample) -> Baseline:
    """One sample of a run; when it was learned is told once the application ended."""
    return Baseline(
        cluster=row.cluster or None,
        tenant=row.tenant or None,
        job_key=row.job_key,
        stage_fingerprint=fingerprint,
        stage_name=name,
        samples=[message_of(taught)],
    )
