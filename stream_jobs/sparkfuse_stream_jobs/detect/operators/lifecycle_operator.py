"""Decides when a finding of one run is pending, firing or resolved."""

# Flink defines the names, the signatures and the contracts of the methods.
# ruff: noqa: D102

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.owners import read_owners
from sparkfuse_rules.prices import read_prices
from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters
from sparkfuse_stream_jobs.detect.findings import FindingBuilder
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, Timer, subject_codec
from sparkfuse_stream_jobs.detect.operators.invalid_values import usable
from sparkfuse_stream_jobs.detect.operators.records import split_record
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.rule_sql import post_end_rules, read_severities
from sparkfuse_stream_jobs.detect.state.codec import integer_codec
from sparkfuse_stream_jobs.detect.state.flink_state import KeyScope, StateFactory

# The state of a run without rows for a week is dropped.
RUN_TTL = timedelta(days=7)


class RunLifecycle(KeyedProcessFunction):
    """A Flink operator: batches of severities and LiveRow by run -> (finding id, Finding of that run)."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        self._settings = settings
        owners, prices = read_owners(settings.config_file), read_prices(settings.config_file)
        builder = FindingBuilder.of(catalog, settings.runbook_url, owners, prices)
        evaluation = RuleEvaluation(catalog, settings.window_ms, builder)
        self._lifecycle = Lifecycle(evaluation, post_end_rules(catalog))

    def open(self, runtime_context: RuntimeContext) -> None:
        self._scope, self._letters = KeyScope(), DeadLetters(self._settings, runtime_context)
        factory = StateFactory(runtime_context, self._scope, "findings", RUN_TTL)
        self._state = LifecycleState(
            ended_ms=factory.value_state("ended_ms", integer_codec()),
            subject_count=factory.value_state("watched", integer_codec()),
            subjects=factory.map_state("units", subject_codec()),
            timer_ms=factory.value_state("wake_ms", integer_codec()),
        )

    def close(self) -> None:
        self._letters.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            for part in split_record(value):
                encoded_severities, content = split_record(part)
                row, severities = LiveRow.FromString(content), read_severities(encoded_severities.decode())
                outputs = self._lifecycle.step(row, severities, self._state)
                yield from self._emit(usable(outputs, self._letters, content), ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._scope.enter(ctx.get_current_key()):
            outputs = self._lifecycle.on_timer(timestamp, self._state)
            yield from self._emit(usable(outputs, self._letters), ctx)

    @staticmethod
    def _emit(outputs: Iterable[Finding | Timer], ctx: Any) -> Iterator[Row]:
        for output in outputs:
            if isinstance(output, Timer):
                ctx.timer_service().register_event_time_timer(output.at_ms)
            else:
                yield Row(output.finding_id, output.SerializeToString())
