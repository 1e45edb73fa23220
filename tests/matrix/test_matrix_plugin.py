"""Tests the core guarantees of the plugin on each supported version of Spark: `make test-matrix`."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.integration.collectors.spark_runs import ENVIRONMENTS
from tests.waiting import wait_for

VERSIONS = {"spark33": "3.3", "spark34": "3.4", "spark35": "3.5", "spark40": "4.0", "spark4": "4."}
TASKS_OF_A_STAGE = 20


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    if not ENVIRONMENTS[request.param].exists():
        pytest.skip(f"no environment {request.param}: make test-matrix creates it")
    return request.param


@pytest.mark.timeout(600)
def test_guarantee_08_one_jar_reports_all_facts_of_a_job(run_job, facts, topics, kafka_bootstrap, tmp_path, version):
    """With separate executors, no fact is missing, repeated or wrong, and the plugin has no error."""
    flag = tmp_path / "flag"
    job = run_job(
        version,
        "steady_job.py",
        kafka_bootstrap,
        topics,
        spark__master="local-cluster[1,2,700]",
        spark__executor__memory="600m",
        spark__test__flag=str(flag),
        spark__test__tasks=str(TASKS_OF_A_STAGE),
    )
    wait_for(lambda: facts.of("executor_sample") and facts.of("task_ended"), 240, "facts of driver and executor")
    flag.touch()
    job.wait_for_line("STOPPED")
    kinds = Counter(fact.WhichOneof("kind") for fact in facts.all())
    stages = [line for line in job.lines if line.startswith("ENDED")]
    tasks = len(stages) * TASKS_OF_A_STAGE

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    assert facts.of("application_started")[0].spark_version.startswith(VERSIONS[version])
    assert kinds["application_started"] == kinds["application_ended"] == 1
    assert kinds["task_ended"] >= kinds["task_started"]
    assert kinds["task_ended"] >= tasks + 4
    assert kinds["job_started"] == kinds["job_ended"] > len(stages)
    assert kinds["stage_started"] == kinds["stage_ended"] >= kinds["job_ended"]
    assert kinds["sql_started"] == kinds["sql_ended"] >= 1
    assert all(stage.succeeded for stage in facts.of("stage_ended"))
    assert all(task.has_metrics and task.outcome == "success" for task in facts.of("task_ended"))
    for lane, numbers in facts.numbers().items():
        assert numbers == list(range(len(numbers))), lane
    health = facts.of("collector_health")[-1]
    assert (health.faults, health.dropped_bulk, health.dropped_reserved, health.passed_over) == (0, 0, 0, 0)
    assert health.HasField("spark_dropped_events")


@pytest.mark.timeout(600)
def test_guarantee_07_file_switches_collector_off_at_run_time(
    run_job, facts, topics, kafka_bootstrap, tmp_path, version
):
    """In local mode, the collector can be stopped, and the job continues and succeeds."""
    flag, switch = tmp_path / "flag", tmp_path / "off"
    job = run_job(
        version,
        "steady_job.py",
        kafka_bootstrap,
        topics,
        spark__test__flag=str(flag),
        spark__sparkfuse__switchFile=str(switch),
        spark__sparkfuse__health__interval="200ms",
    )
    wait_for(lambda: facts.of("task_ended"), 240, "facts")
    switch.touch()
    wait_for(lambda: facts.of("collector_health")[-1].protection_reason == "switched off", 60, "a health fact")
    wait_for(lambda: facts.of("collector_health")[-1].passed_over > 20, 60, "skipped events")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    assert len(facts.of("application_ended")) == 1
