"""SQL executions: starts, plans, re-plans, values of their metrics, ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkfuse_collectors.facts.record import BULK, RESERVED, News, whole_number
from sparkfuse_contracts.generated.fact_pb2 import SqlEnded, SqlMetrics, SqlPlan, SqlPlanMetric, SqlStarted
from sparkfuse_rules.knowledge.plan_operators import condition, has_condition
from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query, shortened

Event = Mapping[str, Any]
# The bounds of the plugin's SqlPlanCopier and SqlRegistry.
MOST_NAMES = 256
MOST_NODES = 1000
MOST_METRICS = 2000
MOST_NAME_CHARS = 200
MOST_CHARS = 60_000
MOST_VISITS = 20_000
MOST_EXECUTIONS = 500
MOST_VALUES = 4096
MOST_VALUES_IN_ALL = 50_000
MOST_STAGES = 4096


@dataclass
class _Execution:
    """A running execution: how often it was planned, and the last values of its accumulators, None before the first."""

    versions: int = 0
    values: dict[int, int | None] = field(default_factory=dict)
    left_out: int = 0

    def put(self, accumulator: int, value: int | None) -> None:
        if accumulator < 0:
            return
        if accumulator not in self.values and len(self.values) >= MOST_VALUES:
            self.left_out += 1
        elif value is not None or accumulator not in self.values:
            self.values[accumulator] = value


class SqlBook:
    """What is to be remembered of running executions, until they end; the oldest are forgotten beyond the bounds."""

    def __init__(self) -> None:
        self._running: dict[int, _Execution] = {}
        self._stages: dict[tuple[int, int], int] = {}

    def started(self, event: Event) -> Iterator[News]:
        """The facts of a SparkListenerSQLExecutionStart."""
        execution, started_ms = event["executionId"], event["time"]
        self._running[execution] = running = _Execution()
        plan = self._plan(execution, running, event.get("sparkPlanInfo"))
        message = SqlStarted(
            sql_execution_id=execution,
            started_ms=started_ms,
            description=scrub_query(str(event.get("description"))),
            plan_nodes=_conditions(event.get("sparkPlanInfo"), plan),
            root_execution_id=event.get("rootExecutionId"),
        )
        yield News(RESERVED, started_ms, "sql_started", str(execution), message)
        yield _plan_news(plan, started_ms)

    def replanned(self, event: Event, at_ms: int) -> Iterator[News]:
        """The fact of a SparkListenerSQLAdaptiveExecutionUpdate, which has no time of its own."""
        execution = event["executionId"]
        if (running := self._running.get(execution)) is not None:
            yield _plan_news(self._plan(execution, running, event.get("sparkPlanInfo")), at_ms)

    def expected(self, event: Event) -> None:
        """A SparkListenerSQLAdaptiveSQLMetricUpdates: a subquery tells its metrics without a plan."""
        if (running := self._running.get(event["executionId"])) is not None:
            for metric in (event.get("sqlPlanMetrics") or ())[:MOST_VALUES]:
                running.put(metric.get("accumulatorId", -1), None)
            self._bound()

    def stage_started(self, stage: tuple[int, int], execution: int | None) -> None:
        """A stage attempt of an execution was submitted."""
        if execution in self._running:
            self._stages[stage] = execution
            if len(self._stages) > MOST_STAGES:
                del self._stages[next(iter(self._stages))]

    def stage_ended(self, stage: tuple[int, int], event: Event) -> None:
        """What a stage's accumulators hold at its end is what they hold by then: the last one counts."""
        running = self._running.get(self._stages.pop(stage, -1))
        for each in (event["Stage Info"].get("Accumulables") or ())[:MOST_VALUES] if running else ():
            value = whole_number(each.get("Value"))
            if running and value is not None and each.get("ID", -1) in running.values:
                running.put(each["ID"], value)

    def driver_updated(self, event: Event) -> None:
        """The values of a SparkListenerDriverAccumUpdates, which the driver itself counted."""
        if (running := self._running.get(event["executionId"])) is not None:
            for pair in (event.get("accumUpdates") or ())[:MOST_VALUES]:
                if len(pair) == 2:
                    running.put(pair[0], whole_number(pair[1]))

    def ended(self, event: Event) -> Iterator[News]:
        """The facts of a SparkListenerSQLExecutionEnd."""
        execution, ended_ms = event["executionId"], event["time"]
        if (running := self._running.pop(execution, None)) is not None:
            yield News(BULK, ended_ms, "sql_metrics", str(execution), _metrics(execution, running))
        # Spark says "" of an execution that ended well.
        failure = event.get("errorMessage") or None
        told = SqlEnded(
            sql_execution_id=execution,
            ended_ms=ended_ms,
            failure_reason=None if failure is None else scrub(failure),
        )
        yield News(RESERVED, ended_ms, "sql_ended", str(execution), told)

    def _plan(self, execution: int, running: _Execution, plan: Event | None) -> SqlPlan:
        message = _copied(execution, running.versions, plan, running)
        running.versions += 1
        self._bound()
        return message

    def _bound(self) -> None:
        values = sum(len(running.values) for running in self._running.values())
        while len(self._running) > MOST_EXECUTIONS or (values > MOST_VALUES_IN_ALL and len(self._running) > 1):
            eldest = self._running.pop(next(iter(self._running)))
            values -= len(eldest.values)


def _plan_news(plan: SqlPlan, at_ms: int) -> News:
    return News(BULK, at_ms, "sql_plan", f"{plan.sql_execution_id}|{plan.plan_version}", plan)


def _metrics(execution: int, running: _Execution) -> SqlMetrics:
    known = sorted((key, value) for key, value in running.values.items() if value is not None)
    return SqlMetrics(
        sql_execution_id=execution,
        accumulator_ids=[key for key, _ in known],
        values=[value for _, value in known],
        left_out=running.left_out,
    )


def _conditions(root: Event | None, plan: SqlPlan) -> list[str]:
    """The first nodes of the copied plan, filters and joins with what they ask."""
    found: list[str] = []
    waiting = [root] if root else []
    while waiting and len(found) < min(MOST_NAMES, len(plan.node_names)):
        node = waiting.pop()
        name = shortened(str(node.get("nodeName")), MOST_NAME_CHARS)
        asked = condition(str(node.get("simpleString"))) if has_condition(name) else ""
        found.append(scrub_query(f"{name} {asked}" if asked else name))
        waiting.extend(reversed(node.get("children") or ()))
    return found


def _copied(execution: int, version: int, plan: Event | None, running: _Execution) -> SqlPlan:
    """Names, shape and metrics of a plan in pre-order, within the bounds; what they left out is counted."""
    message = SqlPlan(sql_execution_id=execution, plan_version=version, left_out_nodes=0, left_out_metrics=0)
    waiting = [(plan, -1)] if plan else []
    visits = chars = 0
    while waiting and visits < MOST_VISITS:
        node, parent = waiting.pop()
        visits += 1
        number = len(message.node_names)
        if number >= MOST_NODES or chars >= MOST_CHARS:
            message.left_out_nodes += 1
            number = parent
        else:
            name = shortened(str(node.get("nodeName")), MOST_NAME_CHARS)
            chars += len(name)
            message.node_names.append(scrub_query(name))
            message.node_parents.append(parent)
            chars = _copy_metrics(message, number, node, running, chars)
        waiting.extend((child, number) for child in reversed(node.get("children") or ()))
    message.left_out_nodes += len(waiting)
    return message


def _copy_metrics(message: SqlPlan, number: int, node: Event, running: _Execution, chars: int) -> int:
    """The metrics of one node; how many letters the plan has by now."""
    for metric in (node.get("metrics") or ())[:MOST_METRICS]:
        accumulator = metric.get("accumulatorId", -1)
        running.put(accumulator, None)
        if len(message.metrics) >= MOST_METRICS or chars >= MOST_CHARS:
            message.left_out_metrics += 1
            continue
        name = str(metric.get("name"))[:MOST_NAME_CHARS]
        chars += len(name)
        message.metrics.append(
            SqlPlanMetric(node=number, accumulator_id=accumulator, name=name, type=str(metric.get("metricType")))
        )
    return chars
