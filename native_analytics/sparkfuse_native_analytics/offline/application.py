"""One application as its event log tells it: who ran, which stages, and the rows that rules and comparisons read."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from sparkfuse_kernel.event_logs.log import Log, UnreadableLogError
from sparkfuse_native_analytics.event_logs.reading import LogTables, StageKey, read_log, read_logs
from sparkfuse_native_analytics.offline import application_row, stage_rows
from sparkfuse_rules.knowledge.identity import PROPERTY_KEYS, UNNAMED, attempt_number, identify
from sparkfuse_rules.knowledge.plan_operators import runs_python
from sparkfuse_rules.knowledge.scrubbing import scrub_query
from sparkfuse_rules.knowledge.stage_graph import CompleteRun, StartedStageOfRun, fingerprint_in_run
from sparkfuse_rules.knowledge.training_samples import ended_well

PROPERTIES = "Spark Properties"
# What identity is made of; the two below stand in for a lost start of the application.
IDENTITY_KEYS = (*PROPERTY_KEYS, "spark.app.name", "spark.app.id")
_TABLES = (
    "applications", "jobs", "stages", "failures", "executors", "sql_executions", "plan_nodes", "environment",
)  # fmt: skip
_MOMENTS = {
    "applications": ("started_ms", "ended_ms"),
    "jobs": ("submitted_ms", "completed_ms"),
    "stages": ("submitted_ms", "completed_ms", "first_launched_ms", "last_finished_ms"),
    "executors": ("added_ms", "removed_ms"),
}


@dataclass(frozen=True)
class Application:
    """One application attempt. Times are ms since the epoch.

    ``tables`` are the kernel's, as Arrow tables: applications, jobs, stages, failures, executors, sql_executions,
    plan_nodes, environment; others come from ``read.table(name)``. ``until_ms`` is the last moment that the log tells
    of, ``completeness`` the share of the log that could be read. ``fingerprints``, ``run_python`` (whether a stage runs
    Python functions of the user) and ``stage_completeness`` go with the rows of ``tables["stages"]``, and so does
    ``stage_rows``, the view stage_live; ``row`` is the view app_live.
    """

    read: LogTables
    tables: Mapping[str, Any]
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
    row: Mapping[str, Any]

    @cached_property
    def stage_rows(self) -> Any:
        """The view stage_live as an Arrow table, without expectations."""
        rows = stage_rows.stage_rows(self.tables["stages"], self.until_ms)
        known = zip(self.fingerprints, self.run_python, strict=True)
        return stage_rows.with_columns(
            rows, [{"stage_fingerprint": fingerprint, "runs_python": python} for fingerprint, python in known]
        )

    def stages(self, *columns: str) -> list[dict[str, Any]]:
        """Some columns of the same rows as mappings."""
        rows: list[dict[str, Any]] = self.stage_rows.select(list(columns)).to_pylist()
        return rows

    @property
    def ended_well(self) -> bool:
        """Whether the application ended, and neither a job nor the last attempt of a stage failed."""
        return self.ended_ms is not None and ended_well(self.row["failed_jobs"], len(_failed_stages(self.tables)))

    @property
    def keys(self) -> list[StageKey]:
        """Stage id and attempt of each row of stages."""
        stages = self.tables["stages"]
        return list(zip(stages["stage_id"].to_pylist(), stages["stage_attempt"].to_pylist(), strict=True))


def read_application(log: Log, *, environment: Sequence[str] = (), threads: int = 2) -> Application:
    """Read the log of one application attempt.

    ``environment`` are keys of properties to keep beside those of its identity; one that ends in ``*`` is a prefix.
    Raises UnreadableLogError when a file cannot be opened or holds not a single event.
    """
    return application_of(read_log(log, environment=(*IDENTITY_KEYS, *environment), threads=threads))


def read_applications(
    logs: Sequence[Log], *, environment: Sequence[str] = ()
) -> Iterator[Application | UnreadableLogError]:
    """Read many logs side by side and give their applications in order; for a log that cannot be read, why.

    One log alone is read by several threads.
    """
    keys = (*IDENTITY_KEYS, *environment)
    if len(logs) == 1:
        try:
            yield application_of(read_log(logs[0], environment=keys))
        except UnreadableLogError as unreadable:
            yield unreadable
        return
    for read in read_logs(logs, environment=keys):
        yield read if isinstance(read, UnreadableLogError) else application_of(read)


def read_tasks(application: Application, stages: Iterable[StageKey]) -> Any:
    """The task rows of some stage attempts as an Arrow table: a second pass over the log, with bounded memory."""
    return read_log(application.read.log, tables=("tasks",), tasks_of=stages).table("tasks")


def application_of(read: LogTables, now_ms: int | None = None) -> Application:
    """The application that a log tells of. Of several starts in one log the first counts.

    ``now_ms`` is when it was read, now unless told.
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


def _first_start(applications: Any) -> dict[str, Any]:
    rows: list[dict[str, Any]] = applications.slice(0, 1).to_pylist()
    return rows[0] if rows else dict.fromkeys(applications.schema.names)


def _properties(environment: Any) -> dict[str, str]:
    rows = environment.select(["section", "key", "value"]).to_pylist()
    return {row["key"]: row["value"] or "" for row in rows if row["section"] == PROPERTIES}


def _last_moment(tables: Mapping[str, Any]) -> int | None:
    columns = (tables[table][column] for table, columns in _MOMENTS.items() for column in columns)
    return max((moment for column in columns for moment in column.to_pylist() if moment is not None), default=None)


def _completeness(read: LogTables) -> float:
    """Events that are there / events that there should be; 0 when a whole piece in the middle is gone or broken.

    What a log in progress or a torn one has not told yet is no gap: up to its end it is complete.
    """
    evidence = read.evidence
    *earlier, _ = evidence["files"] or [None]
    if read.log.missing or any(file["truncated"] or file["error"] for file in earlier):
        return 0.0
    there: int = evidence["events"]
    lost: int = evidence["malformed"] + evidence.get("left_out", 0)
    return there / (there + lost) if there else 0.0


def _run_python(stages: Any, plans: Mapping[int, Sequence[str]]) -> list[bool]:
    """Whether each row of stages runs Python functions of the user."""
    rows = stages.select(["scope_names", "sql_execution_id"]).to_pylist()
    return [runs_python(row["scope_names"] or (), plans.get(row["sql_execution_id"], ())) for row in rows]


def _fingerprints(tables: Mapping[str, Any], plans: Mapping[int, Sequence[str]]) -> list[str]:
    """The fingerprint of each row of stages; attempts of one stage have one."""
    columns = ["stage_id", "name", "scope_names", "parent_stage_ids", "sql_execution_id", "depth", "submitted_ms"]
    rows = tables["stages"].select(columns).to_pylist()
    known: dict[int, StartedStageOfRun] = {}
    for row in rows:  # by id and attempt, so that the first attempt's start counts
        if row["name"] is not None and row["stage_id"] not in known:
            scopes, parents = row["scope_names"] or (), row["parent_stage_ids"] or ()
            known[row["stage_id"]] = StartedStageOfRun(
                row["name"], tuple(scopes), tuple(parents), row["sql_execution_id"],
                depth=row["depth"], submitted_ms=row["submitted_ms"],
            )  # fmt: skip
    run = CompleteRun(known, plans)
    return [fingerprint_in_run(row["stage_id"], row["name"], run) for row in rows]


def _first_plans(plan_nodes: Any) -> dict[int, list[str]]:
    """The nodes of the plan that each SQL execution began with; adaptive execution's later ones vary with the data."""
    versions = plan_nodes["plan_version"].to_pylist()
    executions = plan_nodes["sql_execution_id"].to_pylist()
    plans: dict[int, list[str]] = {}
    # Nodes of one plan lie together: only the names of first plans become texts of Python.
    for (execution, version), places in groupby(range(len(versions)), lambda at: (executions[at], versions[at])):
        if version == 0:
            first, *rest = places
            plan = plan_nodes.slice(first, 1 + len(rest)).select(["name", "condition"]).to_pylist()
            # Scrubbed as the collectors scrub them.
            texts = (f"{node['name'] or ''} {node['condition'] or ''}".strip() for node in plan)
            plans.setdefault(execution, []).extend(scrub_query(text) for text in texts)
    return plans


def _failed_stages(tables: Mapping[str, Any]) -> set[int]:
    """The stages whose last attempt failed."""
    rows = tables["stages"].select(["stage_id", "status"]).to_pylist()
    last = {row["stage_id"]: row["status"] for row in rows}  # by attempt, so that the last one stays
    return {stage_id for stage_id, status in last.items() if status == "failed"}
