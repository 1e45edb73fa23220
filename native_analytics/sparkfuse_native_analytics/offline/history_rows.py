"""Converts an ended application into rows of the topic ``history`` and samples of the topic ``baselines``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.history_pb2 import HistoryRow
from sparkfuse_contracts.generated.live_pb2 import AppLive, QueryLive, StageLive
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.earlier_runs import training_samples
from sparkfuse_native_analytics.offline.query_rows import query_rows
from sparkfuse_rules.knowledge.sample_messages import message_of
from sparkfuse_rules.knowledge.scrubbing import scrub
from sparkfuse_rules.knowledge.stage_names import without_query
from sparkfuse_rules.knowledge.training_samples import APPLICATION

SOURCE = "event_log"
_RUNNING = "running"
_INT32 = range(-(2**31), 2**31)
_TEXTS = ("name", "description", "call_site", "failure_reason")


def history_rows(application: Application, cluster: str, tenant: str) -> Iterator[HistoryRow]:
    """Yield the row of the application, then the rows of its ended stage attempts and of its queries.

    Yield nothing for an application without an id or a start time.
    """
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
    for columns in query_rows(application):
        row = _envelope(application, cluster, tenant, application.completeness)
        row.query.CopyFrom(QueryLive(**_columns(columns, QueryLive)))
        yield row


def display_name_messages(application: Application, cluster: str, tenant: str, now_ms: int) -> Iterator[DisplayName]:
    """Yield the display names of all queries and stages, as the detect job writes them while an application runs."""
    if application.app_id is None or application.started_ms is None:
        return
    common: dict[str, Any] = {
        "cluster": cluster,
        "tenant": tenant,
        "app_id": application.app_id,
        "app_attempt": application.attempt_number,
        "app_start_ms": application.started_ms,
        "job_key": application.job_key,
        "updated_ms": now_ms,
    }
    sites = {row["sql_execution_id"]: row.get("call_site") for row in application.tables["sql_executions"].to_pylist()}
    for query_id, name in sorted(application.names.queries.items()):
        yield DisplayName(
            **common,
            kind="query",
            query_id=query_id,
            name=name.name,
            title=name.title,
            sources=name.sources,
            sink=name.sink,
            call_site=sites.get(query_id),
        )
    rows = zip(application.keys, application.fingerprints, application.call_sites, strict=True)
    stages = {stage_id: (fingerprint, site) for (stage_id, _), fingerprint, site in rows}
    for stage_id, (fingerprint, site) in stages.items():
        if stage_id in _INT32:
            yield DisplayName(
                **common,
                kind="stage",
                query_id=application.names.query_of(stage_id),
                stage_id=stage_id,
                name=application.names.stages[stage_id].name,
                title=application.names.stages[stage_id].title,
                call_site=site,
                stage_fingerprint=fingerprint,
            )


def baseline_messages(application: Application, cluster: str, tenant: str) -> Iterator[Baseline]:
    """Yield each training sample of the run as a baseline with one sample; yield nothing unless the run succeeded."""
    names = {
        fingerprint: without_query(application.names.stages[stage_id].name)
        for (stage_id, _), fingerprint in zip(application.keys, application.fingerprints, strict=True)
    }
    names[APPLICATION] = APPLICATION
    for sample in training_samples(application):
        yield Baseline(
            cluster=cluster,
            tenant=tenant,
            job_key=sample.job_key,
            stage_fingerprint=sample.fingerprint,
            stage_name=names.get(sample.fingerprint, ""),
            updated_ms=sample.sample.learned_ms,
            samples=[message_of(sample.sample)],
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
    """Return those values of a row for which the message has fields.

    Secrets in texts are masked, because users wrote these texts.

    Numbers that do not fit into their field are left out.
    """
    fields = message.DESCRIPTOR.fields_by_name
    present = ((name, value) for name, value in row.items() if value is not None and name in fields)
    found = {name: value for name, value in present if fields[name].type != fields[name].TYPE_INT32 or value in _INT32}
    return found | {name: scrub(found[name]) for name in _TEXTS if name in found}
