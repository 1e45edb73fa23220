from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from tests.integration.collectors.spark_runs import ROOT, Facts, create_topics
from tests.waiting import wait_for


class StoppableBroker:
    """A real broker that can go away and come back with its data, at the same address."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout.from_environment(folder, Ports.free(), environment={})
        self._service = Broker(self._layout, ROOT / "build" / "kafka-libs").service()
        self.bootstrap = self._layout.kafka_bootstrap
        self._process: Process | None = None

    def start(self) -> None:
        self._process = Process(self._service, self._layout.logs / "kafka.log")
        wait_for(self._service.ready, self._service.ready_seconds, "the broker")

    def stop(self) -> None:
        if self._process:
            self._process.stop()
            self._process = None


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[StoppableBroker]:
    own = StoppableBroker(tmp_path / "kafka")
    own.start()
    yield own
    own.stop()


def ended(job) -> int:
    """How many tasks of the job have ended, as it says itself."""
    said = [line for line in job.lines if line.startswith("ENDED")]
    return int(said[-1].split()[1]) if said else 0


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
    before, began = ended(job), time.monotonic()
    wait_for(
        lambda: ended(job) >= before + tasks and time.monotonic() - began > seconds,
        seconds + 400,
        f"{tasks} tasks without the broker",
    )
    away = ended(job) - before, time.monotonic() - began
    broker.start()
    print(f"away for {away[1]:.0f} s, {away[0]} tasks ended meanwhile, {away[0] / away[1]:.0f} a second")
    with closing(Facts(broker.bootstrap, topics)) as facts:
        # What was told before the outage is in the topic, too, and said that all was well.
        wait_for(lambda: any(each.protection != "closed" for each in facts.of("collector_health")), 120, "the outage")
        wait_for(lambda: facts.of("collector_health")[-1].protection == "closed", 120, "the broker to be found again")
        wait_for(lambda: facts.of("collector_health")[-1].queued < 2_000, 240, "what waited to be sent")
        flag.touch()
        job.said("STOPPED")
        assert job.ended() == 0
        assert job.said("SUM") == "499500"
        _nothing_but_starts_is_missing(facts, ended(job))


def _nothing_but_starts_is_missing(facts: Facts, tasks: int) -> None:
    numbers = next(seen for (name, lane), seen in facts.numbers().items() if (name[:6], lane) == ("driver", "reserved"))
    ids = [task.task_id for task in facts.of("task_ended")]
    health = facts.of("collector_health")

    assert numbers == list(range(len(numbers))), "each end and failure once, in order"
    assert len(ids) >= tasks
    assert sorted(ids) == list(range(len(ids)))
    assert (health[-1].dropped_reserved, health[-1].send_errors, health[-1].faults) == (0, 0, 0)
    told = {each.protection_reason for each in health if each.protection != "closed"}
    assert told == {"send errors"}, "the outage is told"
    print(
        f"most waiting {max(each.queued_bytes for each in health) / 1e6:.1f} MB, starts lost {health[-1].dropped_bulk}"
    )


@pytest.mark.long
@pytest.mark.timeout(600)
def test_guarantee_02_no_end_is_lost_while_the_broker_is_away(run_job, broker, tmp_path, topic_prefix):
    """Ten seconds, and 5,000 tasks."""
    _outage(run_job, broker, tmp_path, topic_prefix, 5_000, 10)


@pytest.mark.timeout(1_200)
@pytest.mark.long
def test_long_guarantee_02_no_end_is_lost_in_a_minute_of_2000_tasks_a_second(run_job, broker, tmp_path, topic_prefix):
    """A minute, and as many tasks as 2,000 a second would be."""
    _outage(run_job, broker, tmp_path, topic_prefix, 120_000, 60)
