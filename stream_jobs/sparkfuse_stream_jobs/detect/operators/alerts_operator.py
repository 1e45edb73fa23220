"""Merges the findings of all runs of a job, and publishes them until they are resolved."""

# Flink defines the names, the signatures and the contracts of the methods.
# ruff: noqa: ARG002, D102

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.metric_names import FINDINGS
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import to_json
from sparkfuse_stream_jobs.detect import alerts
from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters
from sparkfuse_stream_jobs.detect.operators.invalid_values import usable
from sparkfuse_stream_jobs.detect.state.codec import record_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory
from sparkfuse_stream_jobs.job_metrics import step_counter

# The state of a finding that was neither updated nor published for a week is dropped.
FINDING_TTL = timedelta(days=7)


class Alerts(KeyedProcessFunction):
    """A Flink operator: findings of single runs by finding id -> (key, JSON) for the topic ``findings``."""

    def __init__(self, intervals: alerts.PublishIntervals, settings: Settings) -> None:
        self._intervals, self._settings = intervals, settings

    def open(self, runtime_context: RuntimeContext) -> None:
        self._context, self._scope = runtime_context, KeyScope()
        self._letters = DeadLetters(self._settings, runtime_context)
        factory = StateFactory(runtime_context, self._scope, "alert", FINDING_TTL)
        self._group = factory.value_state("alert", record_codec(alerts.FindingGroup))

    def close(self) -> None:
        self._letters.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            yield from usable(self._merge(value, ctx), self._letters, value)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            group = self._group.value()
            if group is not None:
                yield from usable(self._publish(group, group, time.time_ns() // 1_000_000, ctx), self._letters)

    def _merge(self, value: bytes, ctx: Any) -> Iterator[Row]:
        known, now_ms = self._group.value(), time.time_ns() // 1_000_000
        group = alerts.merge(known, Finding.FromString(value), now_ms)
        if group is not None:
            yield from self._publish(group, known, now_ms, ctx)

    def _publish(
        self, group: alerts.FindingGroup, known: alerts.FindingGroup | None, now_ms: int, ctx: Any
    ) -> Iterator[Row]:
        publication = alerts.next_publication(group, now_ms, self._intervals)
        if publication.group is None:
            self._group.clear()
        elif publication.group != known:
            self._group.update(publication.group)
        if publication.next_check_ms is not None:
            ctx.timer_service().register_processing_time_timer(publication.next_check_ms)
        if publication.record is not None:
            finding = publication.record
            if publication.group is not None and publication.group.published != group.published:
                step_counter(self._context, FINDINGS, finding.rule, finding.severity, finding.state).inc()
            yield Row(finding.finding_id, to_json(finding).decode())
