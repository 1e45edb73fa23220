"""Compares the plugin's facts with Spark's event log of the same run."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_rules.knowledge.call_sites import user_call_site
from sparkfuse_rules.knowledge.scrubbing import scrub
from tests.integration.collectors import logged_facts
from tests.oracle.queries import output_rows
from tests.oracle.values import Event, Row, at, depth

ONLY_LIVE = {"exit_code"}
"""Fields of TaskEnded that the log does not have; it has the exit code only inside the reason."""


@pytest.fixture
def run_logged(run_job, kafka_bootstrap, topics, tmp_path):
    """Return a function that runs a job with plugin and event log and returns the events of the log."""

    def run(version: str, script: str, **settings: str) -> list[Event]:
        folder = tmp_path / "log"
        folder.mkdir()
        logged = {"spark__eventLog__enabled": "true", "spark__eventLog__dir": folder.as_uri()}
        job = run_job(version, script, kafka_bootstrap, topics, **logged, **settings)
        job.wait_for_line("STOPPED")
        assert job.ended() == 0
        return logged_facts.log_events(folder)

    return run


def _row(message) -> Row:
    """Return the fields that are set in a fact, without empty lists."""
    return {field.name: value for field, value in message.ListFields()}


def _by_end(rows) -> dict[tuple, Row]:
    return {(row["task_id"], row["outcome"], row["finished_ms"]): row for row in rows}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("version", [pytest.param("spark35", marks=pytest.mark.long), "spark4"])
def test_plugin_and_event_log_agree(run_logged, facts, tmp_path: Path, version: str):
    """All values that plugin and event log both contain are equal.

    The test compares values of tasks, stages, jobs, plans, metrics, executors and settings.
    """
    events = run_logged(
        version,
        "whole_job.py",
        spark__master="local-cluster[2,1,700]",
        spark__executor__memory="600m",
        spark__test__folder=str(tmp_path / "orders"),
        # The plugin replaces the placeholder before Spark writes the settings to its log.
        spark__sparkfuse__job="ingest/{spark.submit.deployMode}",
        # Both executors run from the first task on, and the exit code of a lost one arrives before its removal.
        spark__cores__max="2",
        spark__scheduler__minRegisteredResourcesRatio="1.0",
        spark__scheduler__maxRegisteredResourcesWaitingTime="240s",
        spark__standalone__executorRemoveDelayOnDisconnection="60s",
        spark__sql__autoBroadcastJoinThreshold="-1",
        spark__shuffle__spill__numElementsForceSpillThreshold="3000",
        spark__excludeOnFailure__enabled="true",
        spark__excludeOnFailure__stage__maxFailedTasksPerExecutor="1",
        spark__excludeOnFailure__application__maxFailedTasksPerExecutor="50",
        spark__excludeOnFailure__task__maxTaskAttemptsPerExecutor="1",
        spark__my__password="hunter2",
    )

    _tasks(facts, events)
    _jobs_and_stages(facts, events)
    _plans(facts, events)
    _executors(facts, events)
    _settings(facts, events)
    health = facts.of("collector_health")[-1]
    assert (health.dropped_bulk, health.dropped_reserved, health.send_errors, health.faults) == (0, 0, 0, 0)
    assert (health.cut_facts, health.spark_dropped_events) == (0, 0)
    assert 0 < health.callback_p99_ns <= health.callback_p999_ns
    assert health.callback_max_ns > 0
    assert "hunter2" not in str(facts.all())


def _tasks(facts, events) -> None:
    logged = _by_end(logged_facts.task_ends(events))
    reported = _by_end(_row(task) for task in facts.of("task_ended"))

    assert reported.keys() == logged.keys()
    for end, row in logged.items():
        if "failure_reason" in row:
            row["failure_reason"] = scrub(row["failure_reason"])
        live = {name: value for name, value in reported[end].items() if name not in ONLY_LIVE}
        assert live == row, end
    starts = [(event["Stage ID"], event["Task Info"]) for event in logged_facts.of(events, "SparkListenerTaskStart")]
    assert {(task.stage_id, task.task_id, task.launched_ms, task.locality) for task in facts.of("task_started")} <= {
        (stage, info["Task ID"], info["Launch Time"], info["Locality"]) for stage, info in starts
    }
    # The job really caused these cases; otherwise the comparison would prove nothing.
    rows = list(reported.values())
    for counter in ("disk_spilled_bytes", "output_records", "input_bytes", "remote_shuffle_read_bytes",
                    "local_shuffle_blocks", "shuffle_write_ns", "getting_result_ms"):  # fmt: skip
        assert max(row.get(counter, 0) for row in rows) > 0, counter
    classes = {row["failure_class"]: row for row in rows if row["outcome"] == "failed"}
    assert any(name.endswith("PythonException") for name in classes)
    assert classes["ExecutorLostFailure"]["exit_caused_by_app"] is True
    assert classes["ExecutorLostFailure"]["exit_code"] == 137
    assert "fetch_failed_shuffle_id" in classes["FetchFailed"]


def _jobs_and_stages(facts, events) -> None:
    def logged(kind: str, key: str) -> list:
        return [event[key] for event in logged_facts.of(events, kind)]

    assert [job.job_id for job in facts.of("job_started")] == logged("SparkListenerJobStart", "Job ID")
    tags = [
        [tag for tag in (event["Properties"].get("spark.job.tags") or "").split(",") if tag]
        for event in logged_facts.of(events, "SparkListenerJobStart")
    ]
    assert [list(job.job_tags) for job in facts.of("job_started")] == tags
    assert "orders" in tags[-1]
    assert facts.of("job_started")[-1].job_group == "nightly"
    infos_of_jobs = [info for infos in logged("SparkListenerJobStart", "Stage Infos") for info in infos]
    parents = {info["Stage ID"]: info["Parent IDs"] for info in infos_of_jobs}
    submitted = logged("SparkListenerStageSubmitted", "Stage Info")
    names = {"stage_id": "Stage ID", "stage_attempt": "Stage Attempt ID", "num_tasks": "Number of Tasks",
             "submitted_ms": "Submission Time", "resource_profile_id": "Resource Profile Id"}  # fmt: skip
    for kind, infos in (
        ("stage_started", submitted),
        ("stage_ended", logged("SparkListenerStageCompleted", "Stage Info")),
    ):
        stages = facts.of(kind)
        assert len(stages) == len(infos)
        for stage, info in zip(stages, infos, strict=True):
            for name, key in names.items():
                if hasattr(stage, name):
                    assert getattr(stage, name) == info[key], (kind, name)
    for stage, info in zip(facts.of("stage_started"), submitted, strict=True):
        assert stage.name == info["Stage Name"]
        assert list(stage.parent_stage_ids) == info["Parent IDs"]
        assert stage.depth == depth(stage.stage_id, parents)
        assert list(stage.scope_names) == logged_facts.scope_names(info)
        assert _call_site(stage) == user_call_site(info["Stage Name"], info["Details"])
    for stage, info in zip(facts.of("stage_ended"), logged("SparkListenerStageCompleted", "Stage Info"), strict=True):
        assert stage.completed_ms == info["Completion Time"]
        assert stage.succeeded == ("Failure Reason" not in info)
        assert stage.operator_rows_max == (output_rows(info) or 0)
        assert [stage.result_bytes] == [
            each["Value"] for each in info["Accumulables"] if each["Name"] == "internal.metrics.resultSize"
        ]
    assert any(stage.operator_rows_max > 0 for stage in facts.of("stage_ended")), "an operator produced rows"
    assert any(stage.stage_attempt > 0 for stage in facts.of("stage_started")), "a stage was tried again"


def _plans(facts, events) -> None:
    logged = list(logged_facts.plans(events))
    reported = [
        {
            "sql_execution_id": plan.sql_execution_id,
            "plan_version": plan.plan_version,
            "node_names": list(plan.node_names),
            "node_parents": list(plan.node_parents),
            "metrics": [(metric.node, metric.accumulator_id, metric.name, metric.type) for metric in plan.metrics],
        }
        for plan in facts.of("sql_plan")
    ]
    assert reported == logged
    assert max(plan["plan_version"] for plan in reported) > 0, "adaptive execution re-planned"
    plans = facts.of("sql_plan")
    assert all(len(plan.node_details) == len(plan.node_names) for plan in plans)
    # The last part of each path, without the folder of the test.
    details = {detail.rpartition("/")[2] for plan in plans for detail in plan.node_details}
    assert {"orders parquet", "hashpartitioning customer", "Inner customer", "group by customer"} <= details
    metrics = {
        each.sql_execution_id: dict(
            zip(each.accumulator_ids, each["values"] if isinstance(each, dict) else each.values, strict=True)
        )
        for each in facts.of("sql_metrics")
    }
    assert metrics == logged_facts.sql_metrics(events)
    assert any(metrics.values())
    starts = logged_facts.of(events, "SparkListenerSQLExecutionStart")
    sites = [user_call_site(start["description"], start["details"]) for start in starts]
    assert [_call_site(start) for start in facts.of("sql_started")] == sites
    assert "collect at whole_job.py:19" in sites
    roots = [
        start.root_execution_id if start.HasField("root_execution_id") else None for start in facts.of("sql_started")
    ]
    assert roots == [start.get("rootExecutionId") for start in starts], "absent before Spark 3.4"
    ends = logged_facts.of(events, "SparkListenerSQLExecutionEnd")
    assert [(end.sql_execution_id, end.ended_ms) for end in facts.of("sql_ended")] == [
        (end["executionId"], end["time"]) for end in ends
    ]


def _call_site(fact) -> str | None:
    return fact.call_site if fact.HasField("call_site") else None


def _executors(facts, events) -> None:
    added = [
        (event["Executor ID"], event["Timestamp"], at(event, "Executor Info", "Total Cores"),
         at(event, "Executor Info", "Resource Profile Id"))
        for event in logged_facts.of(events, "SparkListenerExecutorAdded")
    ]  # fmt: skip
    reported = [
        (each.executor_id, each.added_ms, each.cores, each.resource_profile_id) for each in facts.of("executor_added")
    ]
    assert reported == added
    removed = logged_facts.of(events, "SparkListenerExecutorRemoved")
    assert [(each.executor_id, each.removed_ms, each.reason) for each in facts.of("executor_removed")] == [
        (event["Executor ID"], event["Timestamp"], event["Removed Reason"]) for event in removed
    ]
    assert 137 in {each.exit_code for each in facts.of("executor_removed")}
    stores = logged_facts.of(events, "SparkListenerBlockManagerAdded")
    assert [(each.executor_id, each.host, each.max_memory_bytes, each.max_on_heap_memory_bytes, each.added_ms)
            for each in facts.of("block_manager_added")] == [
        (event["Block Manager ID"]["Executor ID"], event["Block Manager ID"]["Host"], event["Maximum Memory"],
         event["Maximum Onheap Memory"], event["Timestamp"]) for event in stores
    ]  # fmt: skip
    gone = logged_facts.of(events, "SparkListenerBlockManagerRemoved")
    assert [(each.executor_id, each.removed_ms) for each in facts.of("block_manager_removed")] == [
        (event["Block Manager ID"]["Executor ID"], event["Timestamp"]) for event in gone
    ]
    [profile] = facts.of("resource_profile_added")
    [asked] = logged_facts.of(events, "SparkListenerResourceProfileAdded")
    resources = {name: each["Amount"] for name, each in asked["Executor Resource Requests"].items()}
    assert profile.profile_id == asked["Resource Profile Id"] == 0
    assert profile.executor_memory_bytes == resources["memory"] << 20
    assert profile.task_cpus == asked["Task Resource Requests"]["cpus"]["Amount"]
    _excluded(facts, events)


def _excluded(facts, events) -> None:
    logged = defaultdict(list)
    for event in events:
        if "ExcludedForStage" in event["Event"] or event["Event"].endswith(("Excluded", "Unexcluded")):
            stage, at = event.get("stageId", event.get("Stage ID")), event.get("time", event.get("Timestamp"))
            logged[at].append(stage)
    reported = defaultdict(list)
    for event in facts.of("node_event"):
        assert event.event in {"excluded", "taken back"}
        reported[event.happened_ms].append(event.stage_id if event.HasField("stage_id") else None)
    assert reported == logged
    assert reported, "an executor was excluded for a stage"


def _settings(facts, events) -> None:
    [environment] = logged_facts.of(events, "SparkListenerEnvironmentUpdate")
    properties = dict(environment["Spark Properties"].items())
    # The log adds this key even if it is not set.
    del properties["spark.scheduler.mode"]
    expected = {key: value for key, value in properties.items() if allowed_configuration().allows(key)}
    [application] = facts.of("application_started")
    assert dict(application.configuration) == expected
    assert expected["spark.executor.memory"] == "600m"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("version", ["spark35", pytest.param("spark4", marks=pytest.mark.long)])
def test_streaming_facts_agree_with_event_log(run_logged, facts, version: str):
    """Facts about streaming queries equal the events in the event log.

    The test compares starts, batches with rates, state and watermark, idle times, and ends with their reasons.
    """
    events = run_logged(version, "streaming_job.py", spark__my__password="hunter2")

    started = {query.run_id: query for query in facts.of("streaming_started")}
    logged = logged_facts.of(events, "StreamingQueryListener$QueryStartedEvent")
    assert {run: (query.query_id, query.name, query.started_ms) for run, query in started.items()} == {
        event["runId"]: (event["id"], event["name"], logged_facts.moment(event["timestamp"])) for event in logged
    }
    assert all(query.HasField("trigger_interval_ms") and query.trigger_interval_ms == 0 for query in started.values())
    batches = [batch for batch in facts.of("streaming_progress") if batch.HasField("batch_id")]
    progress = [event["progress"] for event in logged_facts.of(events, "StreamingQueryListener$QueryProgressEvent")]
    assert [_batch(batch) for batch in batches] == [_logged_batch(each) for each in progress]
    counted = [batch for batch in batches if batch.name == "counts"]
    assert max(batch.state_rows for batch in counted) > 0
    assert max(batch.watermark_ms for batch in counted) > started[counted[0].run_id].started_ms - 3_600_000
    assert "RateStreamV2" in counted[0].sources[0]
    ended = {started[query.run_id].name: query for query in facts.of("streaming_ended")}
    assert not ended["counts"].HasField("failure_reason")
    assert "ZeroDivisionError" in ended["broken"].failure_reason


def _batch(batch) -> tuple:
    optional = [
        getattr(batch, name) if batch.HasField(name) else None
        for name in ("input_rows_per_second", "processed_rows_per_second", "state_rows", "state_memory_bytes",
                     "dropped_by_watermark_rows", "watermark_ms", "event_time_max_ms", "add_batch_ms",
                     "latest_offset_ms")
    ]  # fmt: skip
    return (batch.run_id, batch.batch_id, batch.triggered_ms, batch.batch_duration_ms, batch.input_rows, *optional)


def _logged_batch(progress) -> tuple:
    def total(key: str) -> int | None:
        states = progress["stateOperators"]
        return sum(state[key] for state in states) if states else None

    watermark, newest = (progress["eventTime"].get(name) for name in ("watermark", "max"))
    durations = progress["durationMs"]
    return (
        progress["runId"],
        progress["batchId"],
        logged_facts.moment(progress["timestamp"]),
        progress["batchDuration"],
        sum(source["numInputRows"] for source in progress["sources"]),
        progress["sources"][0].get("inputRowsPerSecond"),
        progress["sources"][0].get("processedRowsPerSecond"),
        total("numRowsTotal"),
        total("memoryUsedBytes"),
        total("numRowsDroppedByWatermark"),
        None if watermark is None else logged_facts.moment(watermark),
        None if newest is None else logged_facts.moment(newest),
        durations.get("addBatch"),
        durations.get("latestOffset"),
    )
