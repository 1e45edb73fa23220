from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import Facts, SparkRun
from tests.integration.hook.conftest import Fuse, Signer, signal
from tests.waiting import wait_for

JOB = Path(__file__).parent / "jobs" / "runaway_sort.py"


@pytest.fixture
def start_job(kafka_bootstrap: str, topics: str, tmp_path: Path) -> Iterator[Callable[[str, str], SparkRun]]:
    runs: list[SparkRun] = []

    def start(version: str, keys: str) -> SparkRun:
        settings = {
            "spark.sparkfuse.kafka.bootstrap": kafka_bootstrap,
            "spark.sparkfuse.topic.prefix": topics,
            "spark.sparkfuse.fuse": "act",
            "spark.sparkfuse.fuse.publicKeys": keys,
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
@pytest.mark.parametrize("version", [pytest.param("spark35", marks=pytest.mark.long), "spark4"])
def test_only_valid_signal_stops_job_with_reason(start_job, fuse, facts, tmp_path, version):
    """An invalid signal is refused with a receipt; a valid one stops the stage and shows its reason."""
    signer, unknown, rotated = Signer(), Signer(), Signer()
    job = start_job(version, f"{signer.write_public_key(tmp_path / 'public.pem')},{rotated.inline}")
    app_id, start = job.wait_for_line("APPLICATION").split()
    stage = spilling_stage(facts)

    def order(signal_id: str, generation: int, **changes: object) -> str:
        return signal(app_id, int(start), signal_id, generation, **({"stage_id": stage} | changes))

    _check_refusals(fuse, app_id, order, signer, unknown, rotated)
    fuse.send(app_id, signer.envelope(order("right", 7)))
    blown = job.wait_for_line("BLOWN_first")

    assert "at 'first sort'" in blown
    assert "Rule: stage_runaway_spill." in blown
    assert "Evidence: 3.1 GB spilled while no task ended for 40 s." in blown
    assert "To override: raise budget_bytes of stage_runaway_spill in sparkfuse.yaml." in blown
    assert job.wait_for_line("CAUSE_first") == "Py4JJavaError"
    assert job.wait_for_line("USABLE_first") == "10 False"
    assert job.wait_for_line("RESET_first") == "True"
    receipt = fuse.receipt("right")
    assert receipt["outcome"] == "acted"
    assert receipt["killed_tasks"] == 2
    assert int(receipt["observed"]["disk_spilled_bytes"]) > 1_000
    assert (receipt["actor"], receipt["mode"], receipt["app_id"]) == ("hook", "act", app_id)

    again = spilling_stage(facts, after=stage)
    fuse.send(app_id, rotated.envelope(order("replayed", 7, stage_id=again)))
    assert "not newer" in fuse.receipt("replayed")["reason"]
    fuse.send(app_id, rotated.envelope(order("jobs", 8, stage_id=again, action="cancel_jobs")))
    assert "at 'second sort'" in job.wait_for_line("BLOWN_second")
    assert job.wait_for_line("USABLE_second") == "10 False"
    assert job.wait_for_line("PYARROW") >= "26" if version == "spark4" else True
    assert job.ended() == 0


def _check_refusals(
    fuse: Fuse, app_id: str, order: Callable[..., str], signer: Signer, unknown: Signer, rotated: Signer
):
    """Send invalid signals and check that each is refused with a receipt."""
    now = int(time.time() * 1000)
    high = [{"column": "disk_spilled_bytes", "operator": ">=", "threshold": 1e15}]
    uncounted = [{"column": "lost_share", "operator": ">", "threshold": 0.5}]
    wrong = {
        "forged": (unknown.envelope(order("forged", 50), key_id=signer.key_id), "refused", "signature"),
        "unknown-key": (unknown.envelope(order("unknown-key", 50)), "refused", "no public key"),
        "other-application": (
            signer.envelope(order("other-application", 50, app_id="app-x")),
            "refused",
            "another app",
        ),
        "other-attempt": (signer.envelope(order("other-attempt", 50, app_attempt=3)), "refused", "another attempt"),
        "other-run": (signer.envelope(order("other-run", 50, app_start_ms=1)), "refused", "another run"),
        "expired": (
            signer.envelope(order("expired", 50, issued_ms=now - 90_000, expires_ms=now - 1)),
            "expired",
            "ago",
        ),
        "long-lived": (signer.envelope(order("long-lived", 50, expires_ms=now + 200_000)), "refused", "120000 ms"),
        "early": (
            signer.envelope(order("early", 50, issued_ms=now + 110_000, expires_ms=now + 119_000)),
            "refused",
            "in the future",
        ),
        "no-predicate": (signer.envelope(order("no-predicate", 1, predicate=[])), "refused", "requires a predicate"),
        "not-true": (rotated.envelope(order("not-true", 2, predicate=high)), "disagrees", "disk_spilled_bytes is"),
        "not-counted": (signer.envelope(order("not-counted", 3, predicate=uncounted)), "refused", "has no counter"),
        "gone-stage": (signer.envelope(order("gone-stage", 4, stage_id=999)), "disagrees", "is not running"),
        "replay": (signer.envelope(order("replay", 4)), "refused", "not newer"),
    }
    for envelope, _outcome, _reason in wrong.values():
        fuse.send(app_id, envelope)
    fuse.send(app_id, "not JSON")
    for signal_id, (_envelope, outcome, reason) in wrong.items():
        receipt = fuse.receipt(signal_id)
        assert (signal_id, receipt["outcome"]) == (signal_id, outcome)
        assert reason in receipt["reason"]
