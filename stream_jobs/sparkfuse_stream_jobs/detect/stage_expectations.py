"""Publishes for each stage attempt its job, names, expected duration, deadline and cost, for the store.

A record is published for the first row of a stage attempt, for a row in which a number differs by more than a fifth
from the published one or a name has changed, and for each row of an ended stage. What was published is kept in memory
only: after a restart, running stages are published again, and the store replaces the earlier records.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.stage_expectation_pb2 import StageExpectation
from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_rules.knowledge.money import share_of_cost
from sparkfuse_rules.knowledge.projection import RUNNING
from sparkfuse_rules.prices import Prices
from sparkfuse_stream_jobs.detect.finding_costs import cost_until
from sparkfuse_stream_jobs.detect.forecast import FROM_HISTORY, FROM_SETTING

# Maximum number of running stage attempts whose published values are kept, for 1,500 applications with 20 running
# stages each; beyond it, those that had no row for the longest time are published again.
MAX_STAGES = 60_000
# A running stage is published again if a number has changed by more than this share of its published value.
CHANGED_SHARE = 0.2
_OF_ROW = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "window_end_ms", "job_key", "run_key", "owner",
           "team", "source")  # fmt: skip
_OF_STAGE = ("stage_id", "stage_attempt", "status", "stage_fingerprint", "stage_name", "baseline_runs", "expected_ms",
             "expected_p95_ms", "work_measure")  # fmt: skip

_Key = tuple[str, str, int, int, int, int]


@dataclass(frozen=True)
class StageContext:
    """What AcrossRuns needs about a stage in addition to its row.

    ``unprojected_tasks`` of the stage may succeed before it is projected. ``query_name`` is empty if it is not known.
    """

    unprojected_tasks: int
    task_cpus: int = 1
    query_name: str = ""


def expectation_of(row: LiveRow, context: StageContext, prices: Prices | None, of_run: Fit | None) -> StageExpectation:
    """Return the record of the row of a stage, which has its expected values; unknown values stay absent.

    ``of_run`` is the fit of the whole application's baseline. If no deadline is set, the deadline is the p95 of the
    application's duration for its usual work.
    """
    stage = row.stage
    record = StageExpectation(
        **{name: getattr(row, name) for name in _OF_ROW if row.HasField(name)},
        **{name: getattr(stage, name) for name in _OF_STAGE if stage.HasField(name)},
    )
    if stage.HasField("sql_execution_id"):
        record.query_id = stage.sql_execution_id
        if context.query_name:
            record.query_name = context.query_name
    if row.HasField("run_deadline_ms"):
        record.deadline_ms, record.deadline_source = row.run_deadline_ms, FROM_SETTING
    elif of_run is not None:
        record.deadline_ms = row.app_start_ms + of_run.at_usual().expected_p95_ms
        record.deadline_source = FROM_HISTORY
    if stage.HasField("finished_duration_ms"):
        record.core_ms = stage.finished_duration_ms * context.task_cpus
        found = share_of_cost(cost_until(row, prices), record.core_ms, row.allocated_core_ms)
        if found is not None and prices is not None:
            record.cost, record.currency = found, prices.currency
    return record


@dataclass(frozen=True)
class _Published:
    """The values of the published record that can change. The cost changes with the duration of the tasks."""

    names: tuple[str, str]
    numbers: tuple[int, int, int]


@dataclass
class PublishedExpectations:
    """What was published about each running stage attempt."""

    _stages: OrderedDict[_Key, _Published] = field(default_factory=OrderedDict)

    def is_due(self, row: LiveRow, context: StageContext) -> bool:
        """Return whether a record of the row of a stage is to be published, and if so, count it as published."""
        stage = row.stage
        key = (row.cluster, row.app_id, row.app_start_ms, row.app_attempt, stage.stage_id, stage.stage_attempt)
        if stage.status != RUNNING:
            self._stages.pop(key, None)
            return True
        names = (stage.stage_name, context.query_name)
        numbers = (stage.expected_ms, stage.expected_p95_ms, stage.finished_duration_ms)
        before = self._stages.get(key)
        if before is not None and before.names == names and not _differ(before.numbers, numbers):
            self._stages.move_to_end(key)
            return False
        self._stages[key] = _Published(names, numbers)
        if len(self._stages) > MAX_STAGES:
            self._stages.popitem(last=False)
        return True


def _differ(before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return before != after and any(abs(new - old) > CHANGED_SHARE * old for old, new in zip(before, after, strict=True))
