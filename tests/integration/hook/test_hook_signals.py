"""Tests signals to a job on real Spark: only a valid, armed signal stops work, and the owner can read the reason."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import Facts, SparkRun
from tests.integration.hook.conftest import POLICY, RULE, STRICT_POLICY, Fuse, Signer, policy_hash, signal
from tests.waiting import wait_for

JOB = Path(__file__).parent / "jobs" / "runaway_sort.py"
VERSIONS = [pytest.param("spark35", marks=pytest.mark.long), "spark4"]


@pytest.fixture
def start_job(kafka_bootstrap: str, topics: str, tmp_path: Path) -> Iterator[Callable[[str, str], SparkRun]]:
    runs: list[SparkRun] = []
    policies = tmp_path / "policies.jsonl"
    policies.write_text(f"{POLICY}\n{STRICT_POLICY}\n")

    def start(version: str, keys: str) -> SparkRun:
        settings = {
            "spark.sparkfuse.kafka.bootstrap": kafka_bootstrap,
            "spark.sparkfuse.topic.prefix": topics,
            "spark.sparkfuse.fuse": "act",
            "spark.sparkfuse.fuse.publicKeys": keys,
            "spark.sparkfuse.fuse.policies": str(policies),
            # A sorter spills after this many rows, even if memory is free.
            "spark.shuffle.spill.numElementsForceSpillThreshold": "20000",
        }
        runs.append(SparkRun(version, JOB, settings, tmp_path / "job.log"))
        return runs[-1]

    yield start
    for run in runs:
        run.stop()


def spilling_stage(facts: Facts, after: int = -1) -> int:
    """Return the first stage after `after` whose running tasks spill."""

    def find() -> list[int]:
        progress = facts.of("task_progress")
        return [task.stage_id for task in progress if task.disk_spilled_bytes > 1_000 and task.stage_id > after]

    return wait_for(find, 240, "a running task that spills")[0]


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_only_valid_signal_stops_job_with_reason(start_job, fuse, facts, tmp_path, version):
    """An invalid signal is refused with a receipt. A valid signal stops the stage, and the job shows the reason."""
    signer, unknown, rotated, operator = Signer(), Signer(), Signer(), Signer("approve")
    keys = [signer.write_public_key(tmp_path / "public.pem"), rotated.inline, operator.inline]
    job = start_job(version, ",".join(keys))
    app_id, start = job.wait_for_line("APPLICATION").split()
    stage = spilling_stage(facts)

    def order(signal_id: str, generation: int, **changes: object) -> str:
        return signal(app_id, int(start), signal_id, generation, **({"stage_id": stage} | changes))

    _check_refusals(fuse, app_id, order, signer, unknown, rotated)
    _check_orders(fuse, app_id, order, signer, operator)
    fuse.send(app_id, signer.envelope(order("right", 40)))
    blown = job.wait_for_line("BLOWN_first")

    assert "at 'first sort'" in blown
    assert f"Rule: {RULE}." in blown
    assert "Evidence: 3.1 GB spilled while no task ended for 40 s." in blown
    assert "To override: raise budget_bytes of stage_runaway_spill in sparkfuse.yaml." in blown
    assert job.wait_for_line("CAUSE_first") == "Py4JJavaError"
    assert job.wait_for_line("USABLE_first") == "10 False"
    assert job.wait_for_line("RESET_first") == "True"
    receipt = fuse.receipt("right")
    assert [each["outcome"] for each in fuse.receipts("right")] == ["received", "requested", "ended"]
    assert (receipt["outcome"], receipt["freed_tasks"]) == ("ended", 2)
    assert int(receipt["observed"]["running_disk_spilled_bytes"]) > 1_000
    assert (receipt["mode"], receipt["app_id"]) == ("act", app_id)

    again = spilling_stage(facts, after=stage)
    fuse.send(app_id, rotated.envelope(order("replayed", 40, stage_id=again)))
    assert "not newer" in fuse.receipt("replayed")["reason"]
    fuse.send(app_id, signer.envelope(order("unarmed", 41, stage_id=again, action="cancel_jobs")))
    assert fuse.receipt("unarmed")["gate"] == "armed"
    fuse.control(operator, control_id="arm-2", kind="arm", rule=RULE, action="cancel_jobs")
    fuse.send(app_id, rotated.envelope(order("jobs", 42, stage_id=again, action="cancel_jobs")))
    assert "at 'second sort'" in job.wait_for_line("BLOWN_second")
    assert job.wait_for_line("USABLE_second") == "10 False"
    assert job.wait_for_line("PYARROW") >= "26" if version == "spark4" else True
    assert job.ended() == 0


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("version", VERSIONS)
def test_query_is_cancelled_and_application_is_stopped(start_job, fuse, facts, version):
    """cancel_query ends the jobs of one query; stop_application ends the driver with the exit code of the signal."""
    signer, operator = Signer(), Signer("approve")
    job = start_job(version, f"{signer.inline},{operator.inline}")
    app_id, start = job.wait_for_line("APPLICATION").split()
    stage = spilling_stage(facts)
    query = next(each.sql_execution_id for each in facts.of("job_started") if stage in each.stage_ids)
    for action in ("cancel_query", "stop_application"):
        fuse.control(operator, control_id=f"arm-{action}", kind="arm", rule=RULE, action=action)

    wrong = signal(app_id, int(start), "other query", 1, stage_id=stage, action="cancel_query", query_id=query + 100)
    fuse.send(app_id, signer.envelope(wrong))
    assert "does not run" in fuse.receipt("other query")["reason"]
    right = signal(app_id, int(start), "query", 2, stage_id=stage, action="cancel_query", query_id=query)
    fuse.send(app_id, signer.envelope(right))
    assert "at 'first sort'" in job.wait_for_line("BLOWN_first")
    assert fuse.receipt("query")["outcome"] == "ended"

    again = spilling_stage(facts, after=stage)
    stop = signal(app_id, int(start), "stop", 3, stage_id=again, action="stop_application", exit_code=75)
    fuse.send(app_id, signer.envelope(stop))
    wait_for(lambda: any(each["outcome"] == "requested" for each in fuse.receipts("stop")), 60, "the request")
    assert "at 'second sort'" in job.wait_for_line("BLOWN_second")
    job.ended()


def _check_orders(fuse: Fuse, app_id: str, order: Callable[..., str], signer: Signer, operator: Signer) -> None:
    """Check that no signal stops anything without an arming or during a hold, and that a probe never stops anything."""
    fuse.send(app_id, signer.envelope(order("unarmed-first", 20)))
    assert fuse.receipt("unarmed-first")["gate"] == "armed"
    fuse.control(operator, control_id="arm-1", kind="arm", rule=RULE, job="run*", action="cancel_stage")
    fuse.control(operator, control_id="hold-1", kind="hold", app="*")
    fuse.send(app_id, signer.envelope(order("held", 21)))
    assert (fuse.receipt("held")["outcome"], fuse.receipt("held")["gate"]) == ("held", "hold")
    fuse.control(operator, control_id="hold-1", kind="hold", app="*", released=True)
    fuse.send(app_id, signer.envelope(order("probe", 22, probe=True)))
    assert fuse.receipt("probe")["outcome"] == "would_act"
    fuse.send(app_id, signer.envelope(order("lower-epoch", 23, epoch=0)))
    assert "older than the current one" in fuse.receipt("lower-epoch")["reason"]


def _check_refusals(
    fuse: Fuse, app_id: str, order: Callable[..., str], signer: Signer, unknown: Signer, rotated: Signer
):
    """Send invalid signals; check that each is refused with a receipt, or only counted if it is not signed.

    A refused signal for this run uses up its generation, so each needs a higher one than those before.
    """
    now = int(time.time() * 1000)
    wrong = {
        "other-application": (order("other-application", 9, app_id="app-x"), "refused", "another app"),
        "other-attempt": (order("other-attempt", 9, app_attempt=3), "refused", "another attempt"),
        "other-run": (order("other-run", 9, app_start_ms=1), "refused", "another run"),
        "expired": (order("expired", 9, issued_ms=now, expires_ms=now + 1), "expired", "ago"),
        "long-lived": (order("long-lived", 10, expires_ms=now + 200_000), "refused", "120000 ms"),
        "early": (order("early", 11, issued_ms=now + 110_000, expires_ms=now + 119_000), "refused", "clock differs"),
        "late": (order("late", 12, issued_ms=now - 110_000, expires_ms=now + 9_000), "refused", "clock differs"),
        "no-policy": (order("no-policy", 13, policy_hash="0" * 64), "refused", "policy"),
        "not-true": (order("not-true", 14, policy_hash=policy_hash(STRICT_POLICY)), "refused", "armed"),
        "gone-stage": (order("gone-stage", 16, stage_id=999, probe=True), "would_not_act", "is not running"),
        "false-probe": (
            order("false-probe", 17, probe=True, policy_hash=policy_hash(STRICT_POLICY)),
            "would_not_act",
            "running_disk_spilled_bytes is",
        ),
        "replay": (order("replay", 16), "refused", "not newer"),
    }
    unverified = [unknown.envelope(order("forged", 50), key_id=signer.key_id), unknown.envelope(order("x", 50)), "{"]
    for content in unverified:
        fuse.send(app_id, content)
    for number, (payload, _outcome, _reason) in enumerate(wrong.values()):
        fuse.send(app_id, (signer, rotated)[number % 2].envelope(payload))
    for signal_id, (_payload, outcome, reason) in wrong.items():
        receipt = fuse.receipt(signal_id)
        assert (signal_id, receipt["outcome"]) == (signal_id, outcome)
        assert reason in receipt["reason"] + receipt.get("gate", "")
    assert fuse.receipts("forged") == []
    assert fuse.unverified() >= 1
