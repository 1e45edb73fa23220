"""Tests the detect job with real Kafka and Flink's mini cluster, on the rows of scripted runs.

The tests share one job and use different Spark jobs; the test with the kill comes last.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect.findings import finding_id
from sparkfuse_stream_jobs.detect.rule_evaluation import EVIDENCE_EVERY_MS
from tests.integration.stream_jobs.detect_job import ANSWER_SECONDS, DetectJob
from tests.kafka import settings_of
from tests.unit.stream_jobs.detect_rows import SCAN_AND_EXCHANGE, WINDOW_MS, Run
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
MINUTE = 60_000
# A rule with `for`; the built-in rules have none.
TASK_WAITS = """
summary: A task waits
view: task_live
params: {min_stalled_ms: {default: 20000, unit: ms, why: "a test waits no longer"}}
when: "stalled_ms >= :min_stalled_ms"
severity: warning
for: 10s
description: "Task {task_index} of {stage_name} waits for {stalled_ms:duration}."
runbook: "1. Look at it."
fuse: none
cases: [{name: at once, given: {stalled_ms: 20000}, expect: warning}]
"""
# A rule on hosts that resolves at once; the built-in rule keeps firing for minutes.
HOST_FAILS = """
summary: A host fails
view: host_live
when: "failing_applications >= 3"
severity: warning
for: 0s
keep_firing_for: 0s
description: "{failing_applications} applications fail on {host}."
runbook: "1. Look at it."
fuse: none
cases: [{name: at once, given: {failing_applications: 3}, expect: warning}]
"""
TASK_IS_OLD = TASK_WAITS.replace("stalled_ms", "age_ms").replace("for: 10s", "for: 0s")


def fires(finding: Finding) -> bool:
    return finding.state == "firing"


def resolves(finding: Finding) -> bool:
    return finding.state == "resolved"


def now() -> int:
    """Return the end of the current window."""
    return (int(time.time() * 1000) // WINDOW_MS + 1) * WINDOW_MS


@pytest.fixture
def once() -> str:
    """Return a string that differs in each try of a test, because the job and its state outlive a failed try."""
    return uuid.uuid4().hex[:8]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the built-in rules and two test rules."""
    folder = tmp_path_factory.mktemp("rules") / "catalog"
    shutil.copytree(asset("sparkfuse_rules", "catalog"), folder)
    (folder / "task_waits.yaml").write_text(TASK_WAITS)
    (folder / "host_fails.yaml").write_text(HOST_FAILS)
    return folder


@pytest.fixture(scope="module")
def detect(kafka_bootstrap: str, tmp_path_factory: pytest.TempPathFactory, catalog: Path) -> Iterator[DetectJob]:
    """Yield the running detect job."""
    prefix = "test-detect"
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    [port] = free_ports(1)
    arguments = ["--catalog", str(catalog), "--resend-ms", "4000", "--min-firing-ms", "1000"]
    job = DetectJob(kafka_bootstrap, prefix, tmp_path_factory.mktemp("detect"), arguments, port)
    try:
        job.start()
        yield job
    finally:
        job.close()


def test_slow_run_fires_and_resolves_at_its_end(detect: DetectJob, once: str):
    """After five learned runs of 20 s, the finding on a run of 60 s fires during the run and resolves when it ends."""
    job = f"slow-{once}"
    start = now() - 20 * MINUTE

    def learned() -> list[Baseline]:
        return [each for each in detect.baselines() if each.job_key == job]

    for number in range(5):
        detect.send(Run(f"slow-{number}", start + number * MINUTE, job).whole(20_000))
        wait_for(lambda count=number + 1: len(learned()) >= count, ANSWER_SECONDS, "the sample of a run")
    run = Run("slow-5", start + 6 * MINUTE, job)
    rows = list(run.whole(60_000))
    detect.send(rows[:-2])
    firing = detect.wait_for_finding("stage_slow", job, lambda each: each.state == "firing", "the slow stage")
    detect.send(rows[-2:])
    resolved = detect.wait_for_finding("stage_slow", job, lambda each: each.state == "resolved", "its end")
    [one] = firing.runs

    assert firing.finding_id == finding_id("prod-eu", "orders", job, "stage_slow", firing.scope)
    assert firing.scope.startswith("stage:")
    assert (firing.severity, firing.cluster, firing.tenant, firing.completeness) == ("warning", "prod-eu", "orders", 1)
    assert firing.started_ms == run.start_ms + 30_000  # the first window with ten seconds lost
    assert (one.run_key, one.app_id, one.stage_id) == (run.run_key, "slow-5", 3)
    assert one.evidence["baseline_runs"] == "5"
    assert one.evidence["moved"] == "both"
    assert float(one.evidence["expected_ms"]) == pytest.approx(20_000, rel=0.01)
    assert "Expected 20.0 s" in firing.description
    assert "(5 earlier runs)" in firing.description
    assert resolved.resolved_ms == rows[-1].window_end_ms
    assert resolved.started_ms == firing.started_ms

    before = len({(each.state, each.started_ms) for each in detect.findings("stage_slow", job)})
    detect.send(rows)
    detect.send(Run("slow-6", start + 8 * MINUTE, job).whole(20_000))
    wait_for(lambda: len(learned()) >= 7, ANSWER_SECONDS, "the sample of the run after the replayed one")

    assert len({(each.state, each.started_ms) for each in detect.findings("stage_slow", job)}) == before
    assert [sample.run_key for sample in learned()[-1].samples].count(run.run_key) == 1


def test_waiting_task_is_pending_then_fires_then_resolves(detect: DetectJob, once: str):
    """The finding of a waiting task is pending during `for`, then fires, and resolves after three windows without rows.

    Invalid records are counted and become dead letters.
    """
    job = f"waits-{once}"
    run, at = Run("waits-1", now() - 10 * MINUTE, job), now() - 9 * MINUTE
    detect.send([run.started(at), run.stage_started(at), run.task(at, 20_000), run.task(at + WINDOW_MS, 25_000)])
    detect.send_junk(b"\xff\xffno row at all")
    detect.send_junk(b"")
    detect.send_junk(LiveRow(app_id="no-window").SerializeToString())
    detect.pass_time(at + WINDOW_MS)
    marker = Run("waits-2", now() - 10 * MINUTE, f"marker-{once}")
    detect.send([marker.started(at), marker.stage_started(at)])
    detect.send([marker.task(at + step * WINDOW_MS, 20_000 + step * WINDOW_MS) for step in range(3)])
    detect.wait_for_finding(
        "task_waits", f"marker-{once}", lambda each: each.state == "firing", "the task that waits longer"
    )

    assert detect.findings("task_waits", job) == []

    detect.send([run.task(at + 2 * WINDOW_MS, 30_000)])
    firing = detect.wait_for_finding("task_waits", job, lambda each: each.state == "firing", "the task")
    detect.pass_time(at + 6 * WINDOW_MS)
    resolved = detect.wait_for_finding(
        "task_waits", job, lambda each: each.state == "resolved", "the finding of the ended task to resolve"
    )
    [one] = firing.runs

    assert firing.started_ms == at + 2 * WINDOW_MS
    assert firing.description == "Task 5 of Sort → save waits for 30.0 s."
    assert (one.task_id, one.executor_id, one.evidence["stalled_ms"]) == (77, "2", "30000")
    assert one.evidence["stack"] == "java.net.SocketInputStream.read"
    assert resolved.resolved_ms == at + 5 * WINDOW_MS
    junk = 'sparkfuse_dead_letters_total{component="detect",topic="live"}'
    letters = wait_for(lambda: _all_of(detect.dead_letters(), 3), ANSWER_SECONDS, "the dead letters")

    assert detect.metric(junk) == 3
    assert {(letter.payload, letter.reason.partition(":")[0]) for letter in letters} == {
        (content, "ValueError")
        for content in (b"\xff\xffno row at all", b"", LiveRow(app_id="no-window").SerializeToString())
    }


def _all_of(letters: list[DeadLetter], count: int) -> list[DeadLetter] | None:
    return letters if len(letters) >= count else None


def test_two_runs_of_one_job_share_one_finding(detect: DetectJob, once: str):
    """Two runs of a job share one finding, which resolves when its last run resolves."""
    job = f"both-{once}"
    at = now() - 5 * MINUTE
    one, two = Run("both-1", at - MINUTE, job), Run("both-2", at - MINUTE, job)
    for run in (one, two):
        detect.send([run.started(at), run.stage_started(at), run.task(at, 90_000)])

    def states(finding: Finding) -> dict[str, str]:
        return {run.app_id: run.state for run in finding.runs}

    for wanted, then in (
        ({"both-1": "firing", "both-2": "firing"}, [one.ended(at + WINDOW_MS)]),
        ({"both-1": "resolved", "both-2": "firing"}, [two.ended(at + 2 * WINDOW_MS)]),
    ):
        seen = detect.wait_for_finding("task_stuck", job, lambda each: states(each) == wanted, str(wanted))  # noqa: B023

        assert seen.state == "firing"

        detect.send(then)
    last = detect.wait_for_finding("task_stuck", job, lambda each: each.state == "resolved", "the last run's end")

    assert len({each.finding_id for each in detect.findings("task_stuck", job)}) == 1
    assert last.resolved_ms == at + 2 * WINDOW_MS


def test_application_is_compared_with_history_and_deadline(detect: DetectJob, once: str):
    """An application is compared with five learned runs of 20 s, with its deadline and with its budget.

    The application runs for two minutes, one of them after the deadline, on a million cores.
    """
    job = f"whole-{once}"
    start = now() - 12 * MINUTE

    def runs_learned() -> int:
        found = [each for each in detect.baselines() if each.job_key == job]
        return max((len(each.samples) for each in found if each.stage_fingerprint == "application"), default=0)

    for number in range(5):
        detect.send(Run(f"whole-{number}", start + number * MINUTE, job).whole_application(20_000))
        wait_for(lambda count=number + 1: runs_learned() == count, ANSWER_SECONDS, "the sample of an application")
    run = Run("whole-5", start + 6 * MINUTE, job)
    at = run.start_ms + 2 * MINUTE
    started = run.started(at, deadline="1min")
    started.application_started.master = "yarn"
    started.application_started.configuration["spark.executor.memory"] = "15g"
    cores = {"executor_id": "1", "host": "h", "cores": 1_000_000, "added_ms": run.start_ms}
    detect.send([started, run.row("executor_added", at, executor_added=cores)])
    detect.send([run.application(at + step * WINDOW_MS) for step in range(4)])
    slow = detect.wait_for_finding("application_slow", job, lambda each: each.state == "firing", "the slow application")
    late = detect.wait_for_finding("deadline_at_risk", job, lambda each: each.state == "firing", "the missed deadline")
    costly = detect.wait_for_finding("application_costly", job, lambda each: each.state == "firing", "the high cost")
    detect.send([run.ended(at + 4 * WINDOW_MS)])
    detect.wait_for_finding("application_slow", job, resolves, "its end")
    learned = [each for each in detect.baselines() if each.job_key == job]

    assert {(each.cluster, each.tenant) for each in learned} == {("prod-eu", "orders")}
    assert (slow.scope, late.scope) == ("application", "application")
    assert float(slow.runs[0].evidence["expected_ms"]) == pytest.approx(20_000, rel=0.01)
    assert late.severity == "critical"
    assert late.runs[0].evidence["late_chance"] == "1"
    assert late.runs[0].evidence["deadline_left_ms"] == str(run.start_ms + MINUTE - late.evidence_ms)
    assert (costly.severity, costly.currency, costly.runs[0].evidence["currency"]) == ("critical", "USD", "USD")
    assert float(costly.runs[0].evidence["cost"]) == pytest.approx(costly.runs[0].cost, rel=1e-5)


def test_failures_in_the_last_window_fire(detect: DetectJob, once: str):
    """Failures in an application's last window have findings, and so does a process that outlives the application."""
    job = f"wrong-{once}"
    at = now() - 4 * MINUTE
    run = Run("wrong-1", at - MINUTE, job)
    reason = (
        "Job aborted due to stage failure: Task 5 in stage 3.0 failed 4 times: java.lang.ArithmeticException: / by zero"
    )
    detect.send([run.started(at), run.executor_added(at), run.job_started(at), run.stage_started(at)])
    detect.send([run.failure(at + WINDOW_MS), run.stage(at + WINDOW_MS, 60_000, status="failed")])
    detect.send(
        [run.job_ended(at + WINDOW_MS, reason=reason), run.executor_removed(at + WINDOW_MS), run.ended(at + WINDOW_MS)]
    )
    found = {
        rule: detect.wait_for_finding(rule, job, fires, rule)
        for rule in ("task_failures", "job_failed", "executor_lost")
    }
    behind = at + 2 * WINDOW_MS
    detect.send([run.application_done(behind, MINUTE, outlived_ms=300_000), run.task(behind, 90_000)])
    zombie = detect.wait_for_finding("application_zombie", job, fires, "the zombie")
    detect.wait_for_finding("task_failures", job, resolves, "the end of the failures")
    before = {rule: detect.findings(rule, job)[-1].state for rule in ("job_failed", "executor_lost")}
    detect.pass_time(at + 20 * WINDOW_MS)
    over = {
        rule: detect.wait_for_finding(rule, job, resolves, rule)
        for rule in ("job_failed", "executor_lost", "application_zombie")
    }

    assert found["task_failures"].scope.startswith("stage:")
    assert {found[rule].scope for rule in ("job_failed", "executor_lost")} == {"application"}
    assert "with user_exception (user_code). A retry will fail in the same way." in found["job_failed"].description
    assert "First cause: java.lang.ArithmeticException: / by zero" in found["task_failures"].description
    assert found["executor_lost"].runs[0].evidence["failure"] == "node_lost"
    assert zombie.runs[0].evidence["outlived_ms"] == "300000"
    assert before == {"job_failed": "firing", "executor_lost": "firing"}
    assert {over[rule].resolved_ms for rule in ("job_failed", "executor_lost")} == {at + 13 * WINDOW_MS}
    assert detect.findings("task_stuck", job) == []


def test_names_of_queries_and_stages_are_published(detect: DetectJob, once: str):
    """Findings and the topic `names` name a stage by its query and tables; a new plan version changes the names."""
    job, at = f"named-{once}", now() - 4 * MINUTE
    run = Run(f"named-{once}", at - MINUTE, job)
    scopes = ["Exchange", "WholeStageCodegen (1)"]
    spark_name = "run at ThreadPoolExecutor.java:1136"
    detect.send([run.started(at), run.query_started(at, description=spark_name), run.query_plan(at)])
    detect.send([run.stage_started(at, sql_execution_id=5, scope_names=scopes, name=spark_name)])
    detect.send([run.stage(at, 60_000), run.query(at), run.task(at, 90_000)])
    finding = detect.wait_for_finding("task_stuck", job, fires, "the stuck task")
    query, stage = wait_for(lambda: detect.names(run.app_id)[1:] and detect.names(run.app_id), ANSWER_SECONDS, "names")
    changed = [(name, parent, detail.replace("orders", "returns")) for name, parent, detail in SCAN_AND_EXCHANGE]
    detect.send([run.query_plan(at + WINDOW_MS, version=1, nodes=changed), run.stage(at + WINDOW_MS, 65_000)])
    *_, query_now, stage_now = wait_for(
        lambda: detect.names(run.app_id)[3:] and detect.names(run.app_id), ANSWER_SECONDS, "changed names"
    )

    assert (query.kind, query.query_id, query.sources, query.job_key) == ("query", 5, "lake.orders", job)
    assert (stage.kind, stage.query_id, stage.stage_id) == ("stage", 5, 3)
    assert stage.name.startswith("q5: ")
    assert (finding.runs[0].query_id, finding.runs[0].stage_name) == (5, stage.name)
    assert query_now.sources == "lake.returns"
    assert "returns" in stage_now.name
    assert stage_now.updated_ms > stage.updated_ms


def test_bad_host_of_three_applications_is_one_finding(detect: DetectJob):
    """If three applications each lose an executor on one host, there is one finding, and it is about the host.

    Other hosts run applications without problems, so the host differs from them. No finding blames one of the jobs.
    """
    at = now() - MINUTE
    for number in range(30):
        other = Run(f"other-{number}", at - MINUTE, f"other_{number}")
        detect.send([other.started(at), other.executor_added(at, "1", "node-8"), other.application(at)])
    for number in range(3):
        run = Run(f"host-{number}", at - MINUTE, f"host_{number}")
        detect.send([run.started(at), run.executor_added(at, "1", "node-9"), run.application(at)])
        detect.send([run.executor_removed(at + WINDOW_MS, "1", "worker lost")])
    detect.pass_time(at + 2 * WINDOW_MS)
    found = detect.wait_for_finding("node_bad", "host node-9", fires, "the bad host")
    detect.wait_for_finding("host_fails", "host node-9", fires, "the bad host, by the other rule")
    evidence = found.runs[0].evidence

    assert (found.scope, found.cluster, found.runs[0].run_key) == ("host:node-9", "prod-eu", "node-9")
    assert (evidence["applications"], evidence["failing_applications"], evidence["failure"]) == ("3", "3", "node_lost")
    assert evidence["application_ids"] == "host-0, host-1, host-2"

    detect.pass_time(at + 6 * WINDOW_MS)
    resolved = detect.wait_for_finding(
        "host_fails", "host node-9", resolves, "the host without further problems to resolve"
    )

    assert resolved.resolved_ms == at + 4 * WINDOW_MS
    assert detect.findings("node_bad", "host node-9")[-1].state == "firing"


def test_jvm_has_two_malloc_arenas(detect: DetectJob):
    """The JVM has two malloc arenas; with more arenas, the allocator would keep memory that RocksDB has freed."""
    [jvm] = [each for each in psutil.Process(detect.launcher()).children(recursive=True) if each.name() == "java"]

    assert jvm.environ()["MALLOC_ARENA_MAX"] == "2"


def test_kill_and_new_rule_keep_the_finding(detect: DetectJob, catalog: Path, once: str):
    """After kill -9, the job continues from its checkpoint with the same finding and the new rule."""
    job = f"killed-{once}"
    at = now()
    run = Run("killed-1", at - MINUTE, job)
    detect.send([run.started(at), run.stage_started(at), run.task(at, 90_000)])
    before = detect.wait_for_finding("task_stuck", job, lambda each: each.state == "firing", "the stuck task")
    detect.wait_for_checkpoint()
    detect.kill()
    (catalog / "task_is_old.yaml").write_text(TASK_IS_OLD)
    count = len(detect.findings("task_stuck", job))
    detect.start()
    newer = at + EVIDENCE_EVERY_MS
    detect.send([run.task(end, 95_000) for end in range(at + WINDOW_MS, newer + WINDOW_MS, WINDOW_MS)])
    found = detect.wait_for_finding("task_is_old", job, lambda each: each.state == "firing", "the new rule")

    def published_again() -> bool:
        return any(each.evidence_ms == newer for each in detect.findings("task_stuck", job)[count:])

    wait_for(published_again, ANSWER_SECONDS, "new evidence of the finding from before the kill")
    meanwhile = detect.findings("task_stuck", job)
    detect.send([run.ended(newer + WINDOW_MS)])
    detect.wait_for_finding("task_stuck", job, lambda each: each.state == "resolved", "the end of the run")

    assert {(each.finding_id, each.started_ms, each.state) for each in meanwhile} == {
        (before.finding_id, before.started_ms, "firing")
    }
    assert found.started_ms == at + WINDOW_MS
    assert detect.metric('sparkfuse_findings_total{rule="task_stuck",severity="warning",state="firing"}') == 0
    assert detect.stop() == 0


def test_unknown_key_in_a_rule_prevents_the_start(tmp_path: Path):
    """An unknown key in a rule ends the process with code 2 before Flink starts.

    The error names the file, the key and the nearest valid key.
    """
    (tmp_path / "task_waits.yaml").write_text(TASK_WAITS.replace("for: 10s", "fro: 10s"))
    command = [sys.executable, "-m", "sparkfuse_stream_jobs.detect", "--catalog", str(tmp_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=150, cwd=tmp_path, check=False)

    assert ended.returncode == 2
    assert "task_waits.yaml" in ended.stderr
    assert "unknown key 'fro'; did you mean 'for'?" in ended.stderr
    assert "Traceback" not in ended.stderr
