"""Tests, in the real engine, that backtests of rules over the store's history equal offline analyses."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow, StageLive
from sparkfuse_contracts.settings import Settings
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.backtest import StoreOlderError, backtest
from sparkfuse_native_analytics.backtest.evaluation import VIEWS_IN_HISTORY
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.offline.analysis import analyze_all
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
from sparkfuse_native_analytics.offline.history_rows import history_rows
from sparkfuse_native_analytics.queries import StoreEmptyError
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiled import compile_offline
from sparkfuse_rules.rule import FusePolicy
from tests.unit.native_analytics.event_log_lines import DAY_MS, START_MS, Run, Stage, Task, even, nightly

ROOT = Path(__file__).parents[3]
CATALOG = load_catalog()
RULES = list(CATALOG.values())
FOREVER = 2**60
FEED = {feed.table: feed for feed in FEEDS}


def store(client: Client, table: str, messages: Iterable[bytes]) -> None:
    """Store records of a topic, as the loader does."""
    values = list(messages)
    batch = make_batch(FEED[table], Records(0, np.arange(len(values)), values), "topic")
    assert not batch.rejected
    for name, rows in batch.tables:
        client.insert_arrow(name, rows)


def keep(client: Client, applications: Iterable[Application]) -> None:
    """Store the records that `sparkfuse backfill` sends."""
    rows = [row for each in applications for row in history_rows(each, "test", "team")]
    store(client, "history", [row.SerializeToString() for row in rows])


def read(folder: Path, runs: Sequence[Run]) -> list[Application]:
    for place, run in enumerate(runs):
        run.write(folder / f"log-{place:03}")
    return [read_application(log) for log in find_logs(str(folder)).logs]


def committed() -> list[Application]:
    return [read_application(log) for log in find_logs(str(ROOT / "tests" / "logs" / "runs")).logs]


def counts_by_rule(found) -> dict[str, tuple[int, int, int]]:
    totals = {rule.rule: rule.total() for rule in found.rules if rule.not_decidable is None}
    return {rule: (each.critical, each.warning, each.info) for rule, each in totals.items() if each.matched}


def offline(applications: Sequence[Application]) -> dict[str, tuple[int, int, int]]:
    """Return the runs by rule and highest severity, as `analyze --history` finds them; symptoms are not counted."""
    compiled = [rule for rule in compile_offline() if rule.view in VIEWS_IN_HISTORY]
    counts: dict[str, Counter[str]] = {}
    for _, made in analyze_all(applications, compiled, EarlierRuns(applications)):
        worst: dict[str, str] = {}
        for each in made["findings"]:
            if each["inhibited_by"] is None:
                worst.setdefault(each["rule"], each["severity"])
        for rule, severity in worst.items():
            counts.setdefault(rule, Counter())[severity] += 1
    return {rule: (of["critical"], of["warning"], of["info"]) for rule, of in counts.items()}


NIGHTS = [nightly(day, wall) for day, wall in enumerate([60_000, 62_000, 58_000, 61_000, 59_000, 63_000])]
SPILLED = Run(
    [Stage(3, even(20_000, 4, disk_spilled_bytes=200_000_000))], app_id="app-'\\7", start_ms=START_MS + 7 * DAY_MS
)
OTHERS = [
    nightly(8, 190_000),
    nightly(9, 1_900_000),
    nightly(10, 1_900_000, more=["]"]),
    SPILLED,
    Run([Stage(0, [*even(1_000, 15), Task(31_000, 90_000_000)])], app_id="app-skew", job="other"),
]


@pytest.mark.parametrize("which", ["committed", "made"])
def test_backtest_equals_analysis_of_the_logs(client: Client, tmp_path: Path, which: str):
    """A backtest gives the same findings as `analyze --history` on the logs."""
    applications = committed() if which == "committed" else read(tmp_path, [*NIGHTS, *OTHERS])
    keep(client, applications)
    found = backtest(client, RULES, 0, FOREVER)

    assert counts_by_rule(found) == offline(applications)
    assert counts_by_rule(found)["stage_slow"] == ((0, 1, 0) if which == "committed" else (0, 2, 0))
    assert (found.runs, found.jobs) == (len(applications), 1 if which == "committed" else 2)


def test_chunk_size_does_not_change_results(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Results do not depend on how many rows one statement contains."""
    keep(client, read(tmp_path, [*NIGHTS, *OTHERS]))
    whole = backtest(client, RULES, 0, FOREVER)
    monkeypatch.setattr("sparkfuse_native_analytics.backtest.evaluation.ROWS_AT_ONCE", 2)
    monkeypatch.setattr("sparkfuse_native_analytics.backtest.evaluation.MOST_RULES", 3)
    monkeypatch.setattr("sparkfuse_native_analytics.backtest.replay.RUNS_AT_ONCE", 3)

    assert backtest(client, RULES, 0, FOREVER) == whole


def test_counts_are_runs_per_job(client: Client, tmp_path: Path):
    """The output has the number of evaluated runs, the matches per 100 runs, and the matching stages."""
    keep(client, read(tmp_path, [*NIGHTS, *OTHERS]))
    found = backtest(client, RULES, 0, FOREVER, only=["stage_slow", "stage_skew"])
    by_rule = {rule.rule: {job.job_key: job for job in rule.jobs} for rule in found.rules}
    slow, skew = by_rule["stage_slow"]["nightly_orders"], by_rule["stage_skew"]["other"]

    assert set(by_rule) == {"stage_slow", "stage_skew"}
    assert (slow.runs, slow.judged, slow.critical, slow.warning, slow.stages) == (10, 5, 0, 2, 2)
    assert slow.silenced == 0
    assert slow.per_100_runs == 40.0
    assert (skew.runs, skew.judged, skew.warning, skew.stages, skew.per_100_runs) == (1, 1, 1, 1, 100.0)


def test_runs_in_which_a_rule_is_only_a_symptom_are_counted(client: Client, tmp_path: Path):
    """A slow stage is a symptom if the alert of its application is critical, which needs five weeks of history."""
    weekly = [nightly(7 * week, wall) for week, wall in enumerate([60_000, 62_000, 58_000, 61_000, 59_000, 63_000])]
    keep(client, read(tmp_path, [*weekly, nightly(42, 1_900_000)]))
    found = backtest(client, RULES, 0, FOREVER, only=["stage_slow"])
    (slow,) = found.rules[0].jobs

    assert (slow.critical, slow.warning, slow.silenced, slow.stages) == (0, 0, 1, 1)


def test_runs_before_since_only_add_samples(client: Client, tmp_path: Path):
    """Runs before --since add training samples, but are not evaluated."""
    keep(client, read(tmp_path, [*NIGHTS, nightly(9, 190_000)]))
    found = backtest(client, RULES, START_MS + 8 * DAY_MS, FOREVER, job_key="nightly_orders")

    assert (found.runs, counts_by_rule(found)["stage_slow"]) == (1, (0, 1, 0))
    assert backtest(client, RULES, START_MS + 10 * DAY_MS, FOREVER).runs == 0


def test_undecidable_rules_are_listed_with_reason(client: Client, tmp_path: Path):
    """Rules that a backtest cannot evaluate, such as rules on running tasks, are listed with the reason."""
    keep(client, read(tmp_path, NIGHTS[:2]))
    undecided = {rule.rule: rule.not_decidable for rule in backtest(client, RULES, 0, FOREVER).rules}

    assert undecided["task_stuck"] == "needs the view task_live, which history does not contain"
    assert undecided["deadline_at_risk"].startswith("needs columns that exist only while an application runs: ")
    reason = "no run has all columns of the rule: elapsed_ms, baseline_runs, expected_ms, "
    assert undecided["stage_slow"].startswith(reason)
    assert undecided["stage_skew"] is None


def test_stopped_counts_only_matching_needs_in_time(client: Client, tmp_path: Path):
    """A run counts as stopped by the fuse only if it meets the conditions of the rule's fuse policy in time."""
    keep(client, read(tmp_path, [SPILLED]))
    spill = CATALOG["stage_spill"]

    def stopped(after_ms: int, need: str, severity: str = "warning") -> int | None:
        rule = dataclasses.replace(spill, fuse=FusePolicy(("cancel_stage",), after_ms, (need,), severity=severity))
        (found,) = backtest(client, [rule], 0, FOREVER).rules
        assert (found.action, found.total().warning) == ("cancel_stage", 1)
        return found.total().stopped

    assert stopped(15_000, "disk_spilled_bytes >= :min_spilled_bytes") == 1
    assert stopped(25_000, "disk_spilled_bytes >= :min_spilled_bytes") == 0
    assert stopped(0, "disk_spilled_bytes >= 1000000000000") == 0
    assert stopped(15_000, "disk_spilled_bytes >= :min_spilled_bytes", severity="critical") == 0
    (unarmed,) = backtest(client, [spill], 0, FOREVER).rules
    assert unarmed.total().stopped is None


def live_rows(app_id: str) -> list[LiveRow]:
    """Return the last rows of a run that was only observed live, as the windows job writes them."""
    envelope: dict[str, Any] = {
        "app_id": app_id,
        "app_attempt": 0,
        "app_start_ms": START_MS,
        "completeness": 1.0,
        "cluster": "test",
    }
    end = START_MS + 40_000
    stage = StageLive(
        stage_id=4, stage_attempt=0, status="succeeded", num_tasks=16, finished_tasks=16, succeeded_tasks=16,
        elapsed_ms=31_000, biggest_task_index=15, biggest_task_bytes=90_000_000, biggest_task_ms=31_000,
        duration_p50_ms=1_000, task_bytes_p50=1_000_000, bytes_ratio=90.0, lost_ms=30_000, lost_share=0.97,
        work_bytes=105_000_000, disk_spilled_bytes=0,
    )  # fmt: skip
    whole = AppLive(
        name="orders", status="succeeded", ended_ms=end, elapsed_ms=40_000, failed_jobs=0, finished_tasks=16
    )
    return [
        LiveRow(**envelope, view="stage_live", row_seq=1, window_end_ms=end, stage=stage),
        LiveRow(**envelope, view="app_live", row_seq=2, window_end_ms=end, application=whole),
    ]


def test_run_without_log_is_evaluated_by_live_rows(client: Client):
    """Without a log, skew is evaluated, but slowness is not, because the stage has no fingerprint."""
    store(client, "live", [row.SerializeToString() for row in live_rows("app-live")])
    found = backtest(client, RULES, 0, FOREVER)
    undecided = {rule.rule for rule in found.rules if rule.not_decidable}

    assert (found.runs, found.jobs) == (1, 1)
    assert counts_by_rule(found) == {"stage_skew": (0, 1, 0)}
    assert {"stage_slow", "python_udf_heavy"} < undecided


def test_run_with_log_and_live_rows_counts_once(client: Client, tmp_path: Path):
    """A run with a log and live rows is evaluated once, from its log, because only the log has fingerprints."""
    run = Run([Stage(4, [*even(1_000, 15), Task(31_000, 90_000_000)])], app_id="app-live")
    keep(client, read(tmp_path, [run]))
    store(client, "live", [row.SerializeToString() for row in live_rows("app-live")])
    found = backtest(client, RULES, 0, FOREVER)

    assert found.runs == 1
    assert counts_by_rule(found) == {"stage_skew": (0, 1, 0)}


def test_older_store_asks_for_migration(client: Client, tmp_path: Path):
    """If the store lacks new columns, the error asks the user to migrate the store."""
    keep(client, read(tmp_path, NIGHTS[:1]))
    client.command("ALTER TABLE logged_stages DROP COLUMN slowest_task_ms")

    with pytest.raises(StoreOlderError, match="start the loader, or run the store's migration"):
        backtest(client, RULES, 0, FOREVER)


def test_store_without_tables_is_an_error(settings: Settings):
    """If the store has no tables, the error is one sentence."""
    with pytest.raises(StoreEmptyError, match="no tables yet"):
        backtest(connect(settings), RULES, 0, FOREVER)


@pytest.fixture(scope="module")
def lately(module_settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return an environment with the address of a store that has runs of the last days."""
    client = connect(module_settings)
    migrate(client)
    first = int(time.time() * 1000) - 9 * DAY_MS
    runs = [dataclasses.replace(run, start_ms=first + place * DAY_MS) for place, run in enumerate(NIGHTS)]
    runs.append(dataclasses.replace(nightly(8, 190_000), start_ms=first + 8 * DAY_MS))
    keep(client, read(tmp_path_factory.mktemp("lately"), runs))
    return {**os.environ, "SPARKFUSE_CLICKHOUSE_URL": module_settings.clickhouse_url}


def ask(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", "rules", "backtest", *arguments],
        capture_output=True, text=True, check=False, env={**environment, "COLUMNS": "160"},
    )  # fmt: skip


def test_json_output_is_one_document(lately: dict[str, str]):
    """The JSON document has the totals of each rule and its jobs."""
    done = ask(lately, "--since", "2d", "--rule", "stage_slow", "--json")
    document = json.loads(done.stdout)
    (rule,) = document["rules"]

    assert (done.returncode, document["runs"], document["jobs"]) == (0, 1, 1)
    assert {name: rule[name] for name in ("rule", "judged", "warning", "per_100_runs", "stopped")} == {
        "rule": "stage_slow", "judged": 1, "warning": 1, "per_100_runs": 100.0, "stopped": None,
    }  # fmt: skip
    assert [job["job_key"] for job in rule["by_job"]] == ["nightly_orders"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--since", "soon"], "--since must be a duration such as 30m, 12h, 7d or 8w, but is 'soon'"),
        (["--rule", "stage_slwo"], "there is no rule 'stage_slwo'; the rules are: "),
    ],
)
def test_invalid_argument_is_one_sentence(lately: dict[str, str], arguments: list[str], said: str):
    """An invalid argument prints one sentence and exits with 2."""
    done = ask(lately, *arguments)

    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())


def documented() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "docs" / "backtest.md").read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("command", documented())
def test_examples_of_the_documentation_run(lately: dict[str, str], command: str):
    """The commands in the documentation work as printed."""
    environment = {**lately, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "COLUMNS": "160"}
    done = subprocess.run(command, shell=True, env=environment, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "stage_slow" in done.stdout
