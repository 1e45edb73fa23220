"""Tests that no signal stops a healthy job that spills heavily at first and has a straggler later.

``SPARKFUSE_HEALTHY_MINUTES`` is how long the straggler computes: 5 by default, more than 10 to exceed the default times
of the policy too.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.policies import policy_hash, policy_line
from sparkfuse_rules.rule import Rule
from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.hook.conftest import JOBS, Fuse, Signer, signal
from tests.integration.hook.test_hook_runaway_spill import printed
from tests.waiting import wait_for

MINUTES = float(os.environ.get("SPARKFUSE_HEALTHY_MINUTES", "5"))
# With the default budget the hook would refuse because of the budget alone, so one policy has a budget that the job
# exceeds several times. Its times are the default ones.
SMALL_BUDGET = 20_000_000
CATALOG = load_catalog()
SPILL = CATALOG["stage_runaway_spill"]
POLICIES: list[tuple[Rule, str]] = [
    (SPILL, "cancel_stage"),
    (SPILL.with_params({"budget_bytes": SMALL_BUDGET}), "cancel_stage"),
    (CATALOG["task_stuck"], "kill_task"),
    (CATALOG["output_explosion"], "cancel_stage"),
    (CATALOG["task_failures"], "stop_application"),
]
ROUND_SECONDS = 5.0
ACTED = {"requested", "ended", "unfreed", "failed"}


@pytest.fixture
def job(kafka_bootstrap: str, topics: str, fuse: Fuse, tmp_path: Path) -> Iterator[tuple[SparkRun, Signer]]:
    """Yield the job in mode act, for which all policies are armed, and the key of the controller."""
    signer, operator = Signer(), Signer("approve")
    policies = tmp_path / "policies.jsonl"
    policies.write_text("".join(f"{policy_line(rule)}\n" for rule, _ in POLICIES))
    settings = {
        "spark.sparkfuse.kafka.bootstrap": kafka_bootstrap,
        "spark.sparkfuse.topic.prefix": topics,
        "spark.sparkfuse.fuse": "act",
        "spark.sparkfuse.fuse.publicKeys": f"{signer.inline},{operator.inline}",
        "spark.sparkfuse.fuse.policies": str(policies),
        # A sorter spills after this many rows, even if memory is free.
        "spark.shuffle.spill.numElementsForceSpillThreshold": "20000",
        "spark.test.until": str(tmp_path / "until"),
    }
    for rule, action in POLICIES:
        fuse.control(operator, control_id=f"arm-{rule.id}", kind="arm", rule=rule.id, action=action)
    run = SparkRun("spark4", JOBS / "early_spill.py", settings, tmp_path / "job.log")
    yield run, signer
    run.stop()


@pytest.mark.long
@pytest.mark.timeout(60 * MINUTES + 1_200)
def test_hook_never_stops_a_healthy_job(job, fuse, facts, tmp_path):
    """The hook refuses each of many valid and armed signals, because its own counters do not meet the policy."""
    run, signer = job
    app_id = run.wait_for_line("APPLICATION")
    start_ms = wait_for(facts.all, 240, "a fact")[0].app_start_ms
    straggler = wait_for(lambda: last_task(facts), 420, "the straggler alone")
    began, sent = time.monotonic(), 0
    while time.monotonic() < began + 60 * MINUTES:
        round_began = time.monotonic()
        for rule, action in POLICIES:
            sent += 1
            payload = signal(
                app_id, start_ms, f"signal-{sent}", sent, rule=rule.id, action=action, stage_id=straggler.stage_id,
                task_id=straggler.task_id if action == "kill_task" else None,
                policy_hash=policy_hash(policy_line(rule)), job_key="early_spill",
            )  # fmt: skip
            fuse.send(app_id, signer.envelope(payload))
        assert fuse.receipt(f"signal-{sent}")["outcome"] not in ACTED
        wait_for(lambda began=round_began: time.monotonic() >= began + ROUND_SECONDS, 60, "the next round")
    (tmp_path / "until").touch()
    answers = [json.loads(value) for value in fuse.all_receipts()]
    counts = Counter((each["outcome"], each.get("gate", "")) for each in answers)
    stalled_ms = max(each.get("running_since_progress_min_ms", 0) for each in printed(run, straggler.stage_id))
    print(f"{MINUTES:g} minutes, {sent} signals, no progress for {stalled_ms} ms: {dict(counts)}")

    assert run.wait_for_line("SUM") == "True"
    assert run.ended() == 0
    assert not ACTED & {outcome for outcome, _ in counts}
    # On a busy host the hook is blind for some signals, because the progress of the task is too old.
    assert counts["disagrees", "predicate"] > sent / 2
    assert max(each["disk_spilled_bytes"] for each in printed(run, straggler.stage_id)) > 2 * SMALL_BUDGET


def last_task(facts):
    """Return the last running task after the other tasks have ended; None while several tasks run."""
    ended = {task.task_id for task in facts.of("task_ended")}
    latest = {task.task_id: task for task in facts.of("task_progress")}
    running = [task for task in latest.values() if task.task_id not in ended]
    return running[0] if len(running) == 1 and len(ended) >= 5 else None
