"""Tests offline failure rows: failed tasks, failed jobs and lost executors, and which finding is a symptom."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.columns import view_specs
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.analysis import analyze
from sparkfuse_native_analytics.offline.analysis_types import Analysis
from sparkfuse_native_analytics.offline.application import application_of, read_application
from sparkfuse_native_analytics.offline.failure_rows import failure_rows
from sparkfuse_native_analytics.offline.job_rows import job_rows
from sparkfuse_native_analytics.offline.loss_rows import loss_rows
from sparkfuse_native_analytics.offline.view_rows import view_rows
from sparkfuse_rules.compiled import compile_offline, rules_offline
from tests.unit.native_analytics.event_log_lines import START_MS, Executor, Run, Stage, Task, even

RULES = rules_offline()
SCHEMA = json.loads(asset("sparkfuse_contracts", "generated", "json_schema", "analysis.json").read_text())
DISK_FULL = "java.io.IOException: No space left on device"
VALUE_ERROR = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "/app/etl.py", line 3, in parse\n    return int(row)\n'
    "ValueError: invalid literal for int() with base 10: 'x'\n"
)
KILLED = "Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB physical memory used. Exit code: 137"
ASKED = "Executor killed by driver."


@pytest.fixture
def read(tmp_path: Path):
    def application(run: Run):
        (log,) = find_logs(str(run.write(tmp_path / "log"))).logs
        return read_application(log)

    return application


def failing(error: str, index: int = 0, executor: str = "1") -> Task:
    return Task(100, reason="ExceptionFailure", error=error, index=index, executor=executor)


def findings_of(made: Analysis) -> list[tuple]:
    return [(each["rule"], each["stage_id"], each["count"], each["inhibited_by"]) for each in made["findings"]]


def test_failed_attempts_are_grouped_by_class(read):
    """Failed tasks of a stage attempt are counted by failure class; the row has text and task of the last failure."""
    tasks = [failing(DISK_FULL, 0, "2"), failing(DISK_FULL, 0, "3"), failing(VALUE_ERROR, 5), *even(1_000, 3)]
    application = read(Run([Stage(4, tasks, num_tasks=6, status="failed")]))
    disk, python = failure_rows(application)

    assert set(disk) == set(view_specs()["failure_live"].columns)
    assert disk == {
        "stage_id": 4, "stage_attempt": 0, "stage_name": "save at orders.py:88",
        "stage_fingerprint": application.fingerprints[0], "failure_class": "java.io.IOException",
        "failure_reason": "No space left on device", "failed_tasks": 2, "finished_tasks": 6, "num_tasks": 6,
        "task_index": 0, "executor_id": "3", "host": "node-3", "hosts": 2, "failing_tasks": 1, "attempts_max": 2,
        "failure_kind": "infrastructure", "failure": "disk_full", "retry": "transient",
        "first_cause": "No space left on device",
    }  # fmt: skip
    assert (python["failed_tasks"], python["task_index"], python["failure_kind"]) == (1, 5, "user_code")
    assert python["first_cause"] == "ValueError: invalid literal for int() with base 10: 'x'"


def test_fetch_failure_names_the_lost_executor(read):
    """The finding about a failed fetch names the executor that had the block, not the task that requested the block."""
    lost = Task(100, reason="FetchFailed", error="Connection refused", index=1)
    made = analyze(read(Run([Stage(4, [lost, *even(1_000, 3)])])), RULES)
    (found,) = [each for each in made["findings"] if each["rule"] == "fetch_failed"]

    assert found["executor_id"] == "7"
    assert "executor 7 on node-7" in found["description"]


def test_single_failed_attempt_is_no_finding(read):
    """Spark retries a failed task attempt, so a single failed attempt is not a finding."""
    tasks = [failing(DISK_FULL), *even(1_000, 60)]

    assert analyze(read(Run([Stage(0, tasks, num_tasks=60)])), RULES)["findings"] == []


def test_released_executors_are_not_lost(read):
    """Executors that dynamic allocation or the end of the application released are not lost."""
    stages = [Stage(0, even(30_000, 4))]
    leaving = [Executor(str(number), 5_000 + number, ASKED) for number in range(5)]
    last = Executor("9", 30_900, "Command exited with code 137")  # the application ends at 31,500
    application = read(Run(stages, executors=[*leaving, last]))

    assert {row["failure_kind"] for row in loss_rows(application)} == {"benign"}
    assert len(loss_rows(application)) == 5
    assert analyze(application, RULES)["findings"] == []


def test_failed_launches_do_not_count_as_executors(read):
    """Executors that failed to launch are not counted, because they would reduce the share of lost executors."""
    were = [Executor(str(number), 5_000 + number, KILLED) for number in range(2)]
    never = [Executor(str(number), 6_000 + number, KILLED, joined_ms=None) for number in range(2, 8)]
    application = read(Run([Stage(0, even(30_000, 4))], executors=[*were, *never]))

    assert max(row["peak_executors"] for row in loss_rows(application)) == 2


def test_many_lost_executors_are_one_finding(read):
    """Many lost executors become one finding with the number of matches."""
    lost = [Executor(str(number), 5_000 + number, KILLED) for number in range(40)]
    made = analyze(read(Run([Stage(0, even(30_000, 4))], executors=lost)), RULES)
    churn, loss = made["findings"]
    jsonschema.Draft202012Validator(SCHEMA).validate(made)

    assert [(each["rule"], each["severity"]) for each in (churn, loss)] == [
        ("executor_churn", "critical"),
        ("executor_lost", "critical"),
    ]
    assert (loss["count"], loss["inhibited_by"]) == (40, "executor_churn")
    assert loss["evidence"]["lost_alike"] == 40
    assert "container_memory" in loss["description"]


def test_symptoms_of_a_lost_executor_follow_it(read):
    """The retried stage and the failed fetches are symptoms of the lost executor."""
    fetch = Task(100, reason="FetchFailed", error="Connection refused", index=1)
    gone = Task(100, reason="ExecutorLostFailure", error=KILLED, index=2)
    first = Stage(0, [fetch, gone, *even(9_000, 2)], status="failed", num_tasks=4)
    made = analyze(
        read(Run([first, Stage(0, even(900, 4), attempt=1)], executors=[Executor("7", 1_500, KILLED)])), RULES
    )

    assert findings_of(made) == [
        ("executor_lost", None, 1, None),
        ("fetch_failed", 0, 1, "executor_lost"),
        ("stage_retried", 0, 1, "executor_lost"),
    ]


def test_failed_job_has_first_cause_and_symptoms(read):
    """The first cause of a failed job is the innermost exception; failures in the stages of the job are symptoms."""
    text = (
        "Job aborted due to stage failure: Task 0 in stage 4.0 failed 4 times, most recent failure: "
        f"Lost task 0.3 in stage 4.0 (TID 3) (node-1 executor 1): {VALUE_ERROR}"
    )
    tasks = [failing(VALUE_ERROR)] * 4
    application = read(Run([Stage(4, tasks, status="failed")], failed=True, failure=text))
    (job,) = job_rows(application)
    made = analyze(application, RULES)

    assert set(job) == set(view_specs()["job_live"].columns)
    assert (job["status"], job["failed_stage_id"], job["failure_kind"], job["retry"]) == (
        "failed", 4, "user_code", "never",
    )  # fmt: skip
    assert findings_of(made) == [("job_failed", None, 1, None), ("task_failures", 4, 1, "job_failed")]
    assert made["findings"][0]["job_id"] == 0
    assert "First cause: ValueError: invalid literal" in made["findings"][0]["description"]


def test_cancelled_job_is_not_a_failure(read):
    """A job that a user cancelled is not reported as a failure."""
    made = analyze(read(Run([Stage(4, even(10))], failed=True, failure="Job 0 cancelled by the user")), RULES)

    assert made["findings"] == []
    assert made["jobs"][0]["failure"] == "cancelled"


TOO_LONG = "org.apache.spark.SparkException: Could not execute broadcast in 300 secs. You can increase the timeout"


def query(execution: int, failure: str, root: int | None = None) -> list[str]:
    """Return the start and end events of a SQL execution, as Spark appends them to the other events."""
    of_sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    began = {"Event": f"{of_sql}Start", "executionId": execution, "description": "save orders", "time": START_MS}
    began |= {} if root is None else {"rootExecutionId": root}
    ended = {"Event": f"{of_sql}End", "executionId": execution, "time": START_MS + 90_000, "errorMessage": failure}
    return [json.dumps(began), json.dumps(ended)]


@pytest.mark.parametrize("cancelled", [True, False])
def test_query_failure_without_failed_job_is_found(read, cancelled):
    """A query can fail although its jobs succeeded or were cancelled, for example by a broadcast timeout."""
    cancellation: dict[str, Any] = {"failed": True, "failure": "Job 0 cancelled part of cancelled job group x"}
    more = cancellation if cancelled else {}
    application = read(Run([Stage(4, even(10))], query=5, more=query(5, TOO_LONG), **more))
    row = job_rows(application)[-1]
    (found,) = analyze(application, RULES)["findings"]

    assert set(row) == set(view_specs()["job_live"].columns)
    assert (row["job_id"], row["status"], row["elapsed_ms"], row["failure"]) == (
        0, "query_failed", 90_000, "broadcast_timeout",
    )  # fmt: skip
    assert (found["rule"], found["severity"]) == ("job_failed", "warning")
    assert found["description"].startswith("The query of job 0 (save orders) failed after 1 min 30 s")


def test_query_of_a_failed_job_is_not_reported_again(read):
    """A failed job, its query and the root query become one finding."""
    around = [*query(5, VALUE_ERROR, root=5), *query(6, VALUE_ERROR, root=5)]
    rows = job_rows(read(Run([Stage(4, even(10))], query=6, failed=True, failure=VALUE_ERROR, more=around)))

    assert [row["status"] for row in rows] == ["failed"]


@pytest.mark.parametrize("failure", ["", "Job 0 cancelled by the user"])
def test_successful_or_cancelled_query_has_no_row(read, failure):
    """A successful or cancelled query has no failure row.

    In Spark's log, a successful query has an empty failure reason.
    """
    assert job_rows(read(Run([Stage(4, even(10))], query=5, more=query(5, failure)))) == []


def test_query_that_fails_before_its_first_job_has_no_row(read):
    """A query that fails before its first job has no failure row.

    Many programs query tables that may not exist, and continue.
    """
    assert job_rows(read(Run([Stage(4, even(10))], query=4, more=query(5, TOO_LONG)))) == []


def test_job_without_description_is_named_by_its_last_stage(read):
    """A job without a description gets the display name of its last stage."""
    stages = [Stage(4, even(10), name="read at etl.py:3"), Stage(5, even(10), name="write at etl.py:9")]
    (row,) = job_rows(read(Run(stages, failed=True)))

    assert row["description"] == "write at etl.py:9"


def test_executor_lost_with_the_application_is_a_loss(read):
    """An executor that was killed in the last second of the application counts as lost, although clocks may differ."""
    last = [Executor("7", 30_900, KILLED), Executor("8", 30_900, "Command exited with code 143")]
    application = read(Run([Stage(0, even(30_000, 4))], executors=last))  # it ends at 31,500

    assert [row["executor_id"] for row in loss_rows(application)] == ["7"]


def test_straggler_names_its_host(read):
    """A task with the same bytes and ten times the duration is a straggler, not skew."""
    tasks = [*even(5_000, 7), Task(60_000, executor="3")]
    (found,) = analyze(read(Run([Stage(4, tasks)])), RULES)["findings"]

    assert found["rule"] == "task_straggler"
    assert "executor 3" in found["description"]


def test_exploding_join_is_found_by_operator_rows(read):
    """A join that produces too many rows is found because the rows of its operator are counted.

    If a filter drops these rows, the written bytes do not show them.
    """
    stages = [Stage(4, even(5_000, 8), output_rows=20_000_000)]

    assert [each["rule"] for each in analyze(read(Run(stages)), RULES)["findings"]] == ["output_explosion"]


def test_runs_python_follows_scope_names(read):
    """A stage runs Python if one of its scope names is a Python operator."""
    stages = [Stage(4, even(10)), Stage(5, even(10), scopes=["Scan parquet", "ArrowEvalPython"])]

    assert [row["runs_python"] for row in read(Run(stages)).stages("runs_python")] == [False, True]


def test_application_with_open_tasks_is_incomplete(read):
    """If tasks have no end event, a rule reports that the totals of the application are too low."""
    tasks = [*even(1_000, 30), *[Task(1, reason=None)] * 12]
    made = analyze(read(Run([Stage(4, tasks, num_tasks=42, status="running")])), RULES)

    assert [each["rule"] for each in made["findings"]] == ["application_incomplete"]


@pytest.mark.parametrize(
    ("ended", "later_ms", "expected"),
    [
        pytest.param(False, 3_599_999, [], id="in progress"),
        pytest.param(False, 3_600_000, ["application_incomplete"], id="an hour ago"),
        pytest.param(False, -60_000, [], id="a clock behind the log's"),
        pytest.param(True, 10**10, [], id="with its end"),
    ],
)
def test_old_log_without_end_is_incomplete(read, ended, later_ms, expected):
    """A log without an end is reported as incomplete after an hour without a change."""
    application = read(Run([Stage(4, even(1_000, 30), status="succeeded" if ended else "running")], ended=ended))
    judged = application_of(application.read, now_ms=application.until_ms + later_ms)

    assert [each["rule"] for each in analyze(judged, RULES)["findings"]] == expected


def test_log_with_gaps_is_reported_as_lossy(read):
    """If events of a log are missing, a rule reports the log as incomplete."""
    made = analyze(read(Run([Stage(4, even(1_000, 30))], more=["{broken"] * 3)), RULES)

    assert [each["rule"] for each in made["findings"]] == ["collector_lossy"]


def test_job_override_applies_offline(read, tmp_path):
    """A rule override for a job key pattern applies offline; other jobs keep the defaults."""
    settings = tmp_path / "sparkfuse.yaml"
    settings.write_text(
        "jobs:\n  - job: nightly_*\n    rules:\n      task_straggler: {params: {min_lost_ms: 600000}}\n"
    )
    rules = compile_offline(settings)
    stages = [Stage(4, [*even(5_000, 7), Task(60_000)])]

    assert analyze(read(Run(stages)), rules)["findings"] == []
    assert [each["rule"] for each in analyze(read(Run(stages, job="other")), rules)["findings"]] == ["task_straggler"]


@pytest.mark.parametrize("number", ["-9223372036854775808", "9223372036854775807", "null", '"x"'])
def test_absurd_times_do_not_stop_the_analysis(tmp_path, number):
    """Times in the wrong order or far outside the valid range cause no error."""
    run = Run([Stage(0, [failing(DISK_FULL)] * 4, status="failed")], failed=True, executors=[Executor("1", 5, KILLED)])
    lines = [line.replace(f'"Timestamp": {START_MS}', f'"Timestamp": {number}') for line in run.lines()]
    lines = [line.replace('"Completion Time": ', f'"Completion Time": {number}, "x": ') for line in lines]
    (tmp_path / "log").write_text("\n".join(lines))
    (log,) = find_logs(str(tmp_path / "log")).logs
    made = analyze(read_application(log), RULES)
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(made, allow_nan=False)))

    assert "task_failures" in [each["rule"] for each in made["findings"]]


def test_views_have_all_columns_and_completeness(read):
    """All views have their columns and one completeness per row, even without any failure."""
    rows = view_rows(read(Run([Stage(0, even(10))])), [{}], {})

    assert {view: table.schema.names for view, table in rows.views.items()} == {
        view: list(view_specs()[view].columns) for view in rows.views
    }
    assert {view: table.num_rows for view, table in rows.views.items()} == {
        view: len(shares) for view, shares in rows.completeness.items()
    }
