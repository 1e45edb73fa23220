"""Fills the store with the rows of a generated company, with ClickHouse's own function ``numbers``.

Each application belongs to one of 200 jobs and runs for 15 minutes with 10 stages, 2 queries and 4 executors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clickhouse_connect.driver.client import Client

from sparkfuse_native_analytics.store.columns import contract_column_types
from sparkfuse_native_analytics.store.fill_job_runs import fill_job_runs
from sparkfuse_native_analytics.store.migrate import migrations

DAY_MS = 86_400_000
MINUTE_MS = 60_000
RUN_MS = 15 * MINUTE_MS
TASKS = 2_000
JOBS = 200
HOSTS = 100
FIRING = 20
# Facts are kept for 30 days; one day is left, so that no row expires while the queries are measured.
FACT_DAYS = 29
# The migrations whose statements fill tables that the loader derives.
_DERIVED = ("0014_current_rows.sql", "0015_runs_and_hosts.sql")
_TABLES = "SELECT name FROM system.tables WHERE database = currentDatabase()"
# Rows of an application, by kind.
LIVE_ROWS = {"application_started": 1, "application": 60, "stage": 100, "query": 20, "executor_added": 4,
             "executor": 120, "task": 40, "application_ended": 1}  # fmt: skip
_VIEWS = {"application": "app_live", "stage": "stage_live", "query": "query_live", "executor": "executor_live",
          "task": "task_live"}  # fmt: skip


@dataclass(frozen=True)
class Company:
    """The size of the company; ``end_ms`` is the time of the newest row, in ms since the epoch.

    The applications start evenly over ``days`` days. Facts about tasks exist for the last ``FACT_DAYS`` days only.
    """

    tasks: int
    days: int
    end_ms: int

    @property
    def with_tasks(self) -> int:
        """The number of applications with facts about their tasks; they are the newest."""
        return self.tasks // TASKS

    @property
    def applications(self) -> int:
        """The number of applications."""
        return self.with_tasks * self.days // min(self.days, FACT_DAYS)

    @property
    def step_ms(self) -> int:
        """The time between the starts of two applications."""
        return (self.days * DAY_MS - RUN_MS) // self.applications

    @property
    def first_ms(self) -> int:
        """The start of the oldest application; the newest one starts half a run before the end."""
        return self.end_ms - RUN_MS // 2 - (self.applications - 1) * self.step_ms

    def app_id(self, number: int) -> str:
        """Return the id of an application, as ``application_sql`` does."""
        return f"application_{self.first_ms // 1000}_{number:07d}"


@dataclass(frozen=True)
class _Rows:
    """The rows of one statement: ``each`` rows for each of ``subjects`` subjects, whose numbers start at ``first``.

    The columns may use ``subject``, ``part`` (the number of the row of its subject), ``job``, ``start`` and ``number``.
    """

    table: str
    first: int
    subjects: int
    each: int
    columns: Mapping[str, str]
    only: str = "1"


def fill(client: Client, company: Company, *, derived: bool = True) -> Iterator[tuple[str, int]]:
    """Insert the rows; yield each table with the number of its rows after each statement.

    The statements of the migration fill the tables that the loader derives, if ``derived`` is true.
    """
    there = {name for (name,) in client.query(_TABLES).result_rows}
    for rows in _statements(company):
        if rows.table not in there:  # the store is of an earlier version
            continue
        names = ", ".join(f"`{name}`" for name in rows.columns)
        values = ", ".join(f"{sql} AS `{name}`" for name, sql in rows.columns.items())
        client.command(
            f"""INSERT INTO {rows.table} ({names})
            WITH {rows.first} + intDiv(number, {rows.each}) AS subject, toInt64(number % {rows.each}) AS part,
                 subject % {JOBS} AS job, toInt64({company.first_ms} + subject * {company.step_ms}) AS start
            SELECT {values} FROM numbers({rows.subjects * rows.each}) WHERE {rows.only}""",
            settings={"max_partitions_per_insert_block": 0, "max_insert_threads": 2},
        )
        yield rows.table, int(str(client.command(f"SELECT count() FROM {rows.table}")))
    for migration in migrations() if derived else ():
        for statement in migration.statements("") if migration.name in _DERIVED else ():
            if statement.startswith("INSERT"):
                client.command(statement)
                yield (table := statement.split()[2]), int(str(client.command(f"SELECT count() FROM {table}")))
    if derived:
        fill_job_runs(client)


def application_sql(company: Company) -> Mapping[str, str]:
    """Return the columns that identify an application."""
    return {
        "app_id": f"concat('application_{company.first_ms // 1000}_', leftPad(toString(subject), 7, '0'))",
        "app_start_ms": "start",
        "app_attempt": "toInt32(1)",
        "cluster": "'prod'",
        "tenant": "concat('tenant-', toString(job % 4))",
    }


def _statements(company: Company) -> Iterator[_Rows]:
    known, everyone = application_sql(company), (0, company.applications)
    for kind, each in LIVE_ROWS.items():
        at = f"start + {RUN_MS} * ({'part + 1' if kind in _VIEWS else int(kind == 'application_ended')}) / {each}"
        columns = {
            **known,
            "row": f"'{kind}'",
            "view": f"'{_VIEWS.get(kind, kind)}'",
            "window_end_ms": f"toInt64({at})",
            "row_seq": f"part * 8 + {list(LIVE_ROWS).index(kind)}",
            "row_epoch_ms": "start",
            "completeness": "1.0",
            **_LIVE[kind],
            **_arrived("window_end_ms"),
        }
        yield _Rows("live", *everyone, each, columns, f"window_end_ms <= {company.end_ms}")
    yield _Rows("ended_stages", *everyone, 10, {**known, **_ENDED_STAGE, **_arrived("completed_ms")},
                f"completed_ms <= {company.end_ms}")  # fmt: skip
    yield _Rows("stage_expectations", *everyone, 10, {**known, **_EXPECTATION, **_arrived("window_end_ms")},
                f"window_end_ms <= {company.end_ms}")  # fmt: skip
    yield _Rows("names", *everyone, 12, {**known, **_NAME, **_arrived("updated_ms")})
    yield _Rows("history", 0, company.applications // 10, 11, {**known, **_HISTORY, **_arrived("app_ended_ms")})
    yield _Rows(
        "run_resources",
        *everyone,
        1,
        {"app_id": known["app_id"], **_RESOURCES},
        f"start + {RUN_MS} <= {company.end_ms}",
    )
    minutes = (company.days * DAY_MS - RUN_MS) // MINUTE_MS
    finding = {name: sql.format(company=company) for name, sql in _FINDING.items()} | {"runs": _runs(company)}
    yield _Rows("findings", 0, minutes, FIRING, {**finding, **_arrived("updated_ms")})
    yield _Rows("dead_letters", 0, minutes // 10, 1, {**_DEAD_LETTER, "seen_ms": _minutes_ago(company, 10),
                                                      **_arrived("seen_ms")})  # fmt: skip
    step = {"at_ms": _minutes_ago(company, 10), **_STEP, "app_id": known["app_id"]}
    yield _Rows("audit", 0, minutes // 10, 1, {**step, **_AUDIT, **_arrived("at_ms")})
    yield _Rows("receipts", 0, minutes // 10, 1, {**step, **_RECEIPT, **_arrived("at_ms")})
    first = company.applications - company.with_tasks
    yield _Rows("facts", first, company.with_tasks, TASKS, {**known, **_TASK, **_arrived("event_time_ms")})


def _runs(company: Company) -> str:
    """Return the list of runs of a finding: one run, of the application that started last."""
    last = f"greatest(0, intDiv(updated_ms - {company.first_ms}, {company.step_ms}))"
    app_id = application_sql(company)["app_id"].replace("subject", last)
    kind = contract_column_types("findings")["runs"]
    return f"JSONExtract(concat('[', toJSONString(map('app_id', {app_id}, 'state', state)), ']'), '{kind}')"


def _minutes_ago(company: Company, minutes: int) -> str:
    return f"toInt64({company.end_ms} - number * {minutes * MINUTE_MS})"


def _arrived(column: str) -> dict[str, str]:
    return {
        "kafka_partition": "toInt32(subject % 8)",
        "kafka_offset": "toInt64(number)",
        "inserted_at": f"fromUnixTimestamp64Milli({column})",
    }


def _host(executor: str) -> str:
    return f"concat('node-', toString((subject * 7 + {executor}) % {HOSTS}))"


_APPLICATION_NAME = "concat('nightly_', toString(job), ' ', toString(toDate(fromUnixTimestamp64Milli(start))))"
_RESOURCES: Mapping[str, str] = {
    "app_start_ms": "start",
    "app_attempt": "toInt32(1)",
    "job_key": "concat('job-', toString(job))",
    "team": "concat('team-', toString(job % 10))",
    "status": "'succeeded'",
    "elapsed_ms": f"toInt64({RUN_MS})",
    "completeness": "1.0",
    "core_ms": f"toInt64({16 * RUN_MS})",
    "memory_mib_ms": f"toInt64({4096 * RUN_MS})",
    "busy_core_ms": f"toInt64({9 * RUN_MS})",
    "retried_core_ms": "toInt64(0)",
    "input_bytes": "toInt64(1000000000 + cityHash64(number) % 1000000000)",
    "executors": "1",
}
_LIVE: Mapping[str, Mapping[str, str]] = {
    "application_started": {
        "application_started_name": _APPLICATION_NAME,
        "application_started_user_name": "concat('user-', toString(job % 20))",
        "application_started_spark_version": "'3.5.9'",
        "application_started_properties": "map('spark.sparkfuse.job', concat('job-', toString(job)), "
        "'spark.sparkfuse.team', concat('team-', toString(job % 10)))",
    },
    "application": {
        "application_name": _APPLICATION_NAME,
        "application_user_name": "concat('user-', toString(job % 20))",
        "application_status": "if(part < 59, 'running', 'succeeded')",
        "application_ended_ms": f"if(part < 59, NULL, start + {RUN_MS})",
        "application_elapsed_ms": "window_end_ms - start",
        "application_running_stages": "part % 3",
        "application_running_tasks": "part % 17",
        "application_finished_tasks": "part * 8",
        "application_failed_tasks": "toInt64(0)",
        "application_executors": "toInt64(4)",
        "application_disk_spilled_bytes": "part * 1000000 * (job % 3)",
        "application_facts_seen": "part * 30",
        "application_facts_expected": "part * 30",
        "application_driver_silent_ms": "toInt64(0)",
        "allocated_core_ms": "16 * (window_end_ms - start)",
        "allocated_memory_mib_ms": "65536 * (window_end_ms - start)",
    },
    "stage": {
        "stage_stage_id": "toInt32(intDiv(part, 10))",
        "stage_stage_attempt": "toInt32(0)",
        "stage_name": "concat('save at job.py:', toString(intDiv(part, 10)))",
        "stage_num_tasks": "toInt32(50)",
        "stage_status": "if(part % 10 < 9, 'running', 'succeeded')",
        "stage_submitted_ms": f"start + intDiv(part, 10) * {RUN_MS // 10}",
        "stage_elapsed_ms": "window_end_ms - stage_submitted_ms",
        "stage_sql_execution_id": "toInt64(intDiv(part, 50))",
        "stage_succeeded_tasks": "(part % 10 + 1) * 5",
        "stage_running_tasks": "toInt64(16)",
        "stage_failed_tasks": "toInt64(0)",
        "stage_work_bytes": "part * 10000000 + cityHash64(number) % 1000000",
        "stage_disk_spilled_bytes": "part * 100000 * (job % 3)",
        "stage_bytes_ratio": "1 + (cityHash64(number) % 100) / 50",
    },
    "query": {
        "query_query_id": "intDiv(part, 10)",
        "query_status": "if(part % 10 < 9, 'running', 'succeeded')",
        "query_elapsed_ms": f"(part % 10 + 1) * {RUN_MS // 20}",
        "query_call_site": "'save at job.py:88'",
        "query_running_tasks": "toInt64(16)",
        "query_input_bytes": "part * 10000000",
        "query_stage_ids": "'0 1 2 3 4'",
    },
    "executor_added": {
        "executor_added_executor_id": "toString(part)",
        "executor_added_host": _host("part"),
        "executor_added_cores": "toInt32(4)",
        "executor_added_added_ms": "start",
    },
    "executor": {
        "executor_executor_id": "toString(part % 4)",
        "executor_host": _host("part % 4"),
        "executor_heap_used_bytes": "1000000000 + cityHash64(number) % 3000000000",
        "executor_heap_max_bytes": "toInt64(4000000000)",
        "executor_gc_share": "(cityHash64(number) % 100) / 1000",
        "executor_rss_bytes": "toInt64(5000000000)",
        "executor_running_tasks": "toInt32(4)",
    },
    "task": {
        "task_stage_id": "toInt32(intDiv(part, 4))",
        "task_stage_attempt": "toInt32(0)",
        "task_task_id": "part",
        "task_task_index": "toInt32(part)",
        "task_task_attempt": "toInt32(0)",
        "task_executor_id": "toString(part % 4)",
        "task_host": _host("part % 4"),
        "task_age_ms": "toInt64(60000)",
        "task_activity": "'moving'",
    },
    "application_ended": {"application_ended_ended_ms": f"start + {RUN_MS}"},
}
_ENDED_STAGE = {
    "window_end_ms": f"toInt64(start + (part + 1) * {RUN_MS // 10})",
    "completed_ms": "window_end_ms",
    "row_seq": "part",
    "row_epoch_ms": "start",
    "completeness": "1.0",
    "stage_id": "toInt32(part)",
    "stage_attempt": "toInt32(0)",
    "name": "concat('save at job.py:', toString(part))",
    "status": "'succeeded'",
    "num_tasks": "toInt32(50)",
    "elapsed_ms": f"{RUN_MS // 10} + cityHash64(number) % 30000",
    "work_bytes": "100000000 + cityHash64(number) % 9000000",
    "finished_cpu_ms": f"{RUN_MS // 10} * 12 + cityHash64(number, 1) % 100000",
}
_EXPECTATION = {
    "window_end_ms": f"toInt64(start + (part + 1) * {RUN_MS // 10})",
    "stage_id": "toInt32(part)",
    "stage_attempt": "toInt32(0)",
    "status": "'succeeded'",
    "job_key": "concat('job-', toString(job))",
    "run_key": "concat(app_id, '/1@', toString(start))",
    "owner": "concat('user-', toString(job % 20))",
    "team": "concat('team-', toString(job % 10))",
    "stage_fingerprint": "lower(hex(cityHash64(job, part)))",
    "stage_name": "concat('q', toString(intDiv(part, 5)), ': orders')",
    "query_id": "intDiv(part, 5)",
    "query_name": "concat('q', toString(intDiv(part, 5)), ': write parquet to lake/orders')",
    "baseline_runs": "toInt64(20)",
    "expected_ms": f"{RUN_MS // 10} + cityHash64(number) % 30000",
    "expected_p95_ms": f"{RUN_MS // 5} + cityHash64(number) % 30000",
    "work_measure": "'bytes'",
    "deadline_ms": f"toInt64(start + {2 * RUN_MS})",
    "deadline_source": "'history'",
    "core_ms": f"{RUN_MS // 10} * 12 + cityHash64(number, 1) % 100000",
    "cost": "core_ms / 3600000 * 0.05",
    "currency": "'USD'",
}
_NAME = {
    "kind": "if(part < 10, 'stage', 'query')",
    "stage_id": "if(part < 10, toInt32(part), NULL)",
    "query_id": "if(part < 10, NULL, part - 10)",
    "name": "concat('q', toString(part), ': orders')",
    "job_key": "concat('job-', toString(job))",
    "updated_ms": f"toInt64(start + part * {RUN_MS // 30})",
}
_HISTORY = {
    "app_ended_ms": f"start + {RUN_MS}",
    "row": "if(part = 10, 'application', 'stage')",
    "completeness": "1.0",
    "job_key": "concat('job-', toString(job))",
    "application_name": f"if(part = 10, {_APPLICATION_NAME}, NULL)",
    "application_status": "if(part = 10, 'succeeded', NULL)",
    "application_ended_ms": f"if(part = 10, start + {RUN_MS}, NULL)",
    "stage_stage_id": "if(part = 10, NULL, toInt32(part))",
    "stage_stage_attempt": "if(part = 10, NULL, toInt32(0))",
    "stage_status": "if(part = 10, NULL, 'succeeded')",
}
# A finding fires for three hours; the application is the one that started last.
_FINDING = {
    "updated_ms": f"toInt64({{company.end_ms}} - subject * {MINUTE_MS})",
    "started_ms": "toInt64(updated_ms - updated_ms % 10800000)",
    "rule": "['stage_slow', 'stage_skew', 'stage_spill', 'task_stuck'][part % 4 + 1]",
    "severity": "['critical', 'warning', 'info'][part % 3 + 1]",
    "state": "if(intDiv(updated_ms + 60000, 10800000) > intDiv(updated_ms, 10800000), 'resolved', 'firing')",
    "job_key": f"concat('job-', toString((part * 9 + intDiv(started_ms, 10800000)) % {JOBS}))",
    "finding_id": "lower(hex(cityHash64(job_key, rule, started_ms)))",
    "scope": "'stage'",
    "summary": "'A stage takes longer than expected'",
    "description": f"concat('Stage 7 of ', job_key, ' runs on node-', toString(part % {HOSTS}), ' for 12 minutes.')",
    "runbook_url": "concat('http://localhost/runbooks/', rule)",
    "cluster": "'prod'",
    "tenant": "'tenant-1'",
    "team": "concat('team-', toString(part % 10))",
    "completeness": "1.0",
}
_DEAD_LETTER = {"component": "'loader'", "topic": "'facts'", "reason": "'not a Fact'"}
_STEP = {"actor": "'controller'", "rule": "'task_stuck'", "action": "'cancel_stage'", "mode": "'shadow'"}
_AUDIT = {"sequence": "toInt64(number)", "epoch": "toInt64(1)", "step": "'would_act'"}
_RECEIPT = {"receipt_id": "toString(number)", "outcome": "'probed'"}
_TASK = {
    "event_id": "reinterpretAsString(number)",
    "kind": "'task_ended'",
    "collector": "'driver-1'",
    "lane": "'bulk'",
    "seq": "part",
    "event_time_ms": f"toInt64(start + part * {RUN_MS // TASKS})",
    "task_ended_stage_id": "toInt32(part % 10)",
    "task_ended_stage_attempt": "toInt32(0)",
    "task_ended_task_id": "part",
    "task_ended_task_index": "toInt32(intDiv(part, 10))",
    "task_ended_executor_id": "toString(part % 4)",
    "task_ended_host": _host("part % 4"),
    "task_ended_duration_ms": "toInt64(5000 + cityHash64(number) % 20000)",
    "task_ended_launched_ms": "event_time_ms - task_ended_duration_ms",
    "task_ended_finished_ms": "event_time_ms",
    "task_ended_outcome": "'succeeded'",
    "task_ended_has_metrics": "true",
    "task_ended_run_ms": "task_ended_duration_ms - 100",
    "task_ended_cpu_ns": "task_ended_duration_ms * 700000",
    "task_ended_gc_ms": "cityHash64(number, 1) % 300",
    "task_ended_input_bytes": "100000000 + cityHash64(number, 2) % 28000000",
    "task_ended_input_records": "1000000 + cityHash64(number, 3) % 100000",
    "task_ended_shuffle_write_bytes": "cityHash64(number, 4) % 9000000",
    "task_ended_shuffle_write_records": "cityHash64(number, 5) % 90000",
    "task_ended_locality": "'NODE_LOCAL'",
}
