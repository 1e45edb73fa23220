"""One run of the windows job over real Kafka and Flink's mini cluster, killed in the middle, and what it left."""

from __future__ import annotations

import json
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated import fact_pb2, live_pb2
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory, latest_checkpoint
from sparkfuse_stream_jobs.ticks import murmur2
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(400)
WINDOW_MS = 1000
ROW_SECONDS = 120
TEN_MINUTES_MS = 600_000


@dataclass
class Seen:
    """All that the job wrote so far."""

    bootstrap: str
    prefix: str
    live: list[live_pb2.LiveRow] = field(default_factory=list)
    dead: list[dict[str, Any]] = field(default_factory=list)
    rows_before_kill: int = 0
    exit_codes: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._consumer = Consumer(
            {"bootstrap.servers": self.bootstrap, "group.id": "test", "enable.auto.commit": False}
        )
        topics = [(f"{self.prefix}.live", 2), (f"{self.prefix}.dead-letters", 1)]
        self._consumer.assign([TopicPartition(name, number, 0) for name, count in topics for number in range(count)])

    def read(self) -> None:
        """Take in what came since the last time."""
        for message in self._consumer.consume(5000, timeout=0.3):
            if message.error() is None and message.topic().endswith("live"):
                self.live.append(live_pb2.LiveRow.FromString(message.value()))
            elif message.error() is None:
                self.dead.append(json.loads(message.value()))

    def close(self) -> None:
        """Leave the broker."""
        self._consumer.close()

    def of(self, app_id: str, view: str) -> list[live_pb2.LiveRow]:
        """Rows of one view of one application, in their order, each row once."""
        rows = {row.row_seq: row for row in self.live if row.app_id == app_id}
        return [rows[number] for number in sorted(rows) if rows[number].view == view]

    def wait_for(self, app_id: str, view: str, condition: Callable[[Any], bool]) -> live_pb2.LiveRow:
        """Wait until the last row of the view is as wanted."""

        def look() -> live_pb2.LiveRow | None:
            self.read()
            rows = self.of(app_id, view)
            return rows[-1] if rows and condition(rows[-1]) else None

        found = wait_for(look, ROW_SECONDS, f"a row of {view} of {app_id}")
        assert found is not None
        return found


@pytest.fixture(scope="module")
def seen(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, start_job: Any) -> Iterator[Seen]:
    """What the job made of the scripted applications, over a kill -9 of launcher and JVM."""
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", tmp_path_factory.mktemp("windows")
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
    }
    ensure_topics(kafka_bootstrap, prefix)
    seen = Seen(kafka_bootstrap, prefix)
    job = start_job("sparkfuse_stream_jobs.windows", environment, home / "first.log")
    job.wait_until_running()
    orders, twice = applications(kafka_bootstrap, f"{prefix}.facts")
    begin(orders, seen)
    tell_twice(twice, seen)
    wait_for_checkpoint(home)
    go_on(orders, seen)
    seen.rows_before_kill = len(seen.live)
    job.kill()
    finish(orders)
    job = start_job("sparkfuse_stream_jobs.windows", environment, home / "second.log")
    job.wait_until_running()
    seen.wait_for("orders", "application_ended", lambda row: True)
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 6)
    seen.exit_codes.append(job.stop())
    seen.read()
    yield seen
    seen.close()


def applications(bootstrap: str, topic: str) -> tuple[ScriptedApplication, ScriptedApplication]:
    """Both in one partition, so that the other is idle; the first lives ten minutes behind the broker's clock."""
    now_ms = int(time.time() * 1000)
    place = murmur2(b"orders") % 2
    second = next(name for name in (f"twice-{n}" for n in range(20)) if murmur2(name.encode()) % 2 == place)
    return (
        ScriptedApplication(bootstrap, topic, "orders", now_ms - TEN_MINUTES_MS),
        ScriptedApplication(bootstrap, topic, second, now_ms),
    )


STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}


def begin(app: ScriptedApplication, seen: Seen) -> None:
    """Four tasks start; one ends well, one fails without metrics, two run and say where they stand; junk between."""
    zero = app.start_ms
    app.tell("application_started", name="orders", user_name="ann", spark_version="3.5.9", properties={"k": "v"})
    app.tell("executor_added", executor_id="1", host="h1", cores=4, added_ms=zero + 100)
    app.tell("job_started", job_id=7, submitted_ms=zero + 900, stage_ids=[3])
    app.tell("sql_started", sql_execution_id=5, started_ms=zero + 800, plan_nodes=["Sort", "Exchange"])
    app.tell(
        "stage_started", **STAGE, name="count at X", num_tasks=4, parent_stage_ids=[1, 2], submitted_ms=zero + 1000,
        job_id=7, sql_execution_id=5,
    )  # fmt: skip
    for index in range(4):
        app.tell("task_started", **STAGE, task_id=10 + index, task_index=index, launched_ms=zero + 1100)
    app.tell(
        "task_ended", **STAGE, task_id=10, task_index=0, outcome="success", launched_ms=zero + 1100,
        finished_ms=zero + 2100, duration_ms=1000, has_metrics=True, run_ms=900, cpu_ns=1_600_000, gc_ms=30,
        input_bytes=100, input_records=10, shuffle_write_bytes=50, shuffle_write_records=5,
    )  # fmt: skip
    app.tell(
        "task_ended", lane="reserved", **STAGE, task_id=11, task_index=1, outcome="failed", failure_class="IOException",
        finished_ms=zero + 1600, duration_ms=500, has_metrics=False,
    )  # fmt: skip
    app.send(b"\xff\xffno fact")
    app.send(None)
    app.send(fact_pb2.Fact(app_id="orders").SerializeToString())
    app.send(fact_pb2.Fact(tick=fact_pb2.Tick(sent_ms=1)).SerializeToString())
    for age_ms, spilled in ((1500, 70), (500, 20)):  # the older one comes last, as when it took another way
        app.tell(
            "task_progress", collector=EXECUTOR, **STAGE, task_id=12, task_index=2, executor_id="1", host="h1",
            age_ms=age_ms, stalled_ms=age_ms - 400, cpu_since_progress_ms=3, cpu_ns=age_ms * 1_000_000,
            activity="busy", input_bytes=4000, input_records=40, shuffle_read_bytes=7, shuffle_read_records=2,
            disk_spilled_bytes=spilled, memory_spilled_bytes=2 * spilled, stack="at x.Y",
        )  # fmt: skip
    for sent, heap in ((1, 100), (2, 200)):
        app.tell(
            "executor_sample", collector=EXECUTOR, executor_id="1", host="h1", interval_ms=1000, gc_delta_ms=sent * 50,
            heap_used_bytes=heap, running_tasks=2,
        )  # fmt: skip
    app.tell("collector_health", dropped_bulk=0, dropped_reserved=0, queued=3)
    app.flush()
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 2)


def go_on(app: ScriptedApplication, seen: Seen) -> None:
    """The failed task is tried again and spills, the big one ends, a speculative copy is killed."""
    zero = app.start_ms
    app.tell("task_started", **STAGE, task_id=14, task_index=1, task_attempt=1, launched_ms=zero + 2000)
    app.tell("task_started", **STAGE, task_id=15, task_index=3, speculative=True, launched_ms=zero + 2500)
    app.tell(
        "task_ended", **STAGE, task_id=14, task_index=1, task_attempt=1, outcome="success", finished_ms=zero + 4000,
        duration_ms=2000, has_metrics=True, run_ms=1900, cpu_ns=1_600_000, gc_ms=0, input_bytes=300, input_records=30,
        disk_spilled_bytes=50, memory_spilled_bytes=90,
    )  # fmt: skip
    app.tell(
        "task_ended", **STAGE, task_id=12, task_index=2, outcome="success", finished_ms=zero + 5100, duration_ms=4000,
        has_metrics=True, run_ms=3900, cpu_ns=1_600_000, gc_ms=5, input_bytes=6000, input_records=60,
        shuffle_read_bytes=9, shuffle_read_records=3, disk_spilled_bytes=80, memory_spilled_bytes=160, fetch_wait_ms=4,
    )  # fmt: skip
    app.tell(
        "task_ended", lane="reserved", **STAGE, task_id=15, task_index=3, speculative=True, outcome="killed",
        finished_ms=zero + 5000, duration_ms=2500,
    )  # fmt: skip
    app.tell(
        "task_progress", collector=EXECUTOR, **STAGE, task_id=13, task_index=3, age_ms=4000, stalled_ms=0,
        cpu_ns=5_000_000, activity="moving", input_bytes=200, disk_spilled_bytes=11,
    )  # fmt: skip
    app.flush()
    seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 5)


def finish(app: ScriptedApplication) -> None:
    """While no job runs: progress that comes too late, a dropped fact, the last task, all ends."""
    zero = app.start_ms
    app.tell("task_progress", collector=EXECUTOR, **STAGE, task_id=12, task_index=2, age_ms=3900, input_bytes=5900)
    app.drop(EXECUTOR)
    app.tell(
        "executor_sample", collector=EXECUTOR, executor_id="1", host="h1", interval_ms=1000, gc_delta_ms=0,
        heap_used_bytes=300, running_tasks=0,
    )  # fmt: skip
    app.tell(
        "task_ended", **STAGE, task_id=10, task_index=0, outcome="failed", failure_class="Resubmitted", duration_ms=1000
    )
    app.tell(
        "task_ended", **STAGE, task_id=13, task_index=3, outcome="success", finished_ms=zero + 7100, duration_ms=6000,
        has_metrics=True, run_ms=5900, cpu_ns=1_600_000, input_bytes=500, input_records=50,
    )  # fmt: skip
    app.tell(
        "stage_ended", lane="reserved", **STAGE, num_tasks=4, submitted_ms=zero + 1000, completed_ms=zero + 8000,
        succeeded=True,
    )  # fmt: skip
    app.tell("sql_ended", lane="reserved", sql_execution_id=5, ended_ms=zero + 8100)
    app.tell("application_ended", lane="reserved", ended_ms=zero + 9000, succeeded_jobs=1, failed_jobs=0)
    app.tell("job_ended", lane="reserved", job_id=7, completed_ms=zero + 8050, succeeded=True)
    app.flush()


def tell_twice(app: ScriptedApplication, seen: Seen) -> None:
    """A stage of one task whose end is told twice, as when two collectors watched it."""
    app.tell("stage_started", stage_id=0, stage_attempt=0, name="s", num_tasks=1, submitted_ms=app.start_ms)
    for _ in range(2):
        app.tell(
            "task_ended", stage_id=0, stage_attempt=0, task_id=1, task_index=0, outcome="success",
            finished_ms=app.start_ms + 10, duration_ms=10,
        )  # fmt: skip
    app.flush()
    seen.wait_for(app.app_id, "stage_live", lambda row: row.stage.finished_tasks == 2)


def wait_for_checkpoint(home: Path) -> None:
    """Wait for a checkpoint that began after what was sent so far."""
    directory, now_ns = checkpoint_directory(home, "windows"), time.time_ns()

    def newer() -> bool:
        newest = latest_checkpoint(directory)
        return newest is not None and (newest / "_metadata").stat().st_mtime_ns > now_ns

    wait_for(newer, 60, "a checkpoint")


def values(message: Any) -> dict[str, Any]:
    """What is set in a flat message."""
    return {descriptor.name: value for descriptor, value in message.ListFields()}


def within_one_percent(value: float) -> Any:
    return pytest.approx(value, rel=0.0101)


def test_a_running_stage_is_told_whole(seen: Seen) -> None:
    """Sums, last progress of running tasks and what follows from both are as counted by hand, absent stays absent."""
    row = next(row for row in seen.of("orders", "stage_live") if row.stage.finished_tasks == 5)
    end_ms, zero = row.window_end_ms, row.app_start_ms

    actual = values(row.stage)
    expected = {
        **STAGE, "name": "count at X", "num_tasks": 4, "status": "running", "submitted_ms": zero + 1000,
        "elapsed_ms": end_ms - zero - 1000, "job_id": 7, "sql_execution_id": 5,
        "finished_tasks": 5, "succeeded_tasks": 3, "failed_tasks": 1, "killed_tasks": 1, "speculative_tasks": 1,
        "finished_run_ms": 6700, "finished_cpu_ms": 4, "finished_gc_ms": 35,
        "finished_input_bytes": 6400, "finished_input_records": 100,
        "finished_shuffle_read_bytes": 9, "finished_shuffle_read_records": 3, "finished_fetch_wait_ms": 4,
        "finished_shuffle_write_bytes": 50, "finished_shuffle_write_records": 5,
        "finished_output_bytes": 0, "finished_output_records": 0,
        "finished_memory_spilled_bytes": 250, "finished_disk_spilled_bytes": 130,
        "finished_spilled_tasks": 2, "finished_spilled_duration_ms": 6000, "finished_duration_ms": 10_000,
        "duration_p50_ms": within_one_percent(2000), "duration_p95_ms": within_one_percent(2000),
        "duration_max_ms": 4000,
        "task_bytes_p50": within_one_percent(300), "task_bytes_p95": within_one_percent(300), "task_bytes_max": 6009,
        "running_tasks": 1, "running_input_bytes": 200, "running_input_records": 0, "running_shuffle_read_bytes": 0,
        "running_shuffle_read_records": 0, "running_shuffle_write_bytes": 0, "running_output_bytes": 0,
        "running_memory_spilled_bytes": 0, "running_disk_spilled_bytes": 11, "running_cpu_ms": 5,
        "running_age_max_ms": 4000, "running_stalled_max_ms": 0, "running_untracked_tasks": 0,
        "since_finish_ms": end_ms - zero - 5100, "disk_spilled_bytes": 141, "memory_spilled_bytes": 250,
        "work_bytes": 6609, "work_records": 103,
        "biggest_task_index": 2, "biggest_task_bytes": 6009, "biggest_task_ms": 4000,
        "bytes_ratio": within_one_percent(6010 / 301), "lost_ms": pytest.approx(2000, abs=21),
        "lost_share": pytest.approx(2000 / (end_ms - zero - 1000), rel=0.011),
    }  # fmt: skip

    assert actual == expected


def test_a_running_task_keeps_its_latest_progress(seen: Seen) -> None:
    """The last progress by age is told, whatever came last, and counts as the running part of its stage."""
    task = seen.of("orders", "task_live")[0].task
    stage = next(row.stage for row in seen.of("orders", "stage_live") if row.stage.finished_tasks == 2)

    assert values(task) == {
        **STAGE, "task_id": 12, "task_index": 2, "executor_id": "1", "host": "h1", "age_ms": 1500, "stalled_ms": 1100,
        "cpu_since_progress_ms": 3, "activity": "busy", "work_bytes": 4007, "work_records": 42,
        "disk_spilled_bytes": 70, "stack": "at x.Y",
    }  # fmt: skip
    assert (stage.running_tasks, stage.running_disk_spilled_bytes, stage.running_stalled_max_ms) == (2, 70, 1100)
    assert (stage.biggest_task_index, stage.biggest_task_bytes, stage.biggest_task_ms) == (2, 4007, 1500)


def test_a_kill_doubles_no_sum_and_loses_nothing(seen: Seen) -> None:
    """After kill -9 of launcher and JVM the stage's last row has each task once, and nothing brings back ended ones."""
    row = seen.of("orders", "stage_live")[-1]
    stage, zero = row.stage, row.app_start_ms

    assert (stage.finished_tasks, stage.succeeded_tasks, stage.failed_tasks, stage.killed_tasks) == (6, 4, 1, 1)
    assert (stage.finished_input_bytes, stage.finished_disk_spilled_bytes, stage.finished_cpu_ms) == (6900, 130, 6)
    assert (stage.running_tasks, stage.running_input_bytes, stage.disk_spilled_bytes) == (0, 0, 130)
    assert not stage.HasField("running_age_max_ms")
    assert (stage.status, stage.completed_ms, stage.elapsed_ms) == ("succeeded", zero + 8000, 7000)
    assert (stage.since_finish_ms, stage.duration_max_ms) == (900, 6000)


def test_a_replayed_row_has_its_number_and_content_again(seen: Seen) -> None:
    """Rows are sent at least once; one number never stands for two contents, and none is left out."""
    contents: dict[tuple[str, int], set[bytes]] = defaultdict(set)
    for row in seen.live:
        contents[row.app_id, row.row_seq].add(row.SerializeToString(deterministic=True))
    numbers = sorted(number for app_id, number in contents if app_id == "orders")

    assert [key for key, different in contents.items() if len(different) > 1] == []
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(seen.live) >= seen.rows_before_kill


def test_starts_come_first_and_ends_last(seen: Seen) -> None:
    """Within a window an application's rows are starts, live rows, its own row, ends; the application's end is last."""
    rows = {row.row_seq: row for row in seen.live if row.app_id == "orders"}
    views = [rows[number].view for number in sorted(rows)]

    assert views[:5] == ["application_started", "executor_added", "job_started", "sql_started", "stage_started"]
    assert views[5:9] == ["executor_live", "stage_live", "task_live", "app_live"]
    assert views[-5:] == ["app_live", "stage_ended", "sql_ended", "job_ended", "application_ended"]


def test_what_is_passed_on_is_the_fact(seen: Seen) -> None:
    """A start arrives in live with all that the collector told, nested values too."""
    application = seen.of("orders", "application_started")[0]
    stage = seen.of("orders", "stage_started")[0].stage_started
    sql = seen.of("orders", "sql_started")[0].sql_started

    assert dict(application.application_started.properties) == {"k": "v"}
    assert (application.cluster, application.app_attempt) == ("test", 1)
    assert (list(stage.parent_stage_ids), stage.name, stage.job_id) == ([1, 2], "count at X", 7)
    assert list(sql.plan_nodes) == ["Sort", "Exchange"]


def test_an_executor_is_told_by_its_last_sample(seen: Seen) -> None:
    """Of several samples in a window the last one counts; the share of collections follows from it."""
    first = seen.of("orders", "executor_live")[0].executor

    assert values(first) == {
        "executor_id": "1", "host": "h1", "interval_ms": 1000, "gc_delta_ms": 100, "gc_share": 0.1,
        "heap_used_bytes": 200, "running_tasks": 2,
    }  # fmt: skip


def test_completeness_counts_what_never_came(seen: Seen) -> None:
    """Every numbered fact counts, until one is missing: then the ratio says so, and the row has both numbers."""
    rows = seen.of("orders", "app_live")
    before, after = rows[0], rows[-1]

    assert before.completeness == 1.0
    assert after.application.facts_expected == after.application.facts_seen + 1
    assert after.completeness == after.application.facts_seen / after.application.facts_expected
    assert values(after.application) == {
        "name": "orders", "status": "succeeded", "ended_ms": after.app_start_ms + 9000, "elapsed_ms": 9000,
        "running_jobs": 0, "succeeded_jobs": 1, "failed_jobs": 0, "running_stages": 0, "ended_stages": 1,
        "running_tasks": 0, "finished_tasks": 6, "failed_tasks": 1, "executors": 1, "disk_spilled_bytes": 130,
        "facts_seen": 30, "facts_expected": 31, "facts_dropped": 0, "user_name": "ann", "spark_version": "3.5.9",
    }  # fmt: skip


def test_more_ends_than_tasks_are_no_evidence(seen: Seen) -> None:
    """A stage with more good ends than tasks was counted twice: the completeness of its application is 0."""
    app_id = next(row.app_id for row in seen.live if row.app_id.startswith("twice"))

    assert seen.of(app_id, "stage_live")[-1].completeness == 0.0
    assert seen.of(app_id, "app_live")[-1].completeness == 0.0


def test_junk_is_set_aside_with_reason_and_origin(seen: Seen) -> None:
    """What is no fact comes to dead-letters, told by its place; the same place never twice with two reasons."""
    letters = {(letter["kafka_partition"], letter["kafka_offset"]): letter for letter in seen.dead}

    assert [letter["reason"] for _, letter in sorted(letters.items())] == [
        "the record is no Protobuf message of a fact",
        "the record is empty",
        "the fact has no kind that this version knows",
        "the fact has no app_id",
    ]
    assert {(letter["component"], letter["topic"]) for letter in letters.values()} == {
        ("windows", f"{seen.prefix}.facts")
    }
    assert letters[min(letters)]["payload"] == "//9ubyBmYWN0"


def test_ticks_pass_to_every_partition(seen: Seen) -> None:
    """The clock's rows close windows behind live too, so each window of each clock has one."""
    ticks: dict[str, set[int]] = defaultdict(set)
    for row in seen.live:
        if row.view == "tick":
            ticks[row.app_id].add(row.window_end_ms)

    assert {murmur2(name.encode()) % 2 for name in ticks} == {0, 1}
    assert all(len(ends) >= 5 for ends in ticks.values())


def test_told_to_stop_it_ends_well(seen: Seen) -> None:
    """SIGTERM ends job and JVM with exit code 0."""
    assert seen.exit_codes == [0]
