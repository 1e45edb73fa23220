"""Tests the fallback Kafka cluster of the plugin with real Spark and two real brokers."""

from __future__ import annotations

import time
from collections import Counter
from contextlib import closing
from functools import partial

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from sparkfuse_contracts.generated.fact_pb2 import Fact
from tests.integration.collectors.broker_states import closed_port
from tests.integration.collectors.spark_runs import CLIENT_STOP_SECONDS, Facts, create_topics, ended_tasks
from tests.waiting import wait_for

TASKS_AWAY = 3_000
"""Number of tasks that end while the first cluster is away."""


def _last_health(facts: Facts):
    """Return the newest health of the driver's collector in a cluster, or None."""
    found = [fact for fact in facts.all() if fact.WhichOneof("kind") == "collector_health"]
    return max(found, key=lambda fact: fact.seq).collector_health if found else None


def _missing(records: list[Fact]) -> list[int]:
    """Return the numbers of the driver's reserved lane that no record has."""
    seen = {fact.seq for fact in records if (fact.collector[:6], fact.lane) == ("driver", "reserved")}
    return sorted(set(range(max(seen) + 1)) - seen)


def _limit_records(bootstrap: str, topic: str, limit: str) -> None:
    """Set the size of the largest batch that a topic accepts, in bytes."""
    entry = ConfigEntry("max.message.bytes", limit, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=[entry])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(60)


def _check_log(text: str, home: str, fallback: str) -> None:
    assert f"Kafka at {home} accepts no records; records go to the fallback at {fallback}" in text
    assert f"Kafka at {home} accepts records again; the fallback acknowledged" in text
    assert "were not sent to Kafka" not in text


@pytest.mark.timeout(900)
@pytest.mark.parametrize("outage", ["killed", pytest.param("refusing", marks=pytest.mark.long)])
def test_guarantee_15_facts_go_to_fallback_and_return(
    run_job, broker, kafka_bootstrap, facts, topics, tmp_path, outage
):
    """The first broker is killed or refuses all records during a job, and returns: each fact is in one of the clusters.

    The counters of the plugin state how many records each cluster stored, and the job continues meanwhile.
    """
    changes = {"first away": broker.kill, "first back": broker.start}
    if outage == "refusing":
        limits = {"first away": "1", "first back": "1048588"}
        changes = {
            name: partial(_limit_records, broker.bootstrap, f"{topics}.facts", limit) for name, limit in limits.items()
        }
    flag = tmp_path / "flag"
    create_topics(broker.bootstrap, topics)
    job = run_job(
        "spark35",
        "steady_job.py",
        broker.bootstrap,
        topics,
        spark__log__level="INFO",
        spark__test__flag=str(flag),
        spark__test__tasks="100",
        spark__sparkfuse__health__interval="1s",
        spark__sparkfuse__kafka__fallback__bootstrap=kafka_bootstrap,
    )
    with closing(Facts(broker.bootstrap, topics)) as home:
        wait_for(lambda: home.of("task_ended"), 120, "facts before the outage")
        assert not facts.all()
    rates = {}
    for name, change in changes.items():
        change()
        before, began = ended_tasks(job), time.monotonic()
        wait_for(lambda before=before: ended_tasks(job) >= before + TASKS_AWAY, 300, f"{TASKS_AWAY} tasks")
        rates[name] = round(TASKS_AWAY / (time.monotonic() - began))
        if name == "first away":
            wait_for(lambda: (last := _last_health(facts)) and last.on_fallback, 120, "a health fact on the fallback")
            assert _last_health(facts).protection == "closed"
    with closing(Facts(broker.bootstrap, topics)) as home:
        wait_for(lambda: _last_health(home).fallback_acknowledged > 0, 120, "the return to the first cluster")
        flag.touch()
        job.wait_for_line("STOPPED")
        assert job.ended() == 0
        assert job.wait_for_line("SUM") == "499500"
        records = home.all() + facts.all()
        health = _last_health(home)
    ids = Counter(fact.event_id for fact in records)
    tasks = {fact.task_ended.task_id for fact in records if fact.HasField("task_ended")}
    print(f"tasks a second {rates}, records {len(records)}, twice {len(records) - len(ids)}, resent {health.resent}")

    assert _missing(records) == []
    assert sorted(tasks) == list(range(len(tasks)))
    assert len(tasks) >= ended_tasks(job)
    assert len(records) - len(ids) <= health.resent
    assert health.acknowledged + 1 == len(ids), "all but the last health fact itself"
    assert health.fallback_acknowledged == len(facts.all())
    assert (health.on_fallback, health.dropped_reserved, health.send_errors, health.faults) == (False, 0, 0, 0)
    _check_log(job.text(), broker.bootstrap, kafka_bootstrap)


@pytest.mark.timeout(600)
def test_guarantee_15_first_cluster_away_at_start_loses_nothing(run_job, facts, topics, kafka_bootstrap):
    """If the first cluster is away during the whole job, the fallback has all facts of the driver.

    An executor that sends directly uses the fallback too.
    """
    job = run_job(
        "spark35",
        "small_job.py",
        f"127.0.0.1:{closed_port()}",
        topics,
        spark__sparkfuse__kafka__fallback__bootstrap=kafka_bootstrap,
        spark__sparkfuse__executor__transport="direct",
    )
    stopped = float(job.wait_for_line("STOPPED"))

    assert job.ended() == 0
    assert stopped < CLIENT_STOP_SECONDS
    records = facts.all()
    kinds = Counter(fact.WhichOneof("kind") for fact in records)
    assert (kinds["application_started"], kinds["application_ended"]) == (1, 1)
    assert kinds["executor_sample"] > 0
    assert {fact.collector.partition("-")[0] for fact in records} == {"driver", "executor"}
    assert _missing(records) == []
    assert len({fact.event_id for fact in records}) == len(records)
    assert "were not sent to Kafka" not in job.text()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_guarantee_15_both_clusters_away_is_logged(run_job, facts, topics):
    """If both clusters are away, the job succeeds, stops in time, and logs the number of records that were lost."""
    first, second = f"127.0.0.1:{closed_port()}", f"127.0.0.1:{closed_port()}"
    job = run_job("spark35", "small_job.py", first, topics, spark__sparkfuse__kafka__fallback__bootstrap=second)
    stopped = float(job.wait_for_line("STOPPED"))

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "9900"
    assert stopped < CLIENT_STOP_SECONDS
    assert not facts.all()
    assert "records were not sent to Kafka: " in job.text()
