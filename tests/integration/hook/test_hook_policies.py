"""Tests the catalog's policies on real Spark: the hook checks them with its own counters, and then stops a runaway.

Only the thresholds are smaller than in the catalog; the conditions and counters are those of the shipped policies.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from google.protobuf.json_format import Parse

from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller.signing import target_digest
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.policies import policy_hash, policy_line
from tests.integration.collectors.standalone import executors_of
from tests.integration.hook.conftest import Fuse, Signer, Target
from tests.waiting import wait_for

pytestmark = [pytest.mark.long, pytest.mark.timeout(1_200)]
SMALL = {
    "task_stuck": {"page_stalled_ms": 3_000, "kill_ratio": 1},
    "output_explosion": {"budget_bytes": 1_000_000, "min_ratio": 10},
    "task_failures": {"min_failing_hosts": 1},
    "application_costly": {"budget": 10_000},
    "deadline_at_risk": {"long_missed_ms": 2_000},
    "executor_churn": {"page_lost": 3, "max_since_success_ms": 20_000},
    "gc_pressure": {},
    "task_spinning": {"min_stalled_ms": 15_000},
}
STOPS = {
    "task_stuck": "kill_task",
    "output_explosion": "cancel_query",
    "task_failures": "cancel_stage",
    "application_costly": "stop_application",
    "deadline_at_risk": "stop_application",
    "executor_churn": "stop_application",
    "gc_pressure": "warn",
    "task_spinning": "warn",
}
# A core-millisecond costs one unit of money, so that a budget is used within seconds.
SETTINGS = {
    "application_costly": {"spark.sparkfuse.price.coreHour": "3600000"},
    "deadline_at_risk": {"spark.sparkfuse.deadline": "1s"},
    # A killed executor fails the task that it runs.
    "executor_churn": {"spark.master": "local-cluster[2,1,600]", "spark.task.maxFailures": "1000"},
    # Cached objects fill the heap of 600 MB almost completely.
    "gc_pressure": {
        "spark.master": "local-cluster[3,1,600]",
        "spark.executor.memory": "600m",
        "spark.testing.reservedMemory": "1",
        "spark.memory.fraction": "0.8",
        "spark.memory.storageFraction": "0.99",
    },
}


def line(rule_id: str) -> str:
    """Return the policy of a rule with small thresholds."""
    rule = load_catalog()[rule_id].with_params(SMALL[rule_id])
    assert rule.fuse is not None
    return policy_line(replace(rule, fuse=replace(rule.fuse, after_ms=0)))


class Runaway:
    """One job that matches a rule, armed for the narrowest stop of the rule."""

    def __init__(self, target: Target, operator: Signer, fuse: Fuse, rule_id: str) -> None:
        self.target, self.job, self.rule_id = target, target.job, rule_id
        self._operator, self._fuse, self._numbers = operator, fuse, count(1)
        fuse.control(operator, control_id="arm", kind="arm", rule=rule_id, action=STOPS[rule_id])

    def lose_executors(self, number: int) -> None:
        """Kill executors one after the other, each after it has registered at the driver."""
        killed: set[str] = set()
        while len(killed) < number:
            executor_id = wait_for(lambda: next(iter(self.target.executors() - killed), None), 240, "an executor")
            executors_of(self.target.app_id)[executor_id].kill()
            killed.add(executor_id)

    def ask(self, **changes: object) -> dict:
        """Send one signal, and return its last receipt."""
        number = next(self._numbers)
        content = {"rule": self.rule_id, "action": STOPS[self.rule_id], "policy_hash": policy_hash(line(self.rule_id))}
        self.target.send(f"s-{number}", number, **(content | changes))
        return self._fuse.receipt(f"s-{number}")

    def agreed(self, **changes: object) -> dict:
        """Send signals until the counters of the hook meet the policy, and return the last receipt."""

        def answer() -> dict | None:
            receipt = self.ask(**changes)
            return None if receipt["outcome"] in ("disagrees", "blind") else receipt

        return wait_for(answer, 400, "the hook's agreement")

    def approval(self, **target: object) -> dict:
        """Return an approval of the stop of a target."""
        content = {
            "cluster": "default",
            "app_attempt": 0,
            "rule": self.rule_id,
            "action": STOPS[self.rule_id],
            **target,
        }
        content |= {"app_id": self.target.app_id, "app_start_ms": self.target.start_ms}
        content["policy_hash"] = policy_hash(line(self.rule_id))
        digest = target_digest(Parse(json.dumps(content), Signal()))
        approval = {"approval_id": "a-1", "digest": digest, "expires_ms": int(time.time() * 1000) + 600_000}
        found: dict = json.loads(self._operator.envelope(json.dumps(approval), topic="approvals"))
        return found


@pytest.fixture
def run(start, fuse, tmp_path: Path) -> Callable[[str, str], Runaway]:
    """Return a function that starts the job of a rule."""

    def begin(rule_id: str, case: str) -> Runaway:
        policies = tmp_path / "own.jsonl"
        policies.write_text(line(rule_id) + "\n")
        settings = {
            "spark.sparkfuse.fuse.policies": str(policies),
            "spark.test.case": case,
            "spark.master": "local[2,10]",
            "spark.executor.memory": "600m",
            **SETTINGS.get(rule_id, {}),
        }
        target, operator = start("spark35", "policy_cases.py", **settings)
        return Runaway(target, operator, fuse, rule_id)

    return begin


def test_stuck_task_is_killed_and_runs_again(run):
    """If the last task of a stage hangs and the others have succeeded, it is killed, and its next attempt succeeds."""
    runaway = run("task_stuck", "stuck")
    [hanging] = wait_for(
        lambda: [task for task in runaway.target.running() if task.task_index == 3], 240, "the stuck task"
    )
    receipt = runaway.agreed(task_id=hanging.task_id)

    assert (receipt["outcome"], receipt["freed_tasks"]) == ("ended", 1)
    assert int(receipt["observed"]["task_stalled_ratio"]) >= 1
    assert runaway.job.wait_for_line("RESULT") == "[1, 2, 3, 4]"


def test_exploding_query_is_cancelled(run, facts):
    """A cross join that writes to a shuffle is cancelled as a query, and the session stays usable."""
    runaway = run("output_explosion", "explosion")
    tasks = wait_for(
        lambda: [task for task in runaway.target.running() if task.shuffle_write_bytes > 1_000_000], 240, "tasks"
    )
    stage = tasks[0].stage_id
    [query] = {each.sql_execution_id for each in facts.of("job_started") if stage in each.stage_ids}
    receipt = runaway.agreed(query_id=query, stage_id=stage)

    assert receipt["outcome"] == "ended"
    assert int(receipt["observed"]["written_ratio"]) >= 10
    assert "output_explosion" in runaway.job.wait_for_line("ERROR")
    assert runaway.job.wait_for_line("USABLE") == "3"


def test_doomed_retries_are_cancelled(run):
    """If a task failed three times in the same way, its stage is cancelled; Spark would try seven more times."""
    runaway = run("task_failures", "doomed")
    wait_for(lambda: len(runaway.target.running()) == 2, 240, "the fourth attempt")
    receipt = runaway.agreed()

    assert receipt["outcome"] == "ended"
    assert receipt["observed"]["same_failure_attempts"] == "3"
    assert "task_failures" in runaway.job.wait_for_line("ERROR")
    assert runaway.job.wait_for_line("USABLE") == "3"


@pytest.mark.parametrize(
    ("rule_id", "counter", "least"),
    [("application_costly", "application_cost", 10_000), ("deadline_at_risk", "application_late_ms", 2_000)],
)
def test_application_is_stopped_with_approval(run, rule_id, counter, least):
    """The owner is warned first; then a person approves, and the application ends."""
    runaway, whole = run(rule_id, "hanging"), {"stage_id": None, "stage_attempt": None}
    warned = runaway.agreed(action="warn", **whole)
    assert (warned["outcome"], int(warned["observed"][counter]) >= least) == ("warned", True)
    assert runaway.ask(**whole)["gate"] == "approval"
    receipt = runaway.ask(**whole, approval=runaway.approval())

    assert receipt["outcome"] == "ended", receipt
    assert int(receipt["observed"][counter]) >= least
    assert "shut down" in runaway.job.wait_for_line("ERROR")


def test_owner_of_a_spinning_task_is_warned(run):
    """If a task computes without reading or writing, the hook agrees with the warning and stops nothing."""
    runaway = run("task_spinning", "spinning")
    [task, _] = wait_for(lambda: len(found := runaway.target.running()) == 2 and found, 240, "the tasks")
    receipt = runaway.agreed(stage_id=task.stage_id, task_id=task.task_id)

    assert receipt["outcome"] == "warned"
    assert float(receipt["observed"]["task_cpu_percent"]) >= 50
    assert len(runaway.target.running()) == 2


def test_task_that_computes_between_rows_is_not_spinning(run):
    """If a task computes for 5 ms for each row that it reads, the hook does not agree."""
    runaway, receipts = run("task_spinning", "computing"), []

    def records() -> int:
        return max((each.input_records for each in runaway.target.running()), default=0)

    wait_for(lambda: records() > 100, 240, "rows")
    [task, *_] = runaway.target.running()
    while records() < 8_000:
        receipts.append(runaway.ask(stage_id=task.stage_id, task_id=task.task_id))

    assert {(each["outcome"], each.get("gate")) for each in receipts} == {("disagrees", "predicate")}


def test_owner_of_collecting_executors_is_warned(run):
    """If the heaps of all executors are full of objects, more than half of the time goes to collections."""
    receipt = run("gc_pressure", "collecting").agreed()

    assert receipt["outcome"] == "warned"
    assert float(receipt["observed"]["application_gc_percent"]) >= 50


def test_garbage_in_free_heaps_causes_no_warning(run):
    """If the same query creates the same garbage in heaps with free memory, the hook does not agree."""
    runaway = run("gc_pressure", "garbage")
    receipts = [wait_for(lambda: (found := runaway.ask())["outcome"] != "blind" and found, 240, "samples")]
    receipts += [runaway.ask() for _ in range(8)]

    assert {(each["outcome"], each.get("gate")) for each in receipts} == {("disagrees", "predicate")}


def test_application_that_loses_its_executors_is_stopped(run):
    """If executors die and no task succeeds, the owner is warned, and then the application is stopped."""
    runaway, whole = run("executor_churn", "hanging"), {"stage_id": None, "stage_attempt": None}
    assert runaway.ask(**whole)["gate"] == "predicate"
    runaway.lose_executors(4)
    assert runaway.agreed(action="warn", **whole)["outcome"] == "warned"
    receipt = runaway.agreed(**whole)

    assert receipt["outcome"] == "ended", receipt
    assert int(receipt["observed"]["application_lost_executors"]) >= 3
    assert runaway.job.wait_for_line("ERROR")


def test_application_that_succeeds_despite_lost_executors_continues(run):
    """If as many executors are lost while tasks still succeed, the hook does not agree."""
    runaway, whole = run("executor_churn", "succeeding"), {"stage_id": None, "stage_attempt": None}
    runaway.lose_executors(4)

    def after_the_losses() -> dict | None:
        found = runaway.ask(**whole)
        return found if int(found["observed"].get("application_lost_executors", 0)) >= 3 else None

    receipt = wait_for(after_the_losses, 240, "the losses")

    assert (receipt["outcome"], receipt["gate"]) == ("disagrees", "predicate")
    assert "application_since_success_ms" in receipt["reason"]


@pytest.mark.parametrize("rule_id", ["application_costly", "deadline_at_risk"])
def test_job_without_setting_is_never_stopped(run, rule_id, monkeypatch):
    """If the job sets no price or deadline, the hook cannot check the policy (`blind`), and the job continues."""
    monkeypatch.delitem(SETTINGS, rule_id)
    runaway, whole = run(rule_id, "hanging"), {"stage_id": None, "stage_attempt": None}
    receipt = runaway.ask(**whole, approval=runaway.approval())

    assert (receipt["outcome"], receipt["gate"]) == ("blind", "blind")
    assert "without a valid spark.sparkfuse." in receipt["reason"]
    assert len(runaway.target.running()) == 2
