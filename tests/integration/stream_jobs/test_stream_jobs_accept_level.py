"""Tests `sparkfuse baselines accept` with a real broker, and that the detect job honours it while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sparkfuse.commands.baselines import accept
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.generated.live_pb2 import AppLive, LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.detect.baseline_backfill import update_baselines
from sparkfuse_stream_jobs.detect.baseline_bootstrap import BaselineFollower
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline
from sparkfuse_stream_jobs.detect.baselines import JobBaselines, add_expectations, learn_sample
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.kafka import settings_of
from tests.waiting import wait_for

DAY_MS, USUAL_MS = 24 * 3_600_000, 1_800_000
KEY = BaselineKey("prod", "orders", "nightly", "application")


def sample_of_run(number: int, job_key: str = "nightly") -> Baseline:
    """Return the sample of a daily run; from the thirtieth run on, the job takes twice as long."""
    wall_ms = (2 if number >= 30 else 1) * USUAL_MS + 1_000 * (number % 5)
    ended_ms = number * DAY_MS + wall_ms
    version = "3.5.1" if number < 30 else "4.0.0"
    sample = BaselineSample(run_key=f"run-{number}", learned_ms=ended_ms, wall_ms=wall_ms, cpu_ms=3 * wall_ms,
                            work_bytes=10**9, num_tasks=200, spark_version=version)  # fmt: skip
    return Baseline(cluster="prod", tenant="orders", job_key=job_key, stage_fingerprint="application",
                    stage_name="application", updated_ms=ended_ms, samples=[sample])  # fmt: skip


def row_of_run(number: int, wall_ms: int = 2 * USUAL_MS) -> LiveRow:
    application = AppLive(status="succeeded", elapsed_ms=wall_ms, finished_cpu_ms=3 * wall_ms, work_bytes=10**9)
    return LiveRow(cluster="prod", tenant="orders", job_key="nightly", app_start_ms=number * DAY_MS,
                   application=application)  # fmt: skip


@pytest.fixture
def settings(kafka_bootstrap: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("SPARKFUSE_KAFKA_BOOTSTRAP", kafka_bootstrap)
    monkeypatch.setenv("SPARKFUSE_TOPIC_PREFIX", topic_prefix)
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    return replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)


def test_accepted_level_resolves_in_a_running_job(settings, tmp_path, capsys):
    """The command makes the longer duration the reference: in a running job, after its next run, and in its topic."""
    samples = [sample_of_run(number) for number in range(36)]
    assert update_baselines(settings, {key_of_baseline(samples[0]): samples}) == 1
    follower = BaselineFollower(settings)
    try:
        job = JobBaselines(InMemoryMapState(), follower)
        before = add_expectations(row_of_run(36), job).application
        accept("nightly", home=tmp_path, cluster="prod", tenant="orders", as_json=True)
        printed = json.loads(capsys.readouterr().out)
        wait_for(lambda: not add_expectations(row_of_run(36), job).application.HasField("level_ratio"), 60, "the level")
        after_a_run = learn_sample(sample_of_run(36), job)
        later = [add_expectations(row_of_run(37, wall_ms), job).application for wall_ms in (2 * USUAL_MS, 4 * USUAL_MS)]
    finally:
        follower.close()

    assert before.level_ratio == pytest.approx(2.0, rel=0.05)
    assert before.level_changes == "Spark 3.5.1 → 4.0.0; CPU time 2.0 times"
    assert (printed["runs"], round(printed["ratio"], 1)) == (6, 2.0)
    assert after_a_run.accepted_ms > 0
    assert sum(each.reference for each in after_a_run.samples) == 7
    assert not any(each.HasField("level_ratio") for each in later)
    with pytest.raises(StartError, match="nothing to accept") as refused:
        accept("nightly", home=tmp_path, cluster="prod", tenant="orders")
    assert refused.value.exit_code == USAGE


def test_unknown_job_is_an_error(settings, tmp_path):
    """For a job without a baseline, such as one of another tenant, the error names job, cluster and tenant."""
    samples = [sample_of_run(number) for number in range(36)]
    update_baselines(settings, {KEY: samples})

    with pytest.raises(StartError, match="no baseline of the job 'nightly' in cluster 'default'") as refused:
        accept("nightly", home=tmp_path, cluster="default", tenant="orders")
    assert refused.value.exit_code == USAGE


def test_missing_broker_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free_port: Callable[[], int]):
    """Without a broker, the command ends with one sentence."""
    port = free_port()
    monkeypatch.setenv("SPARKFUSE_KAFKA_BOOTSTRAP", f"127.0.0.1:{port}")
    monkeypatch.setattr("sparkfuse_stream_jobs.detect.baseline_bootstrap.READ_SECONDS", 2.0)

    with pytest.raises(StartError, match=str(port)) as refused:
        accept("nightly", home=tmp_path, cluster="prod", tenant="orders")
    assert refused.value.exit_code == MISSING
