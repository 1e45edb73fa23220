"""Tests the rows of one run of the windows job, with real Kafka and Flink, and a kill in the middle of the run."""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory, latest_checkpoint
from sparkfuse_stream_jobs.ticks import murmur2
from tests.integration.stream_jobs.recorded_stages import RecordedStages
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.scripted_failures import FailingApplication
from tests.integration.stream_jobs.scripted_orders import STAGE, begin, continue_run, finish
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.stage_cases import CASES, FAILURE_COLUMNS, Case, app_id, compared, expected_columns
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
WINDOW_MS = 1000
TEN_MINUTES_MS = 600_000


@pytest.fixture(scope="module")
def seen(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, start_job: Any) -> Iterator[Seen]:
    """The output of the job for the scripted applications; launcher and JVM are killed once with SIGKILL."""
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", tmp_path_factory.mktemp("windows")
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    seen = Seen(kafka_bootstrap, prefix)
    job = start_job("sparkfuse_stream_jobs.windows", environment, home / "first.log")
    job.wait_until_running()
    orders, twice = applications(kafka_bootstrap, f"{prefix}.facts")
    unknown = ScriptedApplication(kafka_bootstrap, f"{prefix}.facts", "unknown", orders.start_ms)
    unknown.send_pod("1", node="worker-9")
    unknown.flush()
    begin(orders, seen)
    send_twice(twice, seen)
    failing = FailingApplication(kafka_bootstrap, f"{prefix}.facts", seen)
    failing.begin()
    recorded = RecordedStages(kafka_bootstrap, f"{prefix}.facts")
    recorded.begin()
    wait_for_checkpoint(home)
    continue_run(orders, seen)
    failing.end()
    recorded.end()
    seen.rows_before_kill = len(seen.live)
    job.kill()
    finish(orders)
    job = start_job("sparkfuse_stream_jobs.windows", environment, home / "second.log")
    job.wait_until_running()
    seen.wait_for("orders", "application_ended", lambda row: True)
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 6)
    for case in CASES:
        seen.wait_for(app_id(case), "stage_live", lambda row, case=case: has_ended(row.stage, case))
    seen.exit_codes.append(job.stop())
    seen.read()
    yield seen
    seen.close()


def has_ended(stage: Any, case: Case) -> bool:
    """Return whether the row of a stage includes the end of the stage and the ends of all its tasks."""
    again = stage.resubmitted_tasks
    return bool(stage.HasField("completed_ms")) and stage.finished_tasks + again == len(case["tasks"])


def applications(bootstrap: str, topic: str) -> tuple[ScriptedApplication, ScriptedApplication]:
    """Return two applications in one partition; the clock of the first is ten minutes behind the broker's."""
    now_ms = int(time.time() * 1000)
    partition = murmur2(b"orders") % 2
    second = next(name for name in (f"twice-{n}" for n in range(20)) if murmur2(name.encode()) % 2 == partition)
    return (
        ScriptedApplication(bootstrap, topic, "orders", now_ms - TEN_MINUTES_MS),
        ScriptedApplication(bootstrap, topic, second, now_ms),
    )


def send_twice(app: ScriptedApplication, seen: Seen) -> None:
    """Send a stage of one task whose end is reported twice, as by two collectors."""
    app.send_fact("stage_started", stage_id=0, stage_attempt=0, name="s", num_tasks=1, submitted_ms=app.start_ms)
    for _ in range(2):
        app.send_fact(
            "task_ended", stage_id=0, stage_attempt=0, task_id=1, task_index=0, outcome="success",
            finished_ms=app.start_ms + 10, duration_ms=10,
        )  # fmt: skip
    app.flush()
    seen.wait_for(app.app_id, "stage_live", lambda row: row.stage.finished_tasks == 2)


def wait_for_checkpoint(home: Path) -> None:
    """Wait for a checkpoint that contains all facts sent so far."""
    directory, now_ns = checkpoint_directory(home, "windows"), time.time_ns()

    def newer() -> bool:
        newest = latest_checkpoint(directory)
        return newest is not None and (newest / "_metadata").stat().st_mtime_ns > now_ns

    wait_for(newer, 120, "a checkpoint")


def values(message: Any) -> dict[str, Any]:
    """Return the fields that are set in a flat message."""
    return {descriptor.name: value for descriptor, value in message.ListFields()}


def within_one_percent(value: float) -> Any:
    return pytest.approx(value, rel=0.0101)


def test_running_stage_has_all_columns(seen: Seen) -> None:
    """The row of a running stage has all columns.

    Sums, last progress and derived columns equal the values computed by hand; unknown columns are absent.
    """
    row = next(row for row in seen.of("orders", "stage_live") if row.stage.finished_tasks == 5)
    end_ms, zero = row.window_end_ms, row.app_start_ms

    actual = values(row.stage)
    expected = {
        **STAGE, "name": "count at X", "num_tasks": 4, "status": "running", "submitted_ms": zero + 1000,
        "elapsed_ms": end_ms - zero - 1000, "job_id": 7, "sql_execution_id": 5,
        "finished_tasks": 5, "succeeded_tasks": 3, "failed_tasks": 1, "killed_tasks": 1, "speculative_tasks": 1,
        "fetch_failed_tasks": 0, "lost_tasks": 0, "resubmitted_tasks": 0,
        "finished_run_ms": 6700, "finished_cpu_ms": 4, "finished_gc_ms": 35,
        "finished_input_bytes": 6400, "finished_input_records": 100,
        "finished_shuffle_read_bytes": 9, "finished_shuffle_read_records": 3, "finished_fetch_wait_ms": 4,
        "finished_shuffle_write_bytes": 50, "finished_shuffle_write_records": 5,
        "finished_output_bytes": 0, "finished_output_records": 0,
        "finished_memory_spilled_bytes": 250, "finished_disk_spilled_bytes": 130,
        "finished_spilled_tasks": 2, "finished_spilled_duration_ms": 6000, "finished_duration_ms": 10_000,
        "duration_p50_ms": within_one_percent(2000), "duration_p95_ms": within_one_percent(4000),
        "duration_max_ms": 4000,
        "task_bytes_p50": within_one_percent(300), "task_bytes_p95": within_one_percent(6009), "task_bytes_max": 6009,
        "running_tasks": 1, "running_input_bytes": 200, "running_input_records": 0, "running_shuffle_read_bytes": 0,
        "running_shuffle_read_records": 0, "running_shuffle_write_bytes": 0, "running_output_bytes": 0,
        "running_memory_spilled_bytes": 0, "running_disk_spilled_bytes": 11, "running_cpu_ms": 5,
        "running_age_max_ms": 4000, "running_stalled_max_ms": 0, "running_untracked_tasks": 0,
        "running_since_progress_min_ms": 900, "running_spilled_since_progress_max_bytes": 7,
        "running_since_spill_ms": 0,
        "since_finish_ms": end_ms - zero - 5100, "disk_spilled_bytes": 141, "memory_spilled_bytes": 250,
        "work_bytes": 6609, "work_records": 103,
        "biggest_task_index": 2, "biggest_task_bytes": 6009, "biggest_task_ms": 4000,
        "bytes_ratio": within_one_percent(6010 / 301), "lost_ms": pytest.approx(2000, abs=21),
        "lost_share": pytest.approx(2000 / (end_ms - zero - 1000), rel=0.011),
        "slowest_task_index": 2, "slowest_task_ms": 4000, "slowest_task_bytes": 6009, "slowest_task_executor_id": "1",
        "slowest_task_host": "h1", "slowest_task_bytes_ratio": within_one_percent(6010 / 301),
        "slowest_task_lost_ms": pytest.approx(2000, abs=21),
        "slowest_task_lost_share": pytest.approx(2000 / (end_ms - zero - 1000), rel=0.011), "slowest_task_gc_ms": 5,
    }  # fmt: skip

    assert actual == expected


def test_facts_about_pods_get_the_application(seen: Seen) -> None:
    """The rows have the tenant, attempt and start of the application, and not those of the pod watcher.

    The last fact about a pod waits for the start of its application. Facts about pods add no application.
    """
    rows = seen.of("orders", "pod_changed")

    assert [(row.pod_changed.node, row.pod_changed.cause) for row in rows] == [
        ("worker-9", ""),
        ("worker-9", "spot_notice"),
    ]
    start = seen.of("orders", "application_started")[0].app_start_ms
    assert {(row.app_attempt, row.app_start_ms, row.HasField("tenant")) for row in rows} == {(1, start, False)}
    assert {row.app_start_ms for row in seen.live if row.app_id == "orders"} == {start}
    assert not [row for row in seen.live if row.app_id == "unknown"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_live_stage_row_has_the_shared_columns(seen: Seen, case: Case) -> None:
    """The live row of a stage has the columns that `analyze` computes from the event log.

    Quantiles are accurate to 1 %.
    """
    row = values(seen.of(app_id(case), "stage_live")[-1].stage)
    failures: dict[str, list[Any]] = {}
    for each in seen.of(app_id(case), "failure_live"):
        columns = [getattr(each.failure, name) if each.failure.HasField(name) else None for name in FAILURE_COLUMNS]
        failures[each.failure.failure_class] = columns

    assert {name: row[name] for name in compared() if name in row} == about(expected_columns(case))
    assert sorted(failures.values()) == sorted(case.get("failures", []))


def about(columns: dict[str, Any]) -> dict[str, Any]:
    """Allow the error of the sketches for quantiles and for the columns that are computed from them."""
    median = columns.get("duration_p50_ms", 0)
    lost = {"lost_ms", "slowest_task_lost_ms"}
    shares = {
        name: median / columns["elapsed_ms"] for name in ("lost_share", "slowest_task_lost_share") if name in columns
    }
    return {
        name: pytest.approx(value, abs=0.0101 * median + 1)
        if name in lost
        else pytest.approx(value, abs=0.0101 * shares[name] + 0.001)
        if name in shares
        else within_one_percent(value)
        if isinstance(value, float)
        else value
        for name, value in columns.items()
    }


def test_running_task_keeps_its_latest_progress(seen: Seen) -> None:
    """In any order of arrival, a task's row has the progress with the highest age, and the stage's row includes it."""
    task = seen.of("orders", "task_live")[0].task
    stage = next(row.stage for row in seen.of("orders", "stage_live") if row.stage.finished_tasks == 2)

    assert values(task) == {
        **STAGE, "task_id": 12, "task_index": 2, "executor_id": "1", "host": "h1", "age_ms": 1500, "stalled_ms": 1100,
        "cpu_since_progress_ms": 3, "activity": "busy", "work_bytes": 4007, "work_records": 42,
        "disk_spilled_bytes": 70, "stack": "at x.Y",
    }  # fmt: skip
    assert (stage.running_tasks, stage.running_disk_spilled_bytes, stage.running_stalled_max_ms) == (2, 70, 1100)
    assert (stage.biggest_task_index, stage.biggest_task_bytes, stage.biggest_task_ms) == (2, 4007, 1500)
    assert (stage.slowest_task_index, stage.slowest_task_bytes, stage.slowest_task_ms) == (2, 4007, 1500)
    assert (stage.slowest_task_executor_id, stage.slowest_task_host) == ("1", "h1")


def test_kill_neither_loses_nor_duplicates_facts(seen: Seen) -> None:
    """After a kill -9 of launcher and JVM, the stage counts each task once, and ended tasks stay ended."""
    row = seen.of("orders", "stage_live")[-1]
    stage, zero = row.stage, row.app_start_ms

    assert (stage.finished_tasks, stage.succeeded_tasks, stage.failed_tasks, stage.killed_tasks) == (6, 4, 1, 1)
    assert (stage.finished_input_bytes, stage.finished_disk_spilled_bytes, stage.finished_cpu_ms) == (6900, 130, 6)
    assert (stage.running_tasks, stage.running_input_bytes, stage.disk_spilled_bytes) == (0, 0, 130)
    assert not stage.HasField("running_age_max_ms")
    assert (stage.status, stage.completed_ms, stage.elapsed_ms) == ("succeeded", zero + 8000, 7000)
    assert (stage.since_finish_ms, stage.duration_max_ms, stage.resubmitted_tasks) == (900, 6000, 1)
    assert (stage.operator_rows_max, stage.result_bytes) == (4_000, 9_000)


def test_replayed_row_has_the_same_number_and_content(seen: Seen) -> None:
    """If a row is sent again, it has the same number and content.

    Rows are sent at least once, and no number is missing.
    """
    contents: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for row in seen.live:
        contents[row.app_id, row.row_seq].add(row.SerializeToString(deterministic=True))
    numbers = sorted(number for app_id, number in contents if app_id == "orders")

    assert [key for key, different in contents.items() if len(different) > 1] == []
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(seen.live) >= seen.rows_before_kill


def test_starts_come_first_and_ends_last(seen: Seen) -> None:
    """In a window the order is: starts, live rows, the application's row, ends. The end of the application comes last.

    An application whose facts are incomplete at its end has rows for a while after the end.
    """
    rows = {row.row_seq: row for row in seen.live if row.app_id == "orders"}
    views = [rows[number].view for number in sorted(rows)]

    assert views[:4] == ["application_started", "executor_added", "pod_changed", "job_started"]
    assert views[4:7] == ["sql_started", "sql_plan", "stage_started"]
    assert views[7:13] == ["executor_live", "stage_live", "task_live", "failure_live", "query_live", "app_live"]
    after_end = views.index("application_ended") + 1
    assert views[:after_end][-5:] == ["app_live", "stage_ended", "sql_ended", "job_ended", "application_ended"]
    assert set(views[after_end:]) <= {"app_live"}


def test_forwarded_facts_are_complete(seen: Seen) -> None:
    """Starts, plans and their metrics arrive in the topic `live` with all their fields, including nested ones."""
    application = seen.of("orders", "application_started")[0]
    stage = seen.of("orders", "stage_started")[0].stage_started
    sql = seen.of("orders", "sql_started")[0].sql_started

    assert dict(application.application_started.properties) == {"k": "v"}
    assert (application.cluster, application.app_attempt) == ("test", 1)
    assert (list(stage.parent_stage_ids), stage.name, stage.job_id) == ([1, 2], "count at X", 7)
    assert list(sql.plan_nodes) == ["Sort", "Exchange"]
    assert list(seen.of("orders", "sql_plan")[0].sql_plan.node_details) == ["", "k"]
    assert list(seen.of("orders", "sql_metrics")[0].sql_metrics.values) == [400, -1]


def test_query_row_sums_the_stages_of_the_query(seen: Seen) -> None:
    """The row of a running query has the sums of its stages so far.

    After a kill of the job and the end of the query, each task is counted once.
    """
    rows = seen.of("orders", "query_live")
    first, last, zero = rows[0], rows[-1], rows[0].app_start_ms
    start = {
        "query_id": 5, "root_query_id": 5, "description": "count orders", "call_site": "main at orders.py:3",
        "started_ms": zero + 800, "stage_ids": "3", "failed_stages": 0, "output_bytes": 0,
    }  # fmt: skip

    assert values(first.query) == {
        **start, "status": "running", "elapsed_ms": first.window_end_ms - zero - 800, "running_stages": 1,
        "ended_stages": 0, "finished_tasks": 2, "running_tasks": 2, "input_bytes": 4100, "shuffle_read_bytes": 7,
        "disk_spilled_bytes": 70, "finished_cpu_ms": 1, "result_bytes": 0,
    }  # fmt: skip
    assert values(last.query) == {
        **start, "status": "succeeded", "ended_ms": zero + 8100, "elapsed_ms": 7300, "running_stages": 0,
        "ended_stages": 1, "finished_tasks": 6, "running_tasks": 0, "input_bytes": 6900, "shuffle_read_bytes": 9,
        "disk_spilled_bytes": 130, "finished_cpu_ms": 6, "result_bytes": 9_000,
    }  # fmt: skip


def test_executor_row_has_its_last_sample(seen: Seen) -> None:
    """The row of an executor has the last sample of its window, and a GC share computed from this sample."""
    first = seen.of("orders", "executor_live")[0]

    assert values(first.executor) == {
        "executor_id": "1", "host": "h1", "interval_ms": 1000, "gc_delta_ms": 100, "gc_share": 0.1,
        "heap_used_bytes": 200, "running_tasks": 2, "silent_ms": 0,
        "age_ms": first.window_end_ms - first.app_start_ms - 100,
    }  # fmt: skip


def test_completeness_counts_missing_facts(seen: Seen) -> None:
    """Completeness is 1 until a numbered fact is missing.

    The row also has the numbers of expected and received facts.
    """
    rows = seen.of("orders", "app_live")
    before, after = rows[0], rows[-1]

    assert before.completeness == 1.0
    assert after.application.facts_expected == after.application.facts_seen + 1
    assert after.completeness == after.application.facts_seen / after.application.facts_expected
    assert values(after.application) == {
        "name": "orders", "status": "succeeded", "ended_ms": after.app_start_ms + 9000, "elapsed_ms": 9000,
        "running_jobs": 0, "succeeded_jobs": 1, "failed_jobs": 0, "running_stages": 0, "ended_stages": 1,
        "running_tasks": 0, "finished_tasks": 6, "failed_tasks": 1, "executors": 1, "disk_spilled_bytes": 130,
        "facts_seen": 32, "facts_expected": 33, "facts_dropped": 0, "user_name": "ann", "spark_version": "3.5.9",
        "finished_cpu_ms": 6, "work_bytes": 6909, "work_records": 153, "unfinished_tasks": 0,
        "between_jobs_ms": 950,
    }  # fmt: skip


def test_failures_have_one_row_per_class(seen: Seen) -> None:
    """Each failure class has one row with the number of failures, the hosts and the last text.

    A failed fetch names the remote executor.
    """
    last = {row.failure.failure_class: row.failure for row in seen.of("failures", "failure_live")}
    fetch, lost = last["FetchFailed"], last["ExecutorLostFailure"]
    stage = seen.of("failures", "stage_live")[-1].stage
    disk = seen.of("orders", "failure_live")[-1].failure

    assert values(fetch) == {
        **STAGE, "failure_class": "FetchFailed", "failure_reason": "no block", "failed_tasks": 1, "finished_tasks": 3,
        "num_tasks": 4, "task_index": 0, "executor_id": "2", "host": "h2", "hosts": 1, "failing_tasks": 1,
        "attempts_max": 1,
    }  # fmt: skip
    assert values(lost) == {
        **STAGE, "failure_class": "ExecutorLostFailure", "failure_reason": "\u00e9" * 1024, "failed_tasks": 2,
        "finished_tasks": 3, "num_tasks": 4, "task_index": 2, "executor_id": "1", "host": "h1", "hosts": 2,
        "failing_tasks": 2, "attempts_max": 1,
    }  # fmt: skip
    assert (stage.failed_tasks, stage.fetch_failed_tasks, stage.lost_tasks) == (3, 1, 2)
    assert (disk.failure_class, disk.failure_reason, disk.host, disk.num_tasks) == ("IOException", "disk full", "h1", 4)


def test_silent_executor_repeats_its_last_gauges(seen: Seen) -> None:
    """The row of a silent executor repeats its last gauges and states how long it has been silent.

    The row is repeated only while the application is active.
    """
    rows = seen.of("failures", "executor_live")
    first, silent = rows[0], next(row for row in rows if row.executor.executor_id == "2" and row.executor.silent_ms > 0)
    of_the_silent = [row.executor for row in rows if row.executor.executor_id == "2"]

    assert values(first.executor) == {
        "executor_id": "1", "host": "h1", "heap_used_bytes": 1, "rss_bytes": 100, "python_rss_bytes": 10,
        "gc_pause_max_ms": 70, "heap_after_gc_bytes": 55, "direct_memory_bytes": 5, "process_rss_bytes": 110,
        "memory_limit_bytes": (1 << 30) + (384 << 20) + (1 << 20), "silent_ms": 0,
        "age_ms": first.window_end_ms - first.app_start_ms,
    }  # fmt: skip
    assert (silent.executor.executor_id, silent.executor.heap_used_bytes) == ("2", 2)
    assert silent.executor.heap_after_gc_bytes == 55
    assert not silent.executor.HasField("gc_pause_max_ms")
    assert [row.silent_ms for row in of_the_silent] == sorted(row.silent_ms for row in of_the_silent)
    assert rows[-1].executor.executor_id == "1"
    assert rows[-1].executor.heap_after_gc_bytes == 55


def test_outliving_tasks_and_processes_are_reported(seen: Seen) -> None:
    """Tasks that outlive their stage, and processes that outlive their application, have the time since the end.

    The time since the end is measured by the broker's clock; the driver's clock is ten minutes behind.
    """
    task = seen.of("failures", "task_live")[-1].task
    ended = next(row for row in seen.of("failures", "app_live") if row.application.status != "running")
    last = next(row for row in seen.of("failures", "app_live") if row.application.outlived_ms > 0)

    assert (task.task_id, task.outlived_ms % WINDOW_MS) == (3, 0)
    assert 0 < task.outlived_ms < TEN_MINUTES_MS
    assert not ended.application.HasField("outlived_ms")
    assert ended.application.unfinished_tasks == 1
    assert 0 < last.application.outlived_ms < TEN_MINUTES_MS


def test_silent_application_has_a_row_in_each_window(seen: Seen) -> None:
    """Each window that a tick closes has a row that states how long the driver has been silent.

    The windows job was killed during the silence.
    """
    app_id = next(row.app_id for row in seen.live if row.app_id.startswith("twice"))
    rows = seen.of(app_id, "app_live")
    silent = [row.application.driver_silent_ms for row in rows if row.application.driver_silent_ms > 0]

    assert len(silent) >= 5
    assert silent == [number * WINDOW_MS for number in range(1, len(silent) + 1)]
    assert [row.window_end_ms for row in rows] == sorted({row.window_end_ms for row in rows})
    assert {row.application.status for row in rows} == {"running"}


def test_too_many_task_ends_set_completeness_to_zero(seen: Seen) -> None:
    """If a stage has more successful task ends than tasks, its completeness is 0, because facts were counted twice."""
    app_id = next(row.app_id for row in seen.live if row.app_id.startswith("twice"))

    assert seen.of(app_id, "stage_live")[-1].completeness == 0.0
    assert seen.of(app_id, "app_live")[-1].completeness == 0.0


def test_invalid_records_become_dead_letters(seen: Seen) -> None:
    """Records that are not facts become dead letters with their offset and one reason."""
    letters = {(letter["kafka_partition"], letter["kafka_offset"]): letter for letter in seen.dead}

    assert [letter["reason"] for _, letter in sorted(letters.items())] == [
        "the record is not a Protobuf message of a fact",
        "the record is empty",
        "the fact has no kind that this version supports",
        "the fact has no app_id",
    ]
    assert {(letter["component"], letter["topic"]) for letter in letters.values()} == {
        ("windows", f"{seen.prefix}.facts")
    }
    assert letters[min(letters)]["payload"] == "//9ubyBmYWN0"


def test_ticks_reach_each_partition(seen: Seen) -> None:
    """Each window of each partition has a tick row, because tick rows close the windows in readers of `live`."""
    ticks: dict[str, set[int]] = defaultdict(set)
    for row in seen.live:
        if row.view == "tick":
            ticks[row.app_id].add(row.window_end_ms)

    assert {murmur2(name.encode()) % 2 for name in ticks} == {0, 1}
    assert all(len(ends) >= 5 for ends in ticks.values())


def test_sigterm_stops_the_job_with_exit_code_zero(seen: Seen) -> None:
    """SIGTERM stops the job and its JVM, and the exit code is 0."""
    assert seen.exit_codes == [0]
