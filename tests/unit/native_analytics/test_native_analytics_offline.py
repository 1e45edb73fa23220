import json
import re
from dataclasses import replace
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.columns import view_specs
from sparkfuse_contracts.generated import analysis_pb2
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_kernel.event_logs.log import UnreadableLogError
from sparkfuse_native_analytics.offline import analysis, analysis_types
from sparkfuse_native_analytics.offline.analysis import analyze, worst_severity
from sparkfuse_native_analytics.offline.application import read_application, read_applications, read_tasks
from sparkfuse_native_analytics.offline.application_row import between_jobs_ms
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns, training_samples
from sparkfuse_native_analytics.offline.history_rows import display_name_messages, history_rows
from sparkfuse_rules.compiled import rules_offline
from tests.unit.native_analytics.event_log_lines import START_MS, Run, Stage, Task, counted, even, nightly

RULES = rules_offline()
BETWEEN_JOBS = json.loads(asset("sparkfuse_contracts", "generated", "shared", "between_jobs.json").read_text())["cases"]
SCHEMA = json.loads(asset("sparkfuse_contracts", "generated", "json_schema", "analysis.json").read_text())


@pytest.fixture
def read(tmp_path: Path):
    def application(run: Run, name: str = "log"):
        (log,) = find_logs(str(run.write(tmp_path / name))).logs
        return read_application(log)

    return application


@pytest.fixture
def learned(read):
    """Return the training samples of some runs."""

    def history(*runs: Run) -> EarlierRuns:
        return EarlierRuns([read(run, f"run-{place}") for place, run in enumerate(runs)])

    return history


def found(application, history=None) -> list[tuple[str, str]]:
    return [(each["rule"], each["severity"]) for each in analyze(application, RULES, history)["findings"]]


def test_stage_rows_match_the_live_view(read):
    """The offline row of a stage has the columns of the live row at the end of the stage.

    The columns of running stages are NULL.
    """
    tasks = [Task(1_000), Task(2_000), Task(3_000), Task(30_000, 90_000_000, disk_spilled_bytes=7), Task(9, reason="x")]
    application = read(Run([Stage(3, tasks, num_tasks=4)]))
    (row,) = application.stage_rows.to_pylist()
    present = {name: value for name, value in row.items() if value is not None}

    assert list(row) == list(view_specs()["stage_live"].columns)
    assert present == {
        "stage_id": 3, "stage_attempt": 0, "name": "save at orders.py:88", "num_tasks": 4, "status": "succeeded",
        "submitted_ms": START_MS + 1_000, "completed_ms": START_MS + 31_000, "elapsed_ms": 30_000, "job_id": 0,
        "finished_tasks": 5, "succeeded_tasks": 4, "failed_tasks": 1, "killed_tasks": 0, "speculative_tasks": 0,
        "finished_run_ms": 36_009, "finished_cpu_ms": 36_009, "finished_gc_ms": 5, "finished_input_bytes": 0,
        "finished_input_records": 0, "finished_shuffle_read_bytes": 94_000_000, "finished_shuffle_read_records": 50,
        "finished_fetch_wait_ms": 0, "finished_shuffle_write_bytes": 0, "finished_shuffle_write_records": 0,
        "finished_output_bytes": 0, "finished_output_records": 0, "finished_memory_spilled_bytes": 21,
        "finished_disk_spilled_bytes": 7, "finished_spilled_tasks": 1, "finished_spilled_duration_ms": 30_000,
        "finished_duration_ms": 36_009, "result_bytes": 500, "duration_p50_ms": 2_500.0, "duration_p95_ms": 30_000.0,
        "duration_max_ms": 30_000, "task_bytes_p50": 1_000_000.0, "task_bytes_p95": 90_000_000.0,
        "task_bytes_max": 90_000_000, "disk_spilled_bytes": 7, "memory_spilled_bytes": 21, "work_bytes": 94_000_000,
        "work_records": 50, "biggest_task_index": 3, "biggest_task_bytes": 90_000_000, "biggest_task_ms": 30_000,
        "bytes_ratio": 90_000_001 / 1_000_001, "lost_ms": 27_500, "lost_share": 27_500 / 30_000,
        "slowest_task_index": 3, "slowest_task_ms": 30_000, "slowest_task_bytes": 90_000_000, "slowest_task_gc_ms": 1,
        "slowest_task_executor_id": "1", "slowest_task_host": "node-1",
        "slowest_task_bytes_ratio": 90_000_001 / 1_000_001, "slowest_task_lost_ms": 27_500,
        "slowest_task_lost_share": 27_500 / 30_000, "fetch_failed_tasks": 0, "lost_tasks": 0, "resubmitted_tasks": 0,
        "stage_fingerprint": row["stage_fingerprint"], "runs_python": False, "stage_name": "save at orders.py:88",
        "stage_title": "stage 3: save at orders.py:88; save",
    }  # fmt: skip


def test_live_only_columns_are_null(read):
    """Columns of running stages are NULL offline, so that rules on them are not evaluated."""
    row = read(nightly(0, 1_000)).stage_rows.to_pylist()[0]
    live_only = [name for name, column in view_specs()["stage_live"].columns.items() if "live only" in column.tags]

    assert live_only
    assert [name for name in live_only if row[name] is not None] == []


def test_application_row_has_sums_of_stages(read):
    """The row of app_live has the application's times and the sums of its stages."""
    application = read(Run([Stage(0, even(1_000, 2)), Stage(1, even(2_000, 3), status="failed")], failed=True))

    assert application.row == {
        "name": "nightly_orders 2026-11-21", "status": "failed", "ended_ms": START_MS + 3_500, "elapsed_ms": 3_500,
        "running_jobs": 0, "succeeded_jobs": 0, "failed_jobs": 1, "running_stages": 0, "ended_stages": 2,
        "running_tasks": 0, "finished_tasks": 5, "failed_tasks": 0, "executors": 0, "disk_spilled_bytes": 0,
        "user_name": "etl", "spark_version": "3.5.8", "finished_cpu_ms": 8_000, "work_bytes": 5_000_000,
        "work_records": 50, "facts_seen": 20, "facts_expected": 20, "unfinished_tasks": 0,
        "between_jobs_ms": 500,
    }  # fmt: skip
    assert set(application.row) <= set(view_specs()["app_live"].columns)


@pytest.mark.parametrize("case", BETWEEN_JOBS, ids=lambda case: case["name"])
def test_between_jobs_ms_counts_time_without_a_job(case):
    """The time without a job is measured from the end of the first job.

    ApplicationJobsTest runs the same cases on the live computation.
    """
    times = [[None if each == "-" else int(each) for each in job.split()] for job in case["jobs"]]
    submitted, completed = zip(*times, strict=True) if times else ((), ())
    table = pa.table({
        "submitted_ms": pa.array(submitted, pa.int64()), "completed_ms": pa.array(completed, pa.int64())
    })  # fmt: skip

    assert between_jobs_ms(table, case["until_ms"]) == case["between_ms"]


def test_identity_equals_the_live_identity(read):
    """The job key is computed from the allow-listed properties, and no other property is stored."""
    application = read(nightly(0, 1_000))

    assert (application.job_key, application.run_key) == ("nightly_orders", f"app-0/0@{START_MS}")
    assert "spark.secret" not in application.tables["environment"]["key"].to_pylist()


def test_fingerprint_does_not_depend_on_stage_id(read):
    """Fingerprints depend on the graph of stages and not on stage ids."""
    chain = [Stage(0, even(10)), Stage(1, even(10), name="count at b.py:1", parents=[0])]
    moved = [Stage(4, even(10)), Stage(9, even(10), name="count at b.py:1", parents=[4])]

    assert read(Run(chain), "one").fingerprints == read(Run(moved), "two").fingerprints


def test_recomputed_parent_keeps_fingerprint_of_reader(read):
    """If a skipped parent stage runs later for a retry, the fingerprint of the stage that reads it does not change."""
    reader = Stage(5, even(10), name="count at b.py:1", parents=[3])
    usual = read(Run([reader]), "usual")
    retried = read(Run([reader, Stage(3, even(10), after_ms=5), Stage(5, even(10), after_ms=20, attempt=1)]), "retried")
    before = read(Run([Stage(3, even(10)), replace(reader, after_ms=10)]), "before")

    assert set(usual.fingerprints) < set(retried.fingerprints)
    assert len(set(retried.fingerprints)) == 2
    assert set(usual.fingerprints).isdisjoint(before.fingerprints)


@pytest.mark.parametrize("status", ["succeeded", "failed", "running"])
def test_skew_is_found_whatever_the_end_of_its_stage(read, status):
    """A task that read most of the data is reported even if its stage failed or never completed."""
    tasks = [*even(10_000, 63), Task(600_000, read_bytes=40_000_000_000)]
    made = analyze(read(Run([Stage(3, tasks, status=status)], ended=status == "succeeded")), RULES)

    assert ("stage_skew", 3) in [(each["rule"], each["stage_id"]) for each in made["findings"]]


def test_stage_without_end_runs_until_last_event(read):
    """In the log of a killed driver, a stage without an end lasts until the last event."""
    tasks = [Task(1_000), Task(40_000), Task(1, reason=None)]
    application = read(Run([Stage(3, tasks, status="running")], ended=False))
    made = analyze(application, RULES)

    assert application.stages("status", "elapsed_ms") == [{"status": "running", "elapsed_ms": 40_000}]
    assert made["application"]["status"] == "unknown"
    assert made["evidence"]["unfinished_tasks"] == 1
    assert made["evidence"]["complete"] is False


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        pytest.param(Stage(0, even(10, 4)), 1.0, id="all there"),
        pytest.param(Stage(0, even(10, 4), num_tasks=5), 0.8, id="an end is missing"),
        pytest.param(Stage(0, even(10, 4), num_tasks=3), 0.0, id="counted twice"),
        pytest.param(Stage(0, even(10, 4), num_tasks=9, status="failed"), 1.0, id="a failed stage ran so far"),
    ],
)
def test_stage_completeness_counts_task_ends(read, stage, expected):
    """A successful stage has one successful end per task; missing task ends reduce the completeness of the stage."""
    assert read(Run([stage])).stage_completeness == (expected,)


def test_malformed_line_reduces_completeness(read):
    """A malformed line reduces the completeness of the whole log."""
    application = read(Run([Stage(0, even(10, 4))], more=["{broken", "]"]))

    assert 0.8 < application.completeness < 0.95
    assert analyze(application, RULES)["evidence"]["malformed"] == 2


def test_skew_and_spill_findings_have_evidence(read):
    """The rules of the catalog match offline rows in the same way as live rows."""
    skewed = [*even(1_000, 15), Task(31_000, 90_000_000)]
    spilled = even(20_000, 4, disk_spilled_bytes=200_000_000)
    made = analyze(read(Run([Stage(0, skewed), Stage(1, spilled, after_ms=31_000)])), RULES)
    spill, skew = sorted(made["findings"], key=lambda each: -each["stage_id"])

    assert [skew["rule"], skew["severity"], skew["stage_id"]] == ["stage_skew", "warning", 0]
    assert skew["evidence"]["biggest_task_bytes"] == 90_000_000
    assert "reads 85.8 MiB, 90.0 times the median task, and takes 31.0 s" in skew["description"]
    assert [spill["rule"], spill["stage_id"], spill["completeness"]] == ["stage_spill", 1, 1.0]
    assert worst_severity(made) == "warning"


HEALTHY = [nightly(day, wall_ms) for day, wall_ms in enumerate([60_000, 62_000, 58_000, 61_000, 59_000, 63_000])]


def test_slow_run_is_found_only_with_history(read, learned):
    """A run that takes three times as long as earlier runs has a finding; without earlier runs it has none."""
    slow = nightly(9, 180_000)

    assert found(read(slow), learned(*HEALTHY)) == [("stage_slow", "warning"), ("application_slow", "warning")]
    assert found(read(slow)) == []


def test_healthy_runs_have_no_findings(read, learned):
    """Usual runs, and runs with a cold JVM, a busy host (same CPU time) or three times the rows, have no finding."""
    known = learned(*HEALTHY)
    cold = Run([Stage(3, [Task(66_000), *even(58_000, 7)])], start_ms=HEALTHY[-1].start_ms * 2 - START_MS)
    noisy = Run([Stage(3, even(150_000, cpu_ms=60_000))], start_ms=cold.start_ms)
    grown = Run([Stage(3, even(170_000, read_bytes=3_000_000))], start_ms=cold.start_ms)

    assert [found(read(run), known) for run in (HEALTHY[0], cold, noisy, grown)] == [[], [], [], []]


# Durations of runs whose source reports no bytes.
COUNTED_MS = (60_000, 62_000, 58_000, 61_000, 59_000)


def test_operator_rows_measure_work_of_silent_sources(read, learned):
    """If a source reports no bytes, operator rows measure the work, and the finding names this measure of work."""
    known = learned(*(counted(day, wall_ms, 10**9) for day, wall_ms in enumerate(COUNTED_MS)))
    grown, slow = read(counted(9, 180_000, 3 * 10**9)), read(counted(9, 180_000, 10**9))

    assert found(grown, known) == []
    assert found(slow, known) == [("stage_slow", "warning"), ("application_slow", "warning")]
    assert all("for this number of rows" in each["description"] for each in analyze(slow, RULES, known)["findings"])


def test_history_rows_contain_operator_rows(read):
    """A backfill stores operator rows of the application and of its stages."""
    application, stage = history_rows(read(counted(0, 60_000, 10**9)), "test", "team")

    assert (application.application.operator_rows, stage.stage.operator_rows_max) == (10**9, 10**9)


def test_unknown_work_raises_the_threshold(read, learned):
    """If the work is unknown, twice the usual duration causes no finding, and seven times the usual duration does."""
    known = learned(*(counted(day, wall_ms, None) for day, wall_ms in enumerate(COUNTED_MS)))
    findings = analyze(read(counted(9, 420_000, None)), RULES, known)["findings"]

    assert found(read(counted(9, 150_000, None)), known) == []
    assert [each["rule"] for each in findings] == ["stage_slow", "application_slow"]
    assert all("(input size unknown)" in each["description"] for each in findings)


def test_baseline_uses_runs_that_ended_before_the_start(read, learned):
    """The baseline uses neither the run itself nor later runs, even if their logs are in the history folder."""
    slow = nightly(3, 180_000)
    known = learned(*HEALTHY[:3], slow, *HEALTHY[4:])

    assert found(read(slow), known) == []
    assert analyze(read(slow), RULES, known)["application"]["baseline_runs"] is None


def test_history_order_and_duplicates_do_not_matter(read, learned):
    """Training samples are ordered by the end of their run, and each run adds its samples once."""
    slow = read(nightly(9, 180_000))
    once, mixed = learned(*HEALTHY), learned(*HEALTHY[::-1], *HEALTHY)

    assert analyze(slow, RULES, once)["stages"] == analyze(slow, RULES, mixed)["stages"]


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(nightly(0, 1_000, failed=True), id="a job failed"),
        pytest.param(nightly(0, 1_000, ended=False), id="no end"),
        pytest.param(Run([Stage(3, even(1_000)), Stage(4, even(1), status="failed")]), id="a stage failed"),
        pytest.param(Run([Stage(3, even(1_000), num_tasks=9)], more=["]"] * 9), id="incomplete"),
    ],
)
def test_failed_run_has_no_training_samples(read, run):
    """Only complete and successful runs have training samples."""
    assert training_samples(read(run)) == []


def test_retried_stage_has_no_training_sample(read):
    """A retried stage adds no training sample, because a later attempt runs only some of the tasks.

    The application of a retried stage still adds a sample.
    """
    first = Stage(3, even(1_000), status="failed")
    samples = training_samples(read(Run([first, Stage(3, even(500, 2), attempt=1), Stage(4, even(900))])))

    assert [sample.sample.wall_ms for sample in samples] == [2_500, 900]


def test_incomplete_evidence_caps_severity(read, learned):
    """A run that is twenty times slower is critical, but only a warning if its log has malformed lines.

    It is not critical either if less than a month of history is known.
    """
    known = learned(*(nightly(10 * number, wall_ms) for number, wall_ms in enumerate([60_000, 62_000, 58_000] * 2)))
    torn = nightly(60, 1_300_000, more=["]"])

    assert found(read(nightly(60, 1_300_000)), known)[0] == ("stage_slow", "critical")
    assert found(read(nightly(30, 1_300_000)), learned(*HEALTHY))[0] == ("stage_slow", "warning")
    assert sorted(found(read(torn), known)) == [
        ("application_slow", "warning"), ("collector_lossy", "warning"), ("stage_slow", "warning"),
    ]  # fmt: skip


def test_undecidable_rules_have_a_reason(read):
    """Rules that need a running job are listed with their columns that event logs do not have."""
    undecided = {each["rule"]: each["reason"] for each in analyze(read(nightly(0, 1_000)), RULES)["not_decidable"]}

    assert undecided["task_stuck"] == "needs columns that exist only while an application runs: stalled_ms, activity"
    assert {"stage_runaway_spill", "node_bad", "storage_slow", "executor_silent", "deadline_at_risk"} < set(undecided)
    assert not {"executor_lost", "executor_churn", "job_failed", "task_failures", "fetch_failed"} & set(undecided)
    assert not {"task_straggler", "application_incomplete", "collector_lossy"} & set(undecided)


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(Run([Stage(0, [*even(1_000, 15), Task(31_000, 90_000_000)])]), id="with a finding"),
        pytest.param(Run([]), id="without stages"),
        pytest.param(Run([Stage(0, even(5, metrics=False), status="running")], ended=False, more=["]"]), id="torn"),
    ],
)
def test_analysis_matches_its_schema(read, run):
    """The analysis has all keys, numbers are JSON numbers, and absent values are null."""
    made = analyze(read(run), RULES)
    jsonschema.Draft202012Validator(SCHEMA).validate(made)

    assert json.loads(json.dumps(made, allow_nan=False)) == made


@pytest.mark.parametrize("number", ["-9223372036854775808", "9223372036854775807", "-1", "0", "1e300", '"x"', "null"])
def test_absurd_numbers_do_not_stop_the_analysis(tmp_path, number):
    """Analysis and history rows are computed without an error for any value in place of a number."""
    lines = Run([Stage(0, even(10, 4)), Stage(1, even(20, 3), parents=[0])]).lines()
    absurd = [re.sub(r'(?<!ID)": \d+', f'": {number}', line) for line in lines]
    (tmp_path / "log").write_text("\n".join(absurd))
    (log,) = find_logs(str(tmp_path / "log")).logs
    application = read_application(log)
    made = analyze(application, RULES, EarlierRuns([application]))
    rows = [row.SerializeToString() for row in history_rows(application, "test", "team")]
    jsonschema.Draft202012Validator(SCHEMA).validate(json.loads(json.dumps(made, allow_nan=False)))

    assert [(stage["stage_id"], stage["tasks"]) for stage in made["stages"]] == [(0, 4), (1, 3)]
    assert len(rows) == (3 if application.started_ms is not None else 0)


def test_logs_are_read_in_order_with_errors(tmp_path):
    """Several logs give results in the order of the logs; if a file is not an event log, its result is an error."""
    for day in range(9):
        nightly(day, 1_000).write(tmp_path / f"log-{day}")
    (tmp_path / "log-4").write_text("not an event\n")
    logs = find_logs(str(tmp_path)).logs
    read = [each if isinstance(each, UnreadableLogError) else each.app_id for each in read_applications(logs)]

    assert [each for each in read if isinstance(each, str)] == [f"app-{day}" for day in range(9) if day != 4]
    assert str(read[4]).startswith(f"{tmp_path}/log-4: not a Spark event log")


def test_batch_gives_the_same_analyses_as_one_by_one(read, monkeypatch):
    """A batch of applications, evaluated in one statement, gives the same analyses as each application alone."""
    monkeypatch.setattr(analysis, "MAX_BATCH", 3)
    skewed = Run([Stage(0, [*even(1_000, 15), Task(31_000, 90_000_000)])])
    runs = [nightly(0, 1_000), skewed, Run([]), skewed, nightly(1, 1_000), Run([]), skewed]
    applications = [read(run, f"log-{place}") for place, run in enumerate(runs)]
    together = [made for _, made in analysis.analyze_all(applications, RULES)]

    assert together == [analyze(application, RULES) for application in applications]
    assert [len(made["findings"]) for made in together] == [0, 1, 0, 1, 0, 0, 1]


def test_tasks_of_requested_stages_are_read(read):
    """A second pass over the log returns only the task rows of the requested stage attempts."""
    application = read(Run([Stage(0, even(10, 4)), Stage(1, even(20, 3))]))

    assert read_tasks(application, [(1, 0)])["stage_id"].to_pylist() == [1, 1, 1]


def test_display_names_of_history_are_those_of_the_analysis():
    """A backfill writes the names that `sparkfuse analyze` shows, one record per query and stage."""
    (log,) = find_logs(str(Path(__file__).parents[2] / "logs" / "detection" / "cross-join.zstd")).logs
    application = read_application(log)
    analysed = analyze(application, RULES)
    names = list(display_name_messages(application, "prod", "team", 5))

    queries = [(each.query_id, each.name, each.call_site) for each in names if each.kind == "query"]
    stages = {each.stage_id: each.name for each in names if each.kind == "stage"}

    assert queries == [(each["query_id"], each["name"], each["call_site"] or "") for each in analysed["queries"]]
    assert stages == {each["stage_id"]: each["stage_name"] for each in analysed["stages"]}
    assert {each.stage_fingerprint for each in names if each.kind == "stage"} == set(application.fingerprints)


def test_analysis_types_match_the_contract():
    """The TypedDicts of the analysis have the fields of contracts/documents/analysis.proto."""
    for message in analysis_pb2.DESCRIPTOR.message_types_by_name.values():
        typed = getattr(analysis_types, message.name)

        assert set(typed.__annotations__) == {each.name for each in message.fields}
