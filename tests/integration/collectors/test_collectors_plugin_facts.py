from __future__ import annotations

import json
from collections import Counter

import pytest

from tests.integration.collectors.spark_runs import CLIENT_STOP_SECONDS


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("version", "master", "transport"),
    [
        ("spark35", "local-cluster[1,2,700]", "rpc"),
        pytest.param("spark4", "local[2]", "direct", marks=pytest.mark.long),
        pytest.param("spark35", "local-cluster[2,1,700]", "direct", marks=pytest.mark.long),
    ],
)
def test_facts_agree_with_counters_of_spark(run_job, facts, kafka_bootstrap, topics, version, master, transport):
    """The facts are complete and agree with Spark's status store.

    The last facts arrive before `stop` returns.
    """
    job = run_job(
        version,
        "small_job.py",
        kafka_bootstrap,
        topics,
        spark__sparkfuse__job="orders/{spark.app.name}/{spark.my.password}",
        spark__sparkfuse__executor__transport=transport,
        spark__master=master,
        spark__executor__memory="600m",
        spark__sparkfuse__sampel__interval="1s",
        spark__my__password="hunter2",
    )
    counted = json.loads(job.wait_for_line("COUNTED"))
    job.wait_for_line("STOPPED")
    kinds = Counter(fact.WhichOneof("kind") for fact in facts.all())

    assert job.ended() == 0
    assert job.wait_for_line("RESULT") == json.dumps([1429, 1429, 1429, 1429, 1428, 1428, 1428])
    assert kinds["application_started"] == kinds["application_ended"] == 1
    assert {fact.job_id: fact.succeeded for fact in facts.of("job_ended")} == {
        int(job_id): succeeded for job_id, succeeded in counted["jobs"].items()
    }
    assert {fact.stage_id: fact.num_tasks for fact in facts.of("stage_ended")} == {
        int(stage): tasks for stage, (tasks, _ended, _records) in counted["stages"].items()
    }
    ended: Counter[int] = Counter()
    records: Counter[int] = Counter()
    for task in facts.of("task_ended"):
        ended[task.stage_id] += 1
        records[task.stage_id] += task.shuffle_write_records
    assert ended == {int(stage): tasks for stage, (_tasks, tasks, _records) in counted["stages"].items()}
    assert records == {int(stage): records for stage, (_tasks, _ended, records) in counted["stages"].items()}
    assert {task.task_id for task in facts.of("task_started")} <= {task.task_id for task in facts.of("task_ended")}
    _check_numbers_and_ids(facts)
    _check_executors(facts, master)
    _check_identity_and_secrets(facts, version, job.text())


def _check_numbers_and_ids(facts) -> None:
    numbers = facts.numbers()
    assert {lane for _collector, lane in numbers} == {"bulk", "reserved"}
    for lane, seen in numbers.items():
        assert seen == list(range(len(seen))), lane
    ids = [fact.event_id for fact in facts.all()]
    assert {len(event_id) for event_id in ids} == {16}
    assert len(set(ids)) == len(ids)
    health = facts.of("collector_health")[-1]
    assert (health.dropped_bulk, health.dropped_reserved, health.send_errors, health.faults) == (0, 0, 0, 0)
    assert health.acknowledged > 0
    assert health.protection == "closed"


def _check_executors(facts, master: str) -> None:
    def seen(kind: str) -> set:
        # In local mode the scheduler and the block manager can use two names for the host.
        return {(fact.executor_id, "" if master.startswith("local[") else fact.host) for fact in facts.of(kind)}

    executors = seen("executor_added")
    drivers = {(executor, host) for executor, host in seen("executor_sample") if executor == "driver"}
    assert drivers, "the driver's JVM is sampled on a cluster as well"
    assert seen("executor_sample") | executors == executors | drivers
    assert seen("executor_sample") >= seen("task_progress") == executors == seen("task_ended")


def _check_identity_and_secrets(facts, version: str, log: str) -> None:
    application = facts.of("application_started")[0]
    assert dict(application.properties) == {"spark.app.name": "small", "spark.sparkfuse.job": "orders/small/unset"}
    assert application.spark_version.startswith("3.5" if version == "spark35" else "4.")
    assert "HashAggregate" in facts.of("sql_started")[0].plan_nodes
    stages = facts.of("stage_started")
    assert any("Exchange" in stage.scope_names for stage in stages)
    assert any(stage.parent_stage_ids for stage in stages)
    failed = [task for task in facts.of("task_ended") if task.outcome == "failed"]
    assert failed[0].failure_class.endswith("PythonException")
    assert "password=***" in failed[0].failure_reason
    assert "hunter2" not in str(facts.all())
    nearest = "the most similar known setting is spark.sparkfuse.sample.interval"
    assert f"unknown setting spark.sparkfuse.sampel.interval; {nearest}" in log


@pytest.mark.timeout(600)
def test_job_succeeds_without_broker(run_job, free_port):
    """Without a broker, the job succeeds and stops within the time limit."""
    job = run_job("spark35", "small_job.py", f"127.0.0.1:{free_port()}", "nobody", spark__sparkfuse__queue__facts="20")
    stopped = float(job.wait_for_line("STOPPED"))

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "9900"
    assert stopped < CLIENT_STOP_SECONDS
    assert "records were not sent to Kafka" in job.text()
