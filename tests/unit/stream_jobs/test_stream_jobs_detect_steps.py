"""The small parts around detect's steps: codecs, rows, the rules' SQL, the start of a worker."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.owners import OwnerEntry, Owners
from sparkfuse_stream_jobs.detect import lifecycle_state, metrics, row_columns, rule_sql, worker_start
from sparkfuse_stream_jobs.detect.findings import FindingBuilder, evidence_text, finding_id
from sparkfuse_stream_jobs.detect.state import codec, run_state
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000


OWNERS = Owners((OwnerEntry("jobs/*", "mapped@example.com", "mapped"),))
WRITER = FindingBuilder.of(load_catalog(), "https://docs.sparkfuse.example", OWNERS)


def test_columns_of_a_row_are_those_that_have_a_value():
    """Absent is no 0, and a wide row says the same whether it is read as a whole or by the column."""
    stage = Run("app-1", T).stage(T, 60_000, failed_tasks=0).stage
    columns = row_columns.Columns(stage)

    assert dict(columns) == row_columns.present(stage)
    assert (columns.get("failed_tasks"), columns.get("killed_tasks"), columns["num_tasks"]) == (0, None, 8)
    with pytest.raises(KeyError):
        columns["killed_tasks"]


def test_what_the_jvm_counted_is_read_as_it_is_written():
    """Three numbers and the rows of each view; a view may be called anything but what stands between."""
    counts = metrics.parse_counts("12 2 1795226400000 stage_live=7 =1 a-b=2")

    assert (counts.records, counts.rejected, counts.window_end_ms) == (12, 2, 1_795_226_400_000)
    assert counts.rows == {"stage_live": 7, "": 1, "a-b": 2}


def test_the_statement_asks_each_rule_on_rows_of_its_view_only():
    """A predicate that holds on NULL evidence must not fire on rows of other views."""
    catalog = load_catalog()
    sql = rule_sql.severities_sql(catalog)

    assert all(f"'{rule.id}=' || CASE WHEN `view` = '{rule.view}' THEN" in sql for rule in catalog.values())
    assert rule_sql.read_severities("stage_slow=warning,task_stuck=critical") == {
        "stage_slow": "warning",
        "task_stuck": "critical",
    }
    assert rule_sql.read_severities("") == {}


def test_state_is_read_by_an_older_and_a_newer_job():
    """A field more or less in the state is no reason to lose it."""
    stage = run_state.StageState(True, "save", ("Scan",), (1, 2), 7, "abc", 1, failed=True)
    unit = lifecycle_state.SubjectState(
        {"slow": lifecycle_state.RuleInstance("warning", 1, 2, 3, 2, finding=b"\x00\xff")}, ("skew",)
    )
    of_stage, of_unit = codec.record_codec(run_state.StageState), lifecycle_state.subject_codec()

    assert of_stage.decode(of_stage.encode(stage)) == stage
    assert of_unit.decode(of_unit.encode(unit)) == unit
    assert of_stage.decode(codec.pickle.dumps({"name": "save", "of_tomorrow": 1})) == run_state.StageState(name="save")


def test_state_of_before_is_read():
    """What the job kept before it knew of jobs, executors, deadlines and causes is what it was."""
    pickled = codec.pickle.dumps
    before = {"job_key": "orders", "run_key": "r", "start_seen": True, "stages": 3, "plans": 1, "ended": False}
    application = codec.record_codec(run_state.ApplicationState).decode(pickled(before))
    holding = {"severity": "warning", "since_ms": 1, "held_ms": 2, "row_ms": 3, "started_ms": 2, "finding": b"x"}
    unit = lifecycle_state.subject_codec().decode(pickled({"holdings": {"slow": holding}}))

    assert application == run_state.ApplicationState("orders", "r", True, 3, 1)
    assert unit.rules["slow"] == lifecycle_state.RuleInstance("warning", 1, 2, 3, 2, finding=b"x")


def test_rules_on_what_is_still_there_or_missing_after_an_end_are_known_by_their_columns():
    """A new rule of the kind needs no second list."""
    assert rule_sql.post_end_rules(load_catalog()) == {
        "application_incomplete",
        "application_zombie",
        "collector_lossy",
        "zombie_task",
    }


def test_a_finding_of_failed_tasks_names_no_executor_as_its_place():
    """The executor is that of the last attempt: another one in the next window would be another run that never ends."""
    row = Run("app-1", T).failure(T)
    row.job_key, row.run_key, row.failure.stage_fingerprint = "orders", "r", "f00"
    row.failure.failure_kind, row.failure.failure = "user_code", "user_exception"
    finding = WRITER("task_failures", row, "warning", T)
    [run] = finding.runs

    assert finding.scope == "stage:f00"
    assert (run.stage_id, run.HasField("executor_id"), run.evidence["executor_id"]) == (3, False, "2")


def test_a_finding_of_a_host_is_of_the_host():
    """Its job, its run and its scope are the host; two clusters are two findings."""
    host = {"host": "node-7", "applications": 4, "failing_applications": 3, "application_ids": "a, b, c"}
    row = LiveRow(view="host_live", cluster="prod", tenant="", job_key="host node-7", run_key="node-7", host=host)
    finding = WRITER("node_bad", row, "warning", T)

    assert (finding.scope, finding.job_key, finding.runs[0].run_key) == ("host:node-7", "host node-7", "node-7")
    assert finding.finding_id == finding_id("prod", "", "host node-7", "node_bad", "host:node-7")


def test_a_finding_carries_each_column_that_its_rule_mentions_and_no_other():
    """Evidence is what the rule looked at, exact, with the stack that the runbook sends people to."""
    row = Run("app-1", T).task(T, 60_000)
    row.job_key, row.run_key, row.task.stage_fingerprint = "orders", "app-1/0@1", "f00"
    finding = WRITER("task_stuck", row, "warning", T)
    [run] = finding.runs

    assert finding.finding_id == finding_id(row.cluster, row.tenant, "orders", "task_stuck", "stage:f00")
    assert (finding.scope, finding.state, run.task_id, run.executor_id) == ("stage:f00", "firing", 77, "2")
    assert run.evidence["stalled_ms"] == "60000"
    assert run.evidence["stack"] == "java.net.SocketInputStream.read"
    assert "disk_spilled_bytes" not in run.evidence
    assert "1 min 0 s" in finding.description


@pytest.mark.parametrize(
    ("row", "rule", "expected"),
    [
        pytest.param(
            {"view": "task_live", "task": {"stage_id": 3, "stage_name": "q7: lineitem ⋈ part"}},
            "task_stuck", (7, "q7: lineitem ⋈ part"), id="task of a query",
        ),
        pytest.param(
            {"view": "task_live", "task": {"stage_id": 3, "stage_name": "count at words.py:14"}},
            "task_stuck", (None, "count at words.py:14"), id="task of no query",
        ),
        pytest.param(
            {"view": "stage_live", "stage": {"stage_id": 3, "sql_execution_id": 8, "stage_name": "q8: scan part"}},
            "stage_slow", (8, "q8: scan part"), id="stage",
        ),
        pytest.param(
            {"view": "job_live", "job": {"job_id": 1, "description": "q9: write parquet to out/orders"}},
            "job_failed", (9, None), id="failed query",
        ),
    ],
)  # fmt: skip
def test_run_of_a_finding_names_query_and_stage(row, rule, expected):
    """Messages and dashboards link a finding to its query."""
    [run] = WRITER(rule, LiveRow(job_key="orders", run_key="r", **row), "warning", T).runs
    found = (run.query_id if run.HasField("query_id") else None, run.stage_name if run.HasField("stage_name") else None)

    assert found == expected


@pytest.mark.parametrize(
    ("job_key", "said", "expected"),
    [
        ("jobs/orders", {}, ("mapped@example.com", "mapped")),
        ("jobs/orders", {"owner": "alice"}, ("alice", "mapped")),
        ("jobs/orders", {"owner": "alice", "team": "sales"}, ("alice", "sales")),
        ("orders", {}, ("", "")),
    ],
)
def test_a_finding_says_whom_to_ask(job_key, said, expected):
    """What the application says of itself wins over the mapping; nobody is nobody."""
    row = Run("app-1", T).task(T, 60_000)
    row.job_key = job_key
    for tag, value in said.items():
        setattr(row, tag, value)
    finding = WRITER("task_stuck", row, "warning", T)

    assert (finding.owner, finding.team) == expected


def test_a_finding_id_depends_on_nothing_but_where_job_rule_and_scope():
    """The same trouble of the next run is the same alert."""
    one = ("prod", "shop", "orders", "task_stuck", "stage:f00")
    others = [(*one[:place], "other", *one[place + 1 :]) for place in range(len(one))]

    assert finding_id(*one) == finding_id(*one)
    assert len({finding_id(*parts) for parts in (one, *others, ("prod", "shop", "orderstask_stuck", "", one[4]))}) == 7
    assert len(finding_id(*one)) == 16


def test_evidence_is_capped_text():
    """A name of a megabyte does not travel to Slack."""
    assert [evidence_text(True), evidence_text(1.0), evidence_text(0.123456789), evidence_text(7)] == [
        "true",
        "1",
        "0.123457",
        "7",
    ]
    assert len(evidence_text("x" * 1_000_000)) == 4000


def test_the_order_to_start_a_worker_is_what_beam_reads():
    """The message that is written by hand is the one of Beam's schema."""
    fn_api = pytest.importorskip("apache_beam.portability.api.org.apache.beam.model.fn_execution.v1.beam_fn_api_pb2")
    params = {"A": "b" * 300, "empty": "", "unicode": "ü"}
    read = fn_api.StartWorkerRequest.FromString(worker_start.request("1-2", "localhost:4711", params))

    assert (read.worker_id, read.provision_endpoint.url, dict(read.params)) == ("1-2", "localhost:4711", params)


def test_the_starter_is_python_for_everything_else(tmp_path: Path):
    """Flink asks the same program for its version and for PyFlink's folder."""
    starter = worker_start.write_starter(tmp_path / "a folder" / "python")
    said = subprocess.run([starter, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True, timeout=150)

    assert said.stdout == "42\n"


def test_a_merged_finding_is_small_enough_for_a_record():
    """Fifty runs with capped evidence stay below Kafka's megabyte."""
    row = Run("app-1", T).task(T, 60_000)
    row.task.stack = "x" * 100_000
    finding: Finding = WRITER("task_stuck", LiveRow.FromString(row.SerializeToString()), "info", T)

    assert 50 * len(finding.SerializeToString()) < 500_000


def test_an_absurd_value_is_counted_and_passed_over_and_anything_else_is_raised():
    """One number that no step can work with must not end the job; a broker or a disk that fails must."""
    from sparkfuse_stream_jobs.detect.operators import usable

    def found(error: Exception):
        yield "before"
        raise error

    assert list(usable(found(OverflowError("too much")))) == ["before"]
    with pytest.raises(OSError, match="the disk"):
        list(usable(found(OSError("the disk"))))
