"""Reads one application from its event log: its identity, its stages, and the rows that rules and comparisons use."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, cast

from sparkfuse_contracts.generated.view_rows import AppLiveRow, StageLiveRow
from sparkfuse_kernel.event_logs.log import Log, UnreadableLogError
from sparkfuse_native_analytics.event_logs.reading import LogTables, StageKey, read_log, read_logs
from sparkfuse_native_analytics.event_logs.table_rows import ApplicationRow
from sparkfuse_native_analytics.offline import application_row, stage_rows
from sparkfuse_native_analytics.offline.display_names import DisplayNames, display_names
from sparkfuse_rules.knowledge.application_end import SUCCEEDED
from sparkfuse_rules.knowledge.identity import PROPERTY_KEYS, UNNAMED, attempt_number, identify
from sparkfuse_rules.knowledge.plan_operators import runs_python
from sparkfuse_rules.knowledge.scrubbing import scrub_query
from sparkfuse_rules.knowledge.stage_graph import CompleteRun, StartedStageOfRun, fingerprint_in_run
from sparkfuse_rules.knowledge.training_samples import ended_well

if TYPE_CHECKING:
    import pyarrow as pa

PROPERTIES = "Spark Properties"
# Properties that identify the job. If the start event of the application was lost, the last two properties give its
# name and id.
IDENTITY_KEYS = (*PROPERTY_KEYS, "spark.app.name", "spark.app.id")
_TABLES = (
    "applications", "jobs", "stages", "failures", "executors", "sql_executions", "plan_nodes", "environment",
)  # fmt: skip
_TIME_COLUMNS = {
    "applications": ("started_ms", "ended_ms"),
    "jobs": ("submitted_ms", "completed_ms"),
    "stages": ("submitted_ms", "completed_ms", "first_launched_ms", "last_finished_ms"),
    "executors": ("added_ms", "removed_ms"),
}


@dataclass(frozen=True)
class Application:
    """One application attempt. Times are ms since the epoch.

    ``tables`` are Arrow tables of the kernel: applications, jobs, stages, failures, executors, sql_executions,
    plan_nodes, environment; ``read.table(name)`` returns other tables. ``until_ms`` is the last time in the log, and
    ``completeness`` the share of the log that could be read, from 0 to 1. ``fingerprints``, ``run_python`` (whether a
    stage runs Python functions of the user), ``stage_completeness`` and ``stage_rows`` (the view stage_live) have one
    entry for each row of ``tables["stages"]``, in the same order. ``row`` is the row of the view app_live.
    """

    read: LogTables
    tables: Mapping[str, pa.Table]
    app_id: str | None
    attempt: str | None
    attempt_number: int
    name: str | None
    spark_version: str | None
    started_ms: int | None
    ended_ms: int | None
    until_ms: int | None
    job_key: str
    run_key: str
    completeness: float
    fingerprints: tuple[str, ...]
    run_python: tuple[bool, ...]
    stage_completeness: tuple[float, ...]
    row: AppLiveRow

    @cached_property
    def stage_rows(self) -> pa.Table:
        """The view stage_live as an Arrow table, without expected values."""
        rows = stage_rows.stage_rows(self.tables["stages"], self.until_ms)
        names = [self.names.stages[stage_id] for stage_id, _ in self.keys]
        added = [
            {
                "stage_fingerprint": fingerprint,
                "runs_python": python,
                "stage_name": name.name,
                "stage_title": name.title,
            }
            for fingerprint, python, name in zip(self.fingerprints, self.run_python, names, strict=True)
        ]
        return stage_rows.with_columns(rows, added)

    @cached_property
    def names(self) -> DisplayNames:
        """Display names of the queries and stages."""
        return display_names(self.tables)

    @property
    def call_sites(self) -> list[str | None]:
        """The user's call site for each row of stages; None if the call site is unknown."""
        stages = self.tables["stages"]
        known: list[str | None] = stages["call_site"].to_pylist() if "call_site" in stages.schema.names else []
        return known or [None] * stages.num_rows

    def stages(self, *columns: str) -> list[StageLiveRow]:
        """Return some columns of ``stage_rows`` as mappings."""
        rows: list[StageLiveRow] = self.stage_rows.select(list(columns)).to_pylist()
        return rows

    @property
    def ended_well(self) -> bool:
        """Whether the application succeeded, and no stage failed in its last attempt."""
        return self.row["status"] == SUCCEEDED and ended_well(0, len(_failed_stages(self.tables)))

    @property
    def keys(self) -> list[StageKey]:
        """Stage id and attempt of each row of stages."""
        stages = self.tables["stages"]
        return list(zip(stages["stage_id"].to_pylist(), stages["stage_attempt"].to_pylist(), strict=True))


def read_application(log: Log, *, environment: Sequence[str] = (), threads: int = 2) -> Application:
    """Read the log of one application attempt.

    ``environment`` lists keys of further properties to read; a key that ends in ``*`` is a prefix.
    Raises UnreadableLogError if a file cannot be opened or has no event.
    """
    return application_of(read_log(log, environment=(*IDENTITY_KEYS, *environment), threads=threads))


def read_applications(
    logs: Sequence[Log], *, environment: Sequence[str] = ()
) -> Iterator[Application | UnreadableLogError]:
    """Read many logs in parallel; yield their applications in order, or the error of a log that cannot be read.

    A single log is read by several threads.
    """
    keys = (*IDENTITY_KEYS, *environment)
    if len(logs) == 1:
        try:
            yield application_of(read_log(logs[0], environment=keys))
        except UnreadableLogError as error:
            yield error
        return
    for read in read_logs(logs, environment=keys):
        yield read if isinstance(read, UnreadableLogError) else application_of(read)


def read_tasks(application: Application, stages: Iterable[StageKey]) -> pa.Table:
    """Read the task rows of some stage attempts as an Arrow table, in a second pass with limited memory."""
    return read_log(application.read.log, tables=("tasks",), tasks_of=stages).table("tasks")


def application_of(read: LogTables, now_ms: int | None = None) -> Application:
    """Build the application from its tables. If the log has several start events, the first one is used.

    ``now_ms`` is the time at which the log was read; the default is the current time.
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    tables = {name: read.table(name) for name in _TABLES}
    started = _first_start(tables["applications"])
    properties = _properties(tables["environment"])
    app_id = started["app_id"] or properties.get("spark.app.id")
    name = started["name"] or properties.get("spark.app.name")
    attempt = started["attempt"]
    number = attempt_number(attempt)
    who = identify(properties, name or app_id, app_id or UNNAMED, number, started["started_ms"], started["user_name"])
    until_ms = _last_moment(tables)
    of_log = _completeness(read)
    plans = _first_plans(tables["plan_nodes"])
    return Application(
        read=read,
        tables=tables,
        app_id=app_id,
        attempt=attempt,
        attempt_number=number,
        name=name,
        spark_version=started["spark_version"],
        started_ms=started["started_ms"],
        ended_ms=started["ended_ms"],
        until_ms=until_ms,
        job_key=who.job_key,
        run_key=who.run_key,
        completeness=of_log,
        fingerprints=tuple(_fingerprints(tables, plans)),
        run_python=tuple(_run_python(tables["stages"], plans)),
        stage_completeness=tuple(stage_rows.completeness(tables["stages"], of_log)),
        row=application_row.application_row({**started, "name": name}, tables, until_ms, read.evidence, now_ms),
    )


def _first_start(applications: pa.Table) -> ApplicationRow:
    rows: list[ApplicationRow] = applications.slice(0, 1).to_pylist()
    return rows[0] if rows else cast(ApplicationRow, dict.fromkeys(applications.schema.names))


def _properties(environment: pa.Table) -> dict[str, str]:
    rows = environment.select(["section", "key", "value"]).to_pylist()
    return {row["key"]: row["value"] or "" for row in rows if row["section"] == PROPERTIES}


def _last_moment(tables: Mapping[str, pa.Table]) -> int | None:
    columns = (tables[table][column] for table, columns in _TIME_COLUMNS.items() for column in columns)
    return max((moment for column in columns for moment in column.to_pylist() if moment is not None), default=None)


def _completeness(read: LogTables) -> float:
    """Return the share of events that were read; 0 if a file is missing, or a file other than the last is damaged.

    If a log is still being written or is truncated at its end, the events after this end are not counted as missing.
    """
    evidence = read.evidence
    if read.log.missing or any(file["truncated"] or file["error"] for file in evidence["files"][:-1]):
        return 0.0
    there = evidence["events"]
    lost = evidence["malformed"] + evidence["left_out"]
    return there / (there + lost) if there else 0.0


def _run_python(stages: pa.Table, plans: Mapping[int, Sequence[str]]) -> list[bool]:
    """Return, for each row of the table stages, whether the stage runs Python functions of the user."""
    rows = stages.select(["scope_names", "sql_execution_id"]).to_pylist()
    return [runs_python(row["scope_names"] or (), plans.get(row["sql_execution_id"], ())) for row in rows]


def _fingerprints(tables: Mapping[str, pa.Table], plans: Mapping[int, Sequence[str]]) -> list[str]:
    """Return the fingerprint of each row of stages; all attempts of a stage have the same fingerprint."""
    columns = ["stage_id", "name", "scope_names", "parent_stage_ids", "sql_execution_id", "depth", "submitted_ms"]
    rows = tables["stages"].select(columns).to_pylist()
    known: dict[int, StartedStageOfRun] = {}
    for row in rows:  # rows are sorted by id and attempt, so a stage's first attempt comes first
        if row["name"] is not None and row["stage_id"] not in known:
            scopes, parents = row["scope_names"] or (), row["parent_stage_ids"] or ()
            known[row["stage_id"]] = StartedStageOfRun(
                row["name"], tuple(scopes), tuple(parents), row["sql_execution_id"],
                depth=row["depth"], submitted_ms=row["submitted_ms"],
            )  # fmt: skip
    run = CompleteRun(known, plans)
    return [fingerprint_in_run(row["stage_id"], row["name"], run) for row in rows]


def _first_plans(plan_nodes: pa.Table) -> dict[int, list[str]]:
    """Return the nodes of each SQL execution's first plan; later plans, of adaptive execution, vary with the data."""
    versions = plan_nodes["plan_version"].to_pylist()
    executions = plan_nodes["sql_execution_id"].to_pylist()
    plans: dict[int, list[str]] = {}
    # The nodes of a plan are adjacent rows, so only the rows of first plans need to be converted to Python.
    for (execution, version), places in groupby(range(len(versions)), lambda at: (executions[at], versions[at])):
        if version == 0:
            first, *rest = places
            plan = plan_nodes.slice(first, 1 + len(rest)).select(["name", "condition"]).to_pylist()
            texts = (f"{node['name'] or ''} {node['condition'] or ''}".strip() for node in plan)
            plans.setdefault(execution, []).extend(scrub_query(text) for text in texts)
    return plans


def _failed_stages(tables: Mapping[str, pa.Table]) -> set[int]:
    """Return the ids of the stages whose last attempt failed."""
    rows = tables["stages"].select(["stage_id", "status"]).to_pylist()
    last = {row["stage_id"]: row["status"] for row in rows}  # sorted by attempt, so the last one remains
    return {stage_id for stage_id, status in last.items() if status == "failed"}
