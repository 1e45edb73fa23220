"""An ended application as rows of history: what its log says of it and of its stages, for the store and baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.history_pb2 import HistoryRow
from sparkfuse_contracts.generated.live_pb2 import AppLive, StageLive
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.history import lessons
from sparkfuse_rules.knowledge.sample_messages import message_of
from sparkfuse_rules.knowledge.scrubbing import scrub
from sparkfuse_rules.knowledge.training_samples import APPLICATION

SOURCE = "event_log"
_RUNNING = "running"
_INT32 = range(-(2**31), 2**31)
_TEXTS = ("name", "failure_reason")


def history_rows(application: Application, cluster: str, tenant: str) -> Iterator[HistoryRow]:
    """The row of the application, then one for each stage attempt that ended. Nothing for one without id or start."""
    if application.app_id is None or application.started_ms is None:
        return
    row = _envelope(application, cluster, tenant, application.completeness)
    row.application.CopyFrom(AppLive(**_columns(application.row, AppLive)))
    yield row
    stages = application.stage_rows.to_pylist()
    for columns, completeness in zip(stages, application.stage_completeness, strict=True):
        if columns["status"] not in {None, _RUNNING} and columns["stage_id"] in _INT32:
            row = _envelope(application, cluster, tenant, completeness)
            row.stage.CopyFrom(StageLive(**_columns(columns, StageLive)))
            yield row


def lessons_of(application: Application, cluster: str, tenant: str) -> Iterator[Baseline]:
    """What the run and its stages teach, each as a baseline of one sample; nothing unless it ended well."""
    names = dict(zip(application.fingerprints, application.tables["stages"]["name"].to_pylist(), strict=True))
    names[APPLICATION] = APPLICATION
    for lesson in lessons(application):
        yield Baseline(
            cluster=cluster,
            tenant=tenant,
            job_key=lesson.job_key,
            stage_fingerprint=lesson.fingerprint,
            stage_name=scrub(names.get(lesson.fingerprint) or ""),
            updated_ms=lesson.sample.learned_ms,
            samples=[message_of(lesson.sample)],
        )


def _envelope(application: Application, cluster: str, tenant: str, completeness: float) -> HistoryRow:
    row = HistoryRow(
        cluster=cluster,
        tenant=tenant,
        app_id=application.app_id,
        app_attempt=application.attempt_number,
        app_start_ms=application.started_ms,
        source=SOURCE,
        completeness=completeness,
        job_key=application.job_key,
        run_key=application.run_key,
        app_succeeded=application.ended_well,
    )
    if application.ended_ms is not None:
        row.app_ended_ms = application.ended_ms
    return row


def _columns(row: Mapping[str, Any], message: Any) -> dict[str, Any]:
    """The columns that the message has and the row fills; texts are scrubbed, because users wrote them.

    A number that the message cannot hold is left out: an index of 2^40 is nobody's task.
    """
    fields = message.DESCRIPTOR.fields_by_name
    told = ((name, value) for name, value in row.items() if value is not None and name in fields)
    found = {name: value for name, value in told if fields[name].type != fields[name].TYPE_INT32 or value in _INT32}
    return found | {name: scrub(found[name]) for name in _TEXTS if name in found}
