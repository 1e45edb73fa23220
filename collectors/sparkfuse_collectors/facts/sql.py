"""SQL executions: starts, plans, re-plans, values of their metrics, ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkfuse_collectors.facts.record import BULK, RESERVED, News
from sparkfuse_contracts.generated.fact_pb2 import SqlEnded, SqlMetrics, SqlPlan, SqlPlanMetric, SqlStarted
from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query

Event = Mapping[str, Any]
# Beyond this a plan says no more of which job it is.
MOST_NODES = 256
MOST_DEPTH = 200
MOST_METRICS = 1024
# Executions that run at once; a log that never ends one must not grow without bound.
MOST_EXECUTIONS = 1000


@dataclass
class _Execution:
    versions: int = 0
    accumulators: dict[int, int | None] = field(default_factory=dict)


class SqlBook:
    """What is to be remembered of running executions: how often they were planned, and their metrics' last values."""

    def __init__(self) -> None:
        self._running: dict[int, _Execution] = {}

    def started(self, event: Event) -> Iterator[News]:
        """The facts of a SparkListenerSQLExecutionStart."""
        execution, started_ms = event["executionId"], event["time"]
        root = event.get("rootExecutionId")
        names = [node["nodeName"] for node, _ in _nodes(event.get("sparkPlanInfo"))]
        message = SqlStarted(
            sql_execution_id=execution,
            started_ms=started_ms,
            description=scrub_query(str(event.get("description"))),
            plan_nodes=names[:MOST_NODES],
            root_execution_id=root,
        )
        yield News(RESERVED, started_ms, "sql_started", str(execution), message)
        yield from self.planned(event, started_ms)

    def planned(self, event: Event, at_ms: int) -> Iterator[News]:
        """The fact of a plan: of a start, or of a SparkListenerSQLAdaptiveExecutionUpdate."""
        execution, plan = event["executionId"], event.get("sparkPlanInfo")
        if plan is None:
            return
        running = self._of(execution)
        message = _plan(execution, running.versions, plan)
        running.versions += 1
        for metric in message.metrics:
            running.accumulators.setdefault(metric.accumulator_id, None)
        yield News(BULK, at_ms, "sql_plan", f"{execution}|{message.plan_version}", message)

    def updated(self, values: Mapping[int, int]) -> None:
        """Remember values of accumulators, from the driver or from a stage that ended."""
        for execution in self._running.values():
            known = execution.accumulators
            for accumulator in values.keys() & known.keys():
                known[accumulator] = values[accumulator]

    def ended(self, event: Event) -> Iterator[News]:
        """The facts of a SparkListenerSQLExecutionEnd."""
        execution, ended_ms = event["executionId"], event["time"]
        running = self._running.pop(execution, None)
        values = {key: value for key, value in running.accumulators.items() if value is not None} if running else {}
        if values:
            message = SqlMetrics(sql_execution_id=execution, accumulator_ids=list(values), values=list(values.values()))
            yield News(BULK, ended_ms, "sql_metrics", str(execution), message)
        # Spark says "" of an execution that ended well.
        failure = event.get("errorMessage") or None
        told = SqlEnded(
            sql_execution_id=execution,
            ended_ms=ended_ms,
            failure_reason=None if failure is None else scrub(failure),
        )
        yield News(RESERVED, ended_ms, "sql_ended", str(execution), told)

    def _of(self, execution: int) -> _Execution:
        found = self._running.get(execution)
        if found is None:
            if len(self._running) >= MOST_EXECUTIONS:
                del self._running[next(iter(self._running))]
            found = self._running[execution] = _Execution()
        return found


def driver_updates(event: Event) -> dict[int, int]:
    """The values of a SparkListenerDriverAccumUpdates."""
    return {pair[0]: pair[1] for pair in event.get("accumUpdates") or () if len(pair) == 2}


def stage_values(event: Event) -> dict[int, int]:
    """The whole numbers among the accumulables of a SparkListenerStageCompleted."""
    found = {}
    for each in event["Stage Info"].get("Accumulables") or ():
        value = each.get("Value")
        if isinstance(value, str) and value.lstrip("-").isdigit():
            value = int(value)
        if isinstance(value, int) and "ID" in each:
            found[each["ID"]] = value
    return found


def _plan(execution: int, version: int, plan: Event) -> SqlPlan:
    message = SqlPlan(sql_execution_id=execution, plan_version=version)
    left_out_nodes = left_out_metrics = 0
    for place, (node, parent) in enumerate(_nodes(plan)):
        metrics = node.get("metrics") or ()
        if place >= MOST_NODES:
            left_out_nodes += 1
            left_out_metrics += len(metrics)
            continue
        message.node_names.append(scrub_query(node["nodeName"]))
        message.node_parents.append(parent)
        for metric in metrics:
            if len(message.metrics) >= MOST_METRICS:
                left_out_metrics += 1
                continue
            message.metrics.append(
                SqlPlanMetric(
                    node=place,
                    accumulator_id=metric["accumulatorId"],
                    name=metric.get("name"),
                    type=metric.get("metricType"),
                )
            )
    if left_out_nodes:
        message.left_out_nodes = left_out_nodes
    if left_out_metrics:
        message.left_out_metrics = left_out_metrics
    return message


def _nodes(plan: Event | None) -> Iterator[tuple[Event, int]]:
    """The nodes of a plan in pre-order with the number of their parent; without recursion, and not deeper than 200."""
    waiting = [(plan, -1, 0)] if plan else []
    number = 0
    while waiting:
        node, parent, depth = waiting.pop()
        yield node, parent
        if depth < MOST_DEPTH:
            children = node.get("children") or ()
            waiting.extend((child, number, depth + 1) for child in reversed(children))
        number += 1
