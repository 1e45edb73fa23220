"""Tests the analysis of the log of a real server, tests/logs/server.zstd, without logs of earlier runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.analysis import analyze
from sparkfuse_native_analytics.offline.application import read_application
from sparkfuse_native_analytics.offline.earlier_runs import training_samples
from sparkfuse_rules.compiled import rules_offline

LOG = Path(__file__).parents[2] / "logs" / "server.zstd"


def test_slow_query_of_a_real_server_is_found():
    """The query that waits seven times as long is the only slow one, although a query of another user failed."""
    application = read_application(find_logs(str(LOG)).logs[0])
    analysis = analyze(application, rules_offline())
    [finding] = [each for each in analysis["findings"] if each["rule"] == "stage_slow"]
    slowest = max(application.stages("stage_id", "elapsed_ms"), key=lambda stage: stage["elapsed_ms"] or 0)

    assert not application.ended_well
    assert (finding["severity"], finding["stage_id"]) == ("warning", slowest["stage_id"])
    assert finding["evidence"]["baseline_runs"] == 5
    assert finding["evidence"]["expected_ms"] == pytest.approx(4_100, rel=0.05)


def test_failed_query_of_a_real_server_is_not_learned():
    """The first five queries of each user are learned, but neither the failed query nor the application."""
    application = read_application(find_logs(str(LOG)).logs[0])
    queries = application.tables["sql_executions"].to_pylist()
    [failed] = [query["sql_execution_id"] for query in queries if query["failure_reason"]]
    learned = {each.sample.run_key.rpartition("#q")[2] for each in training_samples(application)}

    assert len(learned) == 10
    assert str(failed) not in learned
