"""Tests small parts of the detect job: codecs, columns, SQL of the rules, findings, and the start of a worker."""

from __future__ import annotations

import pickle
import subprocess
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.knowledge.allocation import Allocation
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_rules.knowledge.hosts import HostObservations
from sparkfuse_rules.knowledge.precision import DEFAULT_TARGET
from sparkfuse_rules.owners import OwnerEntry, Owners
from sparkfuse_stream_jobs.detect import lifecycle_state, row_columns, rule_sql, worker_start
from sparkfuse_stream_jobs.detect.alerts import FindingGroup
from sparkfuse_stream_jobs.detect.findings import FindingBuilder, evidence_text, finding_id
from sparkfuse_stream_jobs.detect.hosts import DueHosts
from sparkfuse_stream_jobs.detect.state import codec, run_state
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000


OWNERS = Owners((OwnerEntry("jobs/*", "mapped@example.com", "mapped"),))
WRITER = FindingBuilder.of(load_catalog(), "https://docs.sparkfuse.example", OWNERS)


def test_columns_are_the_fields_that_are_set():
    """The columns of a row are its set fields: an absent field is not 0.

    Columns that are read lazily equal those of the whole row.
    """
    stage = Run("app-1", T).stage(T, 60_000, failed_tasks=0).stage
    columns = row_columns.Columns(stage)

    assert dict(columns) == row_columns.present(stage)
    assert (columns.get("failed_tasks"), columns.get("killed_tasks"), columns["num_tasks"]) == (0, None, 8)
    with pytest.raises(KeyError):
        columns["killed_tasks"]


def test_finding_has_the_precision_target_of_its_job(tmp_path):
    """A finding has the target of its rule, or that of sparkfuse.yaml for its job, so the sender needs no rules."""
    file = tmp_path / "sparkfuse.yaml"
    file.write_text("jobs:\n  - {job: 'etl_*', rules: {stage_slow: {precision_target: 0.7}}}\n")
    overridden = FindingBuilder.of(load_catalog(None, file), "https://docs.sparkfuse.example", OWNERS)
    row = Run("app-1", T).stage(T, 60_000)
    of_etl = LiveRow.FromString(row.SerializeToString())
    row.job_key, of_etl.job_key = "orders", "etl_orders"

    assert overridden("stage_slow", row, "warning", T).precision_target == DEFAULT_TARGET
    assert overridden("stage_slow", of_etl, "warning", T).precision_target == 0.7


def test_each_rule_is_evaluated_on_its_view_only():
    """Each rule is evaluated only on rows of its view.

    Otherwise a predicate that is true for NULL would match rows of other views.
    """
    catalog = load_catalog()
    sql = rule_sql.severities_sql(catalog)

    assert all(f"'{rule.id}=' || CASE WHEN `view` = '{rule.view}' THEN" in sql for rule in catalog.values())
    assert rule_sql.read_severities("stage_slow=warning,task_stuck=critical") == {
        "stage_slow": "warning",
        "task_stuck": "critical",
    }
    assert rule_sql.read_severities("") == {}


def test_state_is_decoded_by_older_and_newer_versions():
    """Saved state with a missing or an additional field is still decoded."""
    stage = run_state.StageState(True, "save", ("Scan",), (1, 2), 7, "abc", 1, failed=True)
    subject = lifecycle_state.SubjectState(
        {"slow": lifecycle_state.RuleInstance("warning", 1, 2, 3, 2, finding=b"\x00\xff")}, ("skew",)
    )
    stage_codec, subjects_codec = codec.record_codec(run_state.StageState), lifecycle_state.subject_codec()

    assert stage_codec.decode(stage_codec.encode(stage)) == stage
    assert subjects_codec.decode(subjects_codec.encode(subject)) == subject
    assert stage_codec.decode(pickle.dumps({"name": "save", "added_later": 1})) == run_state.StageState(name="save")


def test_state_of_the_first_version_is_decoded():
    """State that the first version stored is decoded, and fields that were added later get their defaults."""
    pickled = pickle.dumps
    before = {"job_key": "orders", "run_key": "r", "start_seen": True, "stages": 3, "plans": 1, "ended": False}
    application = codec.record_codec(run_state.ApplicationState).decode(pickled(before))
    holding = {"severity": "warning", "since_ms": 1, "held_ms": 2, "row_ms": 3, "started_ms": 2, "finding": b"x"}
    subject = lifecycle_state.subject_codec().decode(pickled({"holdings": {"slow": holding}}))

    assert application == run_state.ApplicationState("orders", "r", True, 3, 1)
    assert subject.rules["slow"] == lifecycle_state.RuleInstance("warning", 1, 2, 3, 2, finding=b"x")


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps({"job_key": "orders", "run_key": "r", "state_format": codec.STATE_FORMAT + 1}),
        pickle.dumps({"stages": 3}),
        b"csparkfuse_rules.knowledge.allocation\nAllocationOfALaterRelease\n.",
    ],
    ids=["newer format", "missing field", "unknown class"],
)
def test_state_that_cannot_be_read_is_refused(content: bytes):
    """State of a newer format, without a necessary field, or with an unknown class raises SavedStateError."""
    with pytest.raises(codec.SavedStateError):
        codec.record_codec(run_state.ApplicationState).decode(content)


# Fields without a default, which all stored values contain since the first release.
NECESSARY = {
    run_state.RowEpoch: [],
    run_state.ApplicationState: ["job_key", "run_key"],
    run_state.StageState: [],
    run_state.QueryState: [],
    run_state.JobState: [],
    run_state.ExecutorState: [],
    run_state.StageProgress: ["window_end_ms", "remaining_ms", "remaining_p95_ms"],
    ExecutorLosses: [],
    Allocation: [],
    FindingGroup: ["finding"],
    HostObservations: ["app_id"],
    DueHosts: [],
    lifecycle_state.RuleInstance: ["severity", "since_ms", "held_ms", "row_ms"],
}


@pytest.mark.parametrize("stored", NECESSARY, ids=lambda stored: stored.__name__)
def test_added_fields_of_state_have_defaults(stored: type):
    """A field that is added to a class of state has a default, so that state of the last release can be decoded."""
    without = [each.name for each in fields(stored) if each.default is MISSING and each.default_factory is MISSING]

    assert without == NECESSARY[stored]


def test_value_within_a_value_gets_defaults_too():
    """An object that a stored value contains gets the defaults of fields that were added later."""
    [*_, added] = fields(Allocation)
    old = Allocation()
    del old.__dict__[added.name]
    content = pickle.dumps({"job_key": "orders", "run_key": "r", "allocation": old})
    decoded = codec.record_codec(run_state.ApplicationState).decode(content)

    assert decoded.allocation == Allocation()


def test_state_of_this_format_is_accepted():
    """A value that names the current format is decoded."""
    content = pickle.dumps({"name": "save", "state_format": codec.STATE_FORMAT})

    assert codec.record_codec(run_state.StageState).decode(content) == run_state.StageState(name="save")


def test_post_end_rules_are_found_by_their_columns():
    """Rules for rows after the end of a stage or application are recognised by their columns, not by a list."""
    assert rule_sql.post_end_rules(load_catalog()) == {
        "application_incomplete",
        "application_zombie",
        "collector_lossy",
        "zombie_task",
    }


def test_finding_of_failed_tasks_has_no_executor():
    """A finding on failed tasks names no executor, although its evidence does.

    The executor of the last failure changes between windows, so a finding that named it would never resolve.
    """
    row = Run("app-1", T).failure(T)
    row.job_key, row.run_key, row.failure.stage_fingerprint = "orders", "r", "f00"
    row.failure.failure_kind, row.failure.failure = "user_code", "user_exception"
    finding = WRITER("task_failures", row, "warning", T)
    [run] = finding.runs

    assert finding.scope == "stage:f00"
    assert (run.stage_id, run.HasField("executor_id"), run.evidence["executor_id"]) == (3, False, "2")


def test_finding_of_a_host_is_about_the_host():
    """A finding about a host names the host in its job key, run key and scope.

    Two hosts with the same name in two clusters have two findings.
    """
    host = {"host": "node-7", "applications": 4, "failing_applications": 3, "application_ids": "a, b, c"}
    row = LiveRow(view="host_live", cluster="prod", tenant="", job_key="host node-7", run_key="node-7", host=host)
    finding = WRITER("node_bad", row, "warning", T)

    assert (finding.scope, finding.job_key, finding.runs[0].run_key) == ("host:node-7", "host node-7", "node-7")
    assert finding.finding_id == finding_id("prod", "", "host node-7", "node_bad", "host:node-7")


def test_evidence_is_every_column_that_the_rule_mentions():
    """The evidence has the exact value of each column that the rule mentions.

    The evidence includes the stack, because runbooks refer to the stack.
    """
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
        pytest.param(
            {"view": "query_live", "query": {"query_id": 0, "description": "q4: an earlier name"}},
            "cartesian_join", (0, None), id="operator of a query",
        ),
    ],
)  # fmt: skip
def test_run_of_a_finding_names_query_and_stage(row, rule, expected):
    """The run of a finding names its query and stage, by which messages and dashboards link to the query."""
    [run] = WRITER(rule, LiveRow(job_key="orders", run_key="r", **row), "warning", T).runs
    found = (run.query_id if run.HasField("query_id") else None, run.stage_name if run.HasField("stage_name") else None)

    assert found == expected


@pytest.mark.parametrize(
    ("job_key", "settings", "expected"),
    [
        ("jobs/orders", {}, ("mapped@example.com", "mapped")),
        ("jobs/orders", {"owner": "alice"}, ("alice", "mapped")),
        ("jobs/orders", {"owner": "alice", "team": "sales"}, ("alice", "sales")),
        ("orders", {}, ("", "")),
    ],
)
def test_finding_has_owner_and_team(job_key, settings, expected):
    """Owner and team of a finding come from the application's settings, else from the mapping, else they are absent."""
    row = Run("app-1", T).task(T, 60_000)
    row.job_key = job_key
    for tag, value in settings.items():
        setattr(row, tag, value)
    finding = WRITER("task_stuck", row, "warning", T)

    assert (finding.owner, finding.team) == expected


def test_finding_id_depends_on_job_rule_and_scope():
    """The id of a finding depends only on job, rule and scope.

    The same problem in the next run therefore leads to the same alert.
    """
    one = ("prod", "shop", "orders", "task_stuck", "stage:f00")
    others = [(*one[:place], "other", *one[place + 1 :]) for place in range(len(one))]

    assert finding_id(*one) == finding_id(*one)
    assert len({finding_id(*parts) for parts in (one, *others, ("prod", "shop", "orderstask_stuck", "", one[4]))}) == 7
    assert len(finding_id(*one)) == 16


def test_evidence_is_capped():
    """Texts in the evidence are truncated, so that a name of a megabyte does not reach a notification."""
    assert [evidence_text(True), evidence_text(1.0), evidence_text(0.123456789), evidence_text(7)] == [
        "true",
        "1",
        "0.123457",
        "7",
    ]
    assert len(evidence_text("x" * 1_000_000)) == 4000


def test_start_request_is_the_message_of_beam():
    """The hand-written encoding of the start request can be decoded with Beam's schema."""
    fn_api = pytest.importorskip("apache_beam.portability.api.org.apache.beam.model.fn_execution.v1.beam_fn_api_pb2")
    params = {"A": "b" * 300, "empty": "", "unicode": "ü"}
    read = fn_api.StartWorkerRequest.FromString(worker_start.request("1-2", "localhost:4711", params))

    assert (read.worker_id, read.provision_endpoint.url, dict(read.params)) == ("1-2", "localhost:4711", params)


def test_worker_starter_runs_python_for_other_arguments(tmp_path: Path):
    """For other arguments the worker starter runs Python.

    Flink uses the other arguments to read Python's version and PyFlink's folder.
    """
    starter = worker_start.write_starter(tmp_path / "a folder" / "python")
    result = subprocess.run([starter, "-c", "print(6 * 7)"], capture_output=True, text=True, check=True, timeout=150)

    assert result.stdout == "42\n"


def test_merged_finding_fits_into_a_record():
    """A merged finding of fifty runs with truncated evidence stays below a megabyte, the limit of a Kafka record."""
    row = Run("app-1", T).task(T, 60_000)
    row.task.stack = "x" * 100_000
    finding: Finding = WRITER("task_stuck", LiveRow.FromString(row.SerializeToString()), "info", T)

    assert 50 * len(finding.SerializeToString()) < 500_000


def test_invalid_value_is_counted_and_skipped():
    """A row with a number that no step can use is counted and skipped.

    By contrast, an error of the broker or the disk ends the job.
    """
    from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters
    from sparkfuse_stream_jobs.detect.operators.invalid_values import usable

    rejected: list[tuple[str, bytes]] = []

    class Letters(DeadLetters):
        def __init__(self) -> None:
            pass

        def reject(self, error: Exception, content: bytes) -> None:
            rejected.append((str(error), content))

    letters = Letters()

    def results(error: Exception):
        yield "before"
        raise error

    assert list(usable(results(OverflowError("too much")), letters, b"row")) == ["before"]
    assert rejected == [("too much", b"row")]
    with pytest.raises(OSError, match="the disk"):
        list(usable(results(OSError("the disk")), letters, b"row"))
