"""Rows of the console's tests: a run with hostile text, many findings, and a real run of an event log."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from clickhouse_connect.driver.client import Client
from google.protobuf.message import Message

from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.loader.run_resources import SCHEMA as RUN_RESOURCES
from sparkfuse_native_analytics.loader.run_resources import roll_run_resources
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.history_rows import baseline_messages, display_name_messages, history_rows
from tests.integration.dashboards.scenario import arrow_rows, insert

ADVISED_JOB = "skewed/job"
APPLIED_JOB = "applied/<b>job"
WASTING_TEAM = "R&D <wasting>"
_MOMENTS = ("app_start_ms", "app_ended_ms", "submitted_ms", "completed_ms", "started_ms", "ended_ms")
SLOW_APP = "local-1795270036831"
"""The id of the slower run of `store_slow_run`."""
COMPARED = Path(__file__).parents[1] / "native_analytics" / "compare" / "logs"
LOGS = Path(__file__).parents[2] / "logs"
LIVE = examples_of(LiveRow)
FEED = {feed.table: feed for feed in FEEDS}
HOST = "worker-3.prod-eu.internal"
HOSTILE = '</title><script>window.hacked=1</script><img src=x onerror="window.hacked=2">{{7*7}}\u202egpj.exe'
HOSTILE_APP = "app-<b>'\"&/hostile"
HOSTILE_FINDING = "f<0>'/1"
SECRET = "password=hunter2hunter2"
TEAM = "many-findings"
MANY = 230
DAY_MS = 86_400_000
STARTED_MS = time.time_ns() // 1_000_000 - 600_000


def store(client: Client, table: str, messages: Iterable[Message]) -> None:
    """Store records of a topic with Protobuf values, as the loader does."""
    values = [message.SerializeToString() for message in messages]
    for name, rows in make_batch(FEED[table], Records(0, np.arange(len(values)), values), "topic").tables:
        client.insert_arrow(name, rows)


def fill_console(client: Client) -> None:
    """Insert the rows of this file."""
    store(client, "live", [LIVE[case] for case in ("executor_added", "executor_removed", "executor_loss")])
    store(client, "live", hostile_rows())
    insert(client, "findings", arrow_rows("findings", [hostile_finding(), *many_findings()]))
    client.insert_arrow("feedback", arrow_rows("feedback", verdicts()))
    client.insert_arrow("run_resources", pa.Table.from_pylist(resource_rows(), schema=RUN_RESOURCES))


def hostile_rows() -> Sequence[LiveRow]:
    """Return the rows of a run that started ten minutes ago; all its text is hostile."""
    rows = []
    for number, case in enumerate(("application_started", "app_live", "stage_live", "query_live", "executor_live")):
        row = LiveRow()
        row.CopyFrom(LIVE[case])
        row.app_id, row.app_start_ms, row.app_attempt, row.row_seq = HOSTILE_APP, STARTED_MS, 0, number + 1
        row.window_end_ms = STARTED_MS + 5_000
        rows.append(row)
    started, application, stage, query, executor = rows
    started.application_started.name = application.application.name = HOSTILE
    started.application_started.user_name = HOSTILE
    started.application_started.properties.clear()
    started.application_started.properties["spark.sparkfuse.job"] = "hostile/job"
    started.application_started.properties["spark.sparkfuse.team"] = HOSTILE
    stage.stage.name = stage.stage.failure_reason = f"{HOSTILE} {SECRET}"
    query.query.description = query.query.call_site = query.query.sources = HOSTILE
    executor.executor.host = HOSTILE
    return rows


def hostile_finding() -> Finding:
    """Return a finding whose text and links are hostile."""
    return Finding(
        finding_id=HOSTILE_FINDING,
        rule=HOSTILE,
        severity="critical",
        state="firing",
        job_key=f"team/{HOSTILE}?x#y",
        scope=f"stage:{HOSTILE}",
        summary=HOSTILE,
        description=f"{HOSTILE} {SECRET}",
        runbook_url="javascript:alert(1)",
        started_ms=STARTED_MS,
        updated_ms=STARTED_MS,
        completeness=1.0,
        owner=HOSTILE,
        team="hostile-team",
        runs=[
            FindingRun(
                app_id=HOSTILE_APP, state="firing", severity="critical", stage_name=HOSTILE, evidence={HOSTILE: HOSTILE}
            )
        ],
    )


def many_findings() -> Sequence[Finding]:
    """Return more findings than two pages show; the first names a host."""
    return [
        Finding(
            finding_id=f"many-{number:04d}",
            rule="stage_spill",
            severity="warning",
            state="firing",
            job_key=f"many/job-{number % 3}",
            scope="application",
            summary=f"Spill number {number}",
            description=f"Spilled on {HOST}." if number == 0 else "Spilled.",
            started_ms=STARTED_MS - number // 2 * 1000,
            updated_ms=STARTED_MS,
            team=TEAM,
            currency="USD",
            runs=[FindingRun(app_id=f"many-{number}", app_attempt=0, state="firing", cost=12.5, severity="warning")],
        )
        for number in range(MANY)
    ]


def verdicts() -> Sequence[Feedback]:
    """Return verdicts that demote the rule of the many findings; one of them has a hostile note."""
    return [
        Feedback(
            finding_id=f"many-{number:04d}",
            person="ada",
            verdict="not-useful",
            note=HOSTILE,
            at_ms=STARTED_MS,
            rule="stage_spill",
            team=TEAM,
        )
        for number in range(6)
    ]


def resource_rows() -> list[dict[str, object]]:
    """Return the resources of ended runs: of a team with waste, of a team with hostile text, and of an unknown size."""
    hour = 3_600_000
    team = {"app_attempt": 0, "status": "succeeded", "completeness": 1.0, "team": WASTING_TEAM, "elapsed_ms": hour,
            "core_ms": 100 * hour, "memory_mib_ms": 100 * 1024 * hour, "busy_core_ms": 25 * hour,
            "retried_core_ms": 5 * hour, "input_bytes": 10**9, "disk_spilled_bytes": 0, "executors": 1}  # fmt: skip
    hostile = {"team": HOSTILE, "core_ms": 10 * hour, "memory_mib_ms": 1024 * hour, "busy_core_ms": 9 * hour}
    unknown = dict.fromkeys(("core_ms", "memory_mib_ms", "busy_core_ms", "retried_core_ms"))
    return [
        {**team, **other, "app_start_ms": STARTED_MS - DAY_MS}
        for other in (
            {"app_id": "wasting-1", "job_key": ADVISED_JOB},
            {"app_id": "wasting-2", "job_key": "wasting/other", "status": "failed"},
            {**hostile, "app_id": "hostile-1", "job_key": f"team/{HOSTILE}?x#y"},
            {**unknown, "app_id": "unknown-1", "job_key": "unpriced/job", "team": "unpriced", "executors": 0},
        )
    ]


def store_real_run(client: Client) -> Application:
    """Store what `sparkfuse backfill` sends about a real log with 56 queries, and return the run.

    The baselines of its job have six earlier runs, which took exactly as long.
    """
    (log,) = find_logs(str(LOGS / "queries" / "spark35.zstd")).logs
    application = read_application(log)
    store(client, "history", history_rows(application, "prod", "team"))
    store(client, "names", display_name_messages(application, "prod", "team", 1))
    baselines = list(baseline_messages(application, "prod", "team"))
    for baseline in baselines:
        (sample,) = baseline.samples
        del baseline.samples[:]
        for day in range(6, 0, -1):
            sample.run_key, sample.learned_ms = f"earlier-{day}", (application.started_ms or 0) - day * DAY_MS
            baseline.samples.append(sample)
    client.insert_arrow("baselines", arrow_rows("baselines", baselines))
    return application


def store_slow_run(client: Client) -> tuple[Application, Application]:
    """Store a usual run of a job and a slower one, from real logs, and return both."""
    usual, slow = (
        read_application(find_logs(str(COMPARED / f"{name}.zstd")).logs[0]) for name in ("usual", "slower_code")
    )
    for application in (usual, slow):
        store(client, "history", history_rows(application, "prod", "team"))
    return usual, slow


def store_skewed_runs(client: Client) -> None:
    """Store five runs of one skewed job of the last days, all from one real log."""
    application = _skewed()
    now_ms = time.time_ns() // 1_000_000
    for day in range(5):
        _store_log_as(client, application, f"skewed-{day}", ADVISED_JOB, now_ms - (day + 1) * DAY_MS)


def store_applied_advice(client: Client) -> None:
    """Store five runs of a job with eight executors, and then five with the four that its advice recommends."""
    application = _skewed()
    today = time.time_ns() // 1_000_000 // DAY_MS
    for number in range(10):
        executors = 8 if number < 5 else 4
        start_ms = (today - 2 + number // 5) * DAY_MS + number * 3_600_000
        _store_log_as(client, application, f"applied-{number}", APPLIED_JOB, start_ms)
        store(client, "live", _live_rows_of(f"applied-{number}", start_ms, executors))
    for day in (today - 2, today - 1):
        roll_run_resources(client, day)


def _skewed() -> Application:
    return read_application(find_logs(str(COMPARED / "skewed_key.zstd")).logs[0])


def _store_log_as(client: Client, application: Application, app_id: str, job_key: str, start_ms: int) -> None:
    """Store the rows of a log as those of another run, which started at another time."""
    by_ms = start_ms - (application.started_ms or 0)
    rows = list(history_rows(application, "prod", "team"))
    for row in rows:
        row.app_id, row.job_key = app_id, job_key
        for part in (row, row.application, row.stage, row.query):
            for name in _MOMENTS:
                if name in part.DESCRIPTOR.fields_by_name and part.HasField(name):
                    setattr(part, name, getattr(part, name) + by_ms)
    store(client, "history", rows)


def _live_rows_of(app_id: str, start_ms: int, executors: int) -> Iterable[LiveRow]:
    """Yield the start of a run with its configuration, and its executors with one core each."""
    for number in range(-1, executors):
        row = LiveRow()
        row.CopyFrom(LIVE["application_started" if number < 0 else "executor_added"])
        row.app_id, row.app_start_ms, row.app_attempt, row.row_seq = app_id, start_ms, 0, number + 2
        if number < 0:
            row.application_started.properties.clear()
            row.application_started.properties["spark.sparkfuse.job"] = APPLIED_JOB
            row.application_started.configuration.clear()
            row.application_started.configuration["spark.executor.instances"] = str(executors)
        else:
            row.executor_added.executor_id, row.executor_added.cores = str(number), 1
            row.executor_added.added_ms = start_ms
        yield row
