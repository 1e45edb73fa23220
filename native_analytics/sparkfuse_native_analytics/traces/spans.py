"""Creates the spans of an application, its jobs, stages and slow tasks; findings become events of these spans.

The ids of spans are hashes of the objects that the spans describe, so a trace that is sent again has the same ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from sparkfuse_native_analytics.queries import Finding, Run, Stage
from sparkfuse_native_analytics.traces.application import Application, Job, SlowTask

Value = str | int | float | bool
_NS = 1_000_000
_SCOPE = InstrumentationScope("sparkfuse")
_FAILED = frozenset({"failed"})


def application_spans(application: Application) -> list[ReadableSpan]:
    """Return all spans, parents before children.

    Attributes are named ``spark.*``, because OpenTelemetry has no conventions for Spark; times come from the clocks of
    the JVMs. The span of an object that still runs ends at the last known window, and its ``spark.*.status`` is
    running.
    """
    return list(_Trace(application).spans())


class _Trace:
    def __init__(self, application: Application) -> None:
        self._application = application
        self._run = application.details.run
        self._key = f"{self._run.cluster}|{self._run.run_key}"
        self._trace_id = int.from_bytes(hashlib.sha256(self._key.encode()).digest()[:16], "big")
        self._seen_ms = self._run.ended_ms or self._run.window_end_ms or self._run.app_start_ms
        self._resource = Resource(_present({
            "service.name": self._run.job_key,
            "service.namespace": self._run.tenant,
            "service.version": self._run.spark_version,
            "spark.cluster": self._run.cluster,
        }))  # fmt: skip

    def spans(self) -> Iterator[ReadableSpan]:
        """Return all spans, parents before children."""
        root = self._application_span(self._run)
        yield root
        jobs = {job.job_id: self._job_span(job, root) for job in self._application.jobs}
        yield from jobs.values()
        stages = {}
        for stage in self._application.details.stages:
            parent = jobs.get(-1 if stage.job_id is None else stage.job_id, root)
            stages[stage.stage_id, stage.stage_attempt] = span = self._stage_span(stage, parent)
            yield span
        for task in self._application.slow_tasks:
            yield self._task_span(task, stages.get((task.stage_id, task.stage_attempt), root))

    def _application_span(self, run: Run) -> ReadableSpan:
        return self._span(
            ("application",), f"application {run.name or run.app_id}", None, run.app_start_ms, run.ended_ms,
            {"spark.app.id": run.app_id, "spark.app.attempt": run.app_attempt, "spark.app.status": run.status,
             "spark.app.user": run.user_name, "sparkfuse.job_key": run.job_key, "sparkfuse.run_key": run.run_key,
             "sparkfuse.completeness": run.completeness},
            run.status in _FAILED, self._events(None),
        )  # fmt: skip

    def _job_span(self, job: Job, parent: ReadableSpan) -> ReadableSpan:
        return self._span(
            ("job", job.job_id), f"job {job.job_id}", parent, job.submitted_ms, job.completed_ms,
            {"spark.job.id": job.job_id, "spark.job.description": job.description,
             "spark.failure_reason": job.failure_reason},
            job.succeeded is False,
        )  # fmt: skip

    def _stage_span(self, stage: Stage, parent: ReadableSpan) -> ReadableSpan:
        place = (stage.stage_id, stage.stage_attempt)
        return self._span(
            ("stage", *place), f"stage {stage.stage_id}: {stage.stage_name or 'unnamed'}", parent, stage.submitted_ms,
            stage.completed_ms,
            {"spark.stage.id": stage.stage_id, "spark.stage.attempt": stage.stage_attempt,
             "spark.stage.status": stage.status, "spark.stage.tasks": stage.num_tasks,
             "spark.stage.work_bytes": stage.work_bytes, "spark.stage.disk_spilled_bytes": stage.disk_spilled_bytes,
             "spark.stage.duration_p50_ms": stage.duration_p50_ms, "spark.failure_reason": stage.failure_reason},
            stage.status in _FAILED, self._events(place),
        )  # fmt: skip

    def _task_span(self, task: SlowTask, parent: ReadableSpan) -> ReadableSpan:
        return self._span(
            ("task", task.stage_id, task.stage_attempt, task.task_id), f"slow task {task.task_index}", parent,
            task.launched_ms, task.finished_ms,
            {"spark.task.id": task.task_id, "spark.task.index": task.task_index, "spark.task.outcome": task.outcome,
             "spark.executor.id": task.executor_id, "host.name": task.host,
             "spark.stage.median_task_ms": task.median_ms},
            task.outcome in _FAILED,
        )  # fmt: skip

    def _events(self, place: tuple[int, int] | None) -> list[Event]:
        """Return the findings of one stage attempt; for None, the findings whose stage is not in the trace."""
        stages = {(stage.stage_id, stage.stage_attempt) for stage in self._application.details.stages}
        return [
            _event(finding, run.started_ms or finding.started_ms or finding.updated_ms, run.evidence)
            for finding in self._application.findings
            for run in finding.runs
            if run.app_id == self._run.app_id
            and ((run.stage_id, run.stage_attempt) if (run.stage_id, run.stage_attempt) in stages else None) == place
        ]

    def _span(
        self, key: tuple[str | int, ...], name: str, parent: ReadableSpan | None, start_ms: int | None,
        end_ms: int | None, attributes: Mapping[str, Value | None], failed: bool, events: Sequence[Event] = (),
    ) -> ReadableSpan:  # fmt: skip
        parent_start = parent.start_time if parent else None
        start = start_ms * _NS if start_ms is not None else parent_start or self._run.app_start_ms * _NS
        end = (self._seen_ms if end_ms is None else end_ms) * _NS
        return ReadableSpan(
            name=name,
            context=self._context(key),
            parent=parent.get_span_context() if parent else None,
            resource=self._resource,
            attributes=_present(attributes),
            events=events,
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if failed else StatusCode.UNSET),
            start_time=start,
            end_time=max(start, end),
            instrumentation_scope=_SCOPE,
        )

    def _context(self, key: tuple[str | int, ...]) -> SpanContext:
        digest = hashlib.sha256("|".join([self._key, *map(str, key)]).encode()).digest()
        span_id = int.from_bytes(digest[:8], "big")
        return SpanContext(self._trace_id, span_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _event(finding: Finding, at_ms: int, evidence: Mapping[str, str]) -> Event:
    attributes = {
        "sparkfuse.finding_id": finding.finding_id,
        "sparkfuse.rule": finding.rule,
        "sparkfuse.severity": finding.severity,
        "sparkfuse.state": finding.state,
        "sparkfuse.description": finding.description,
        "sparkfuse.runbook_url": finding.runbook_url,
        **{f"sparkfuse.evidence.{name}": value for name, value in evidence.items()},
    }
    return Event(f"finding {finding.rule}", _present(attributes), at_ms * _NS)


def _present(attributes: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in attributes.items() if value is not None}
