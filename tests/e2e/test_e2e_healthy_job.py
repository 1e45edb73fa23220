"""The whole pipeline in mode act beside a healthy job with heavy early spill and a straggler.

``SPARKFUSE_HEALTHY_MINUTES`` is how long the straggler computes, 30 by default.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sparkfuse_rules.catalog import load_catalog
from tests.e2e.conftest import RunningStack, running_stack
from tests.waiting import wait_for

MINUTES = float(os.environ.get("SPARKFUSE_HEALTHY_MINUTES", "30"))
JOB = Path(__file__).parent / "jobs" / "healthy_straggler.py"
# All rules that the hook can act on, in mode act and without the required probes. Only the spill budget is not the
# default: the job must exceed it, or the budget alone would protect the job.
RULES = [rule for rule in load_catalog().values() if rule.fuse is not None and "external_stop" not in rule.fuse.actions]
MODES = "".join(
    f"  {rule.id}:\n    fuse: {{mode: act}}\n"
    + ("    params: {budget_bytes: 20000000}\n" if rule.id == "stage_runaway_spill" else "")
    for rule in RULES
)
CONFIGURATION = f"rules:\n{MODES}fuse:\n  arming: {{probes: 0}}\n"
# A sorter spills after this many rows, even if memory is free.
SPILLING = {"spark.shuffle.spill.numElementsForceSpillThreshold": "20000"}


@pytest.fixture
def armed(tmp_path: Path) -> Iterator[RunningStack]:
    """Start a stack in which each action of each rule is armed."""
    actions = [(rule.id, action) for rule in RULES if rule.fuse for action in rule.fuse.actions]
    with running_stack(tmp_path, CONFIGURATION, actions) as running:
        yield running


@pytest.mark.long
@pytest.mark.timeout(60 * MINUTES + 2_400)
def test_pipeline_never_touches_a_healthy_job(armed: RunningStack) -> None:
    """The fuse sends no signal to the job except warnings, which change nothing, and the job returns all rows.

    The straggler reports no progress to Spark, so `task_spinning` may warn its owner.
    """
    settings = SPILLING | {"spark.sparkfuse.fuse": "act", "spark.test.minutes": str(MINUTES)}
    job = armed.start_job("healthy_straggler", JOB, (), **settings)
    try:
        wait_for(lambda: job.exit_code() is not None, 60 * MINUTES + 1_200, "the end of the job")
    finally:
        job.stop()
    run = wait_for(
        lambda: [each for each in armed.ask("runs")["runs"] if each["status"] == "succeeded"],
        180,
        "the ended run in the store",
    )[0]
    steps = armed.ask("fuse", "audit", "--limit", "1000", "--home", str(armed.home))
    findings = Counter((each["rule"], each["severity"]) for each in armed.ask("findings"))
    print(f"{MINUTES:g} minutes: findings {dict(findings)}, steps {Counter(each['step'] for each in steps)}")

    assert job.exit_code() == 0, job.last_lines(40)
    assert "ROWS 1800000" in job.last_lines(40)
    sent = [step for step in steps if step["step"] in ("sent", "would_act") and step["app_id"] == run["app_id"]]
    assert {step["action"] for step in sent} <= {"warn"}
