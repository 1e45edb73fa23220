"""Tests, in the real engine, that stored live rows show in which runs the policy of a rule would have acted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from typing import Any

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse.commands.fuse_replay import replay_for_arming
from sparkfuse.stack.errors import StartError
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow, StageLive
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.backtest import PolicyReplay, replay_live_rows
from sparkfuse_native_analytics.fuse_controller.controller_policy import read_policies
from sparkfuse_native_analytics.fuse_operator.replay_evidence import ReplayEvidence, replay_evidence
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.catalog import load_catalog
from tests.integration.native_analytics.test_native_analytics_backtest import store

RULE = load_catalog()["stage_runaway_spill"]
STUCK = load_catalog()["task_stuck"]
START_MS = 1_795_226_400_000
SPILLING = {"running_spilled_since_progress_max_bytes": 40_000_000_000, "running_since_progress_min_ms": 900_000,
            "running_since_spill_ms": 4_000}  # fmt: skip
QUIET = {**SPILLING, "running_spilled_since_progress_max_bytes": 300_000_000}


def rows(
    app_id: str, columns: dict[str, Any], status: str = "succeeded", completeness: float = 1.0, start_ms: int = START_MS
) -> list[bytes]:
    """Return a row of a running stage, and the last rows of the stage and the application."""
    end = start_ms + 1_000_000
    envelope: dict[str, Any] = {"app_id": app_id, "app_attempt": 0, "app_start_ms": start_ms, "cluster": "test",
                                "window_end_ms": end}  # fmt: skip
    stage = StageLive(stage_id=3, stage_attempt=0, status="running", elapsed_ms=900_000, running_tasks=2,
                      disk_spilled_bytes=60_000_000_000, **columns)  # fmt: skip
    ended = StageLive(stage_id=3, stage_attempt=0, status=status, elapsed_ms=1_000_000)
    whole = AppLive(name="orders", status=status, ended_ms=end, elapsed_ms=1_000_000,
                    failed_jobs=int(status == "failed"))  # fmt: skip
    found = [
        LiveRow(**envelope, view="stage_live", row_seq=1, completeness=completeness, stage=stage),
        LiveRow(**envelope, view="stage_live", row_seq=2, completeness=1.0, stage=ended),
        LiveRow(**envelope, view="app_live", row_seq=3, completeness=1.0, application=whole),
    ]
    return [row.SerializeToString() for row in found]


def test_runs_are_counted_by_their_end_and_by_the_policy(client: Client):
    """If the policy would act on a run, the act counts as false if the run succeeded, and as right if the run failed.

    Runs that started too early, or whose rows lack the columns of the policy, are not counted.
    """
    store(client, "live", rows("quiet", QUIET))
    store(client, "live", rows("spilling", SPILLING))
    store(client, "live", rows("failed", SPILLING, "failed"))
    store(client, "live", rows("incomplete", SPILLING, completeness=0.98))
    store(client, "live", rows("unknown", {}))
    store(client, "live", rows("earlier", SPILLING, start_ms=START_MS - 1))
    (found,) = replay_live_rows(client, lambda _: RULE, START_MS)

    assert sorted(found.healthy_runs) == ["incomplete", "quiet", "spilling"]
    assert (found.false_runs, found.failed_runs, found.right_runs) == (["spilling"], ["failed"], ["failed"])
    assert found.left_out == ()
    assert found.conclusive_runs == ["quiet"]


def test_thresholds_of_a_job_are_another_policy(client: Client):
    """Runs of a job with overridden thresholds are evaluated with these thresholds, as a separate policy."""
    store(client, "live", rows("quiet", QUIET))
    strict = RULE.with_params({"budget_bytes": 300_000_000})
    (found,) = replay_live_rows(client, lambda _: strict, START_MS)
    (other,) = replay_live_rows(client, lambda _: RULE, START_MS)

    assert (found.false_runs, other.false_runs) == (["quiet"], [])
    assert found.policy_hash != other.policy_hash
    assert replay_live_rows(client, lambda _: None, START_MS) == []


def test_conditions_that_rows_do_not_show_are_named(client: Client):
    """A counter that only the hook has is left out of the replay and named in the result."""
    store(client, "live", rows("quiet", QUIET))
    (found,) = replay_live_rows(client, lambda _: STUCK, START_MS)

    assert "succeeded_tasks >= 3" in found.left_out
    assert (found.healthy_runs, found.conclusive_runs) == ([], [])


@pytest.fixture
def environment(settings: Settings) -> dict[str, str]:
    client, start_ms = connect(settings), int(time.time() * 1000) - 7_200_000
    migrate(client)
    store(client, "live", rows("quiet", QUIET, start_ms=start_ms))
    store(client, "live", rows("spilling", SPILLING, start_ms=start_ms))
    return {**os.environ, "SPARKFUSE_CLICKHOUSE_URL": settings.clickhouse_url, "COLUMNS": "160"}


def test_command_prints_the_replay(environment):
    """`sparkfuse fuse replay` prints the counts and each healthy run on which the policy would have acted."""
    printed, as_json, wrong = (
        subprocess.run([sys.executable, "-m", "sparkfuse.main", "fuse", "replay", "--rule", *arguments],
                       capture_output=True, text=True, check=False, env=environment)
        for arguments in ([RULE.id, "--since", "1d"], [RULE.id, "--since", "1d", "--json"], ["stage_skew"])
    )  # fmt: skip

    assert "The policy would have acted on spilling, although this run succeeded." in printed.stdout, printed.stderr
    assert [(each["healthy_runs"], each["false_runs"]) for each in json.loads(as_json.stdout)] == [
        (["spilling", "quiet"], ["spilling"])
    ]
    assert (wrong.returncode, "has no fuse" in wrong.stderr) == (2, True)


@pytest.mark.parametrize(
    ("params", "job", "probes", "expected"),
    [
        pytest.param({}, "", 300, "would have acted on spilling, although", id="would act on a healthy run"),
        pytest.param({"budget_bytes": 50_000_000_000}, "", 300, "0 of 2 healthy runs", id="would not act"),
        pytest.param({}, "other_*", 300, "has no healthy run", id="no run of the selected jobs"),
        pytest.param({}, "other_*", 0, "0 of 0 healthy runs", id="no evidence is required"),
    ],
)
def test_replay_can_prevent_an_arming(environment, monkeypatch, tmp_path, params, job, probes, expected):
    """A rule is not armed if its policy would have acted on a stored run of the selected jobs that succeeded."""
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", environment["SPARKFUSE_CLICKHOUSE_URL"])
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(json.dumps({"rules": {RULE.id: {"params": params}} if params else {},
                                         "fuse": {"arming": {"probes": probes}}}))  # fmt: skip
    policy = read_policies(Settings.from_environment({"SPARKFUSE_CONFIG": str(configuration)}))
    try:
        found = replay_for_arming(policy, RULE.id, "1d", job, tmp_path).text
    except StartError as error:
        found = f"refused: {error}"

    assert expected in found
    assert found.startswith("refused") is ("healthy runs" not in expected)


def test_unprobed_runs_of_a_replay_count_as_evidence(environment, monkeypatch, tmp_path):
    """An arming contains, for each policy, the number of replayed healthy runs that were not probed."""
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", environment["SPARKFUSE_CLICKHOUSE_URL"])
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(json.dumps({"rules": {RULE.id: {"params": {"budget_bytes": 50_000_000_000}}}}))
    policy = read_policies(Settings.from_environment({"SPARKFUSE_CONFIG": str(configuration)}))
    (policy_hash,) = {each.policy_hash for each in policy.rules[RULE.id].all()}
    all_runs = replay_for_arming(policy, RULE.id, "1d", "", tmp_path)
    unprobed = replay_for_arming(policy, RULE.id, "1d", "", tmp_path, {"quiet", "app-9"})

    assert (all_runs.runs, unprobed.runs) == ({policy_hash: 2}, {policy_hash: 1})
    assert "1 runs that were not probed, sha256 " in unprobed.text


def test_partial_replay_is_no_evidence():
    """A replay that cannot show a condition, or in which the policy would have acted wrongly, counts no run."""
    partial = PolicyReplay(STUCK.id, "h", ("succeeded_tasks >= 3",), ["app-1"])
    wrong = PolicyReplay(STUCK.id, "h", ("succeeded_tasks >= 3",), ["a", "b"], ["a"], conclusive_runs=["b"])

    assert replay_evidence([partial], "60d", 300).runs == {"h": 0}
    assert replay_evidence([wrong], "60d", 300).runs == {}


def test_conditions_without_columns_prevent_no_arming():
    """If stored rows cannot show a condition, an act in the replay is stated, but it is not a certain error."""
    partial = PolicyReplay(STUCK.id, "h", ("succeeded_tasks >= 3",), ["app-1"], ["app-1"])

    assert replay_evidence([partial], "60d", 300) == ReplayEvidence(
        "60d: would act on 1 of 1 healthy runs and on 0 of 0 failed runs; not checked: succeeded_tasks >= 3"
    )
