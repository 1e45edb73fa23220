from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import Facts, create_topics, ended_tasks
from tests.integration.collectors.stoppable_broker import StoppableBroker
from tests.waiting import wait_for


def _outage(run_job: Callable, broker: StoppableBroker, tmp_path: Path, topics: str, tasks: int, seconds: float):
    flag = tmp_path / "flag"
    create_topics(broker.bootstrap, topics)
    job = run_job(
        "spark35",
        "steady_job.py",
        broker.bootstrap,
        topics,
        spark__test__flag=str(flag),
        spark__test__tasks="500",
        spark__sparkfuse__health__interval="1s",
        spark__ui__enabled="false",
    )
    with closing(Facts(broker.bootstrap, topics)) as facts:
        wait_for(lambda: facts.of("task_ended"), 120, "facts before the outage")
    broker.stop()
    before, began = ended_tasks(job), time.monotonic()
    wait_for(
        lambda: ended_tasks(job) >= before + tasks and time.monotonic() - began > seconds,
        seconds + 400,
        f"{tasks} tasks without the broker",
    )
    away = ended_tasks(job) - before, time.monotonic() - began
    broker.start()
    print(f"away for {away[1]:.0f} s, {away[0]} tasks ended meanwhile, {away[0] / away[1]:.0f} a second")
    with closing(Facts(broker.bootstrap, topics)) as facts:
        # The topic also contains health facts from before the outage, when the state was closed.
        wait_for(lambda: any(each.protection != "closed" for each in facts.of("collector_health")), 120, "the outage")
        wait_for(lambda: facts.of("collector_health")[-1].protection == "closed", 120, "the end of the outage")
        wait_for(lambda: facts.of("collector_health")[-1].queued < 2_000, 240, "the waiting records")
        flag.touch()
        job.wait_for_line("STOPPED")
        assert job.ended() == 0
        assert job.wait_for_line("SUM") == "499500"
        _check_only_starts_are_missing(facts, ended_tasks(job))


def _check_only_starts_are_missing(facts: Facts, tasks: int) -> None:
    numbers = next(seen for (name, lane), seen in facts.numbers().items() if (name[:6], lane) == ("driver", "reserved"))
    ids = [task.task_id for task in facts.of("task_ended")]
    health = facts.of("collector_health")

    assert numbers == list(range(len(numbers))), "each end and failure once, in order"
    assert len(ids) >= tasks
    assert sorted(ids) == list(range(len(ids)))
    assert (health[-1].dropped_reserved, health[-1].send_errors, health[-1].faults) == (0, 0, 0)
    reasons = {each.protection_reason for each in health if each.protection != "closed"}
    assert reasons == {"send errors"}, "the outage is reported"
    print(
        f"most waiting {max(each.queued_bytes for each in health) / 1e6:.1f} MB, starts lost {health[-1].dropped_bulk}"
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_guarantee_02_outage_of_seconds_loses_no_end(run_job, broker, tmp_path, topic_prefix):
    """No task end is lost in an outage of ten seconds with 5,000 tasks."""
    _outage(run_job, broker, tmp_path, topic_prefix, 5_000, 10)


@pytest.mark.timeout(1_200)
@pytest.mark.long
def test_long_guarantee_02_outage_of_a_minute_loses_no_end(run_job, broker, tmp_path, topic_prefix):
    """No task end is lost in an outage of one minute with 120,000 tasks."""
    _outage(run_job, broker, tmp_path, topic_prefix, 120_000, 60)
