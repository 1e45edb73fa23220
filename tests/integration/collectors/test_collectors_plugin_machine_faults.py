"""Tests real faults on the host of a driver: a changed system clock, a dead client thread, a full disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import QUICK_START
from tests.waiting import wait_for

HOUR_MS = 3_600_000


@pytest.fixture
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that shifts the system time of Spark's JVM by a number of seconds."""
    library, offset, settings = tmp_path / "libset_clock.so", tmp_path / "offset", tmp_path / "conf"
    source = Path(__file__).parent / "set_clock.rs"
    options = ["--edition", "2021", "-O", "--crate-type", "cdylib", "-C", "panic=abort"]
    subprocess.run(["rustc", *options, "-o", str(library), str(source)], check=True, timeout=300)
    settings.mkdir()
    faked = {"LD_PRELOAD": library, "CLOCK_OFFSET_FILE": offset}
    (settings / "spark-env.sh").write_text("".join(f"export {name}='{value}'\n" for name, value in faked.items()))
    monkeypatch.setenv("SPARK_CONF_DIR", str(settings))

    def set_to(seconds: int) -> None:
        new = tmp_path / "offset.new"
        new.write_text(f"{seconds}\n")
        new.rename(offset)

    set_to(0)
    return set_to


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("hours", [6, -6])
def test_clock_change_by_hours_loses_no_fact(run_job, facts, kafka_bootstrap, topics, tmp_path, clock, hours):
    """If the clock changes, the job succeeds and no fact is lost.

    No task seems stalled, and self-protection is `closed`.
    """
    flag = tmp_path / "flag"
    job = run_job(
        "spark35", "steady_job.py", kafka_bootstrap, topics,
        spark__test__flag=str(flag), spark__sparkfuse__health__interval="1s",
    )  # fmt: skip
    wait_for(lambda: facts.of("task_ended"), 120, "facts before the jump")
    clock(hours * 3_600)

    def after_the_jump() -> list:
        then_ms = _now_ms() + hours * HOUR_MS
        return [fact for fact in facts.all() if abs(fact.event_time_ms - then_ms) < HOUR_MS]

    wait_for(lambda: len({fact.WhichOneof("kind") for fact in after_the_jump()}) > 5, 120, "facts after the jump")
    clock(0)
    wait_for(lambda: abs(facts.all()[-1].event_time_ms - _now_ms()) < 60_000, 120, "facts with the original time")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    _check_all_facts_arrived(facts)
    assert {each.protection for each in facts.of("collector_health")} == {"closed"}
    assert max((task.stalled_ms for task in facts.of("task_progress")), default=0) < 60_000


@pytest.mark.timeout(600)
def test_kafka_client_with_dead_thread_is_replaced(run_job, facts, kafka_bootstrap, topics, tmp_path):
    """The plugin replaces a Kafka client whose thread has died.

    A client without its thread reports no error and accepts records until its buffer is full.
    """
    kill, flag = tmp_path / "kill", tmp_path / "flag"
    job = run_job(
        "spark35", "dead_client.py", kafka_bootstrap, topics,
        spark__test__kill=str(kill), spark__test__flag=str(flag), spark__sparkfuse__health__interval="1s",
    )  # fmt: skip
    # If an Error ends the thread while it loads a class, the class stays unusable for every other client.
    wait_for(lambda: facts.of("task_ended"), 120, "facts before the thread dies")
    kill.touch()
    job.wait_for_line("DEAD")
    dead_ms = _now_ms()
    wait_for(lambda: [fact for fact in facts.all() if fact.event_time_ms > dead_ms], 120, "facts of a new client")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    assert "another one will be created" in job.text()
    _check_all_facts_arrived(facts)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 512 kB and yield its folder."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a file system")
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "none", folder], check=True, timeout=60)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True, timeout=60)


@pytest.mark.timeout(600)
def test_full_disk_truncates_only_the_event_log(run_job, facts, kafka_bootstrap, topics, tmp_path, small_disk):
    """If the disk is full, only the event log is truncated, and `analyze` reports this.

    The plugin writes no file, so no live fact is lost.
    """
    flag, logs = tmp_path / "flag", small_disk / "logs"
    logs.mkdir()
    job = run_job(
        "spark35", "steady_job.py", kafka_bootstrap, topics,
        spark__test__flag=str(flag), spark__sparkfuse__health__interval="1s", spark__eventLog__enabled="true",
        spark__eventLog__dir=logs.as_uri(), spark__local__dir=str(tmp_path / "local"),
        spark__driver__extraJavaOptions=f"{QUICK_START} -Djava.io.tmpdir={small_disk}",
    )  # fmt: skip
    wait_for(lambda: facts.of("task_ended"), 120, "facts before the disk is full")
    wait_for(lambda: os.statvfs(small_disk).f_bavail == 0, 120, "the event log to fill the disk")
    full_ms = _now_ms()
    wait_for(lambda: [fact for fact in facts.all() if fact.event_time_ms > full_ms + 2_000], 120, "facts after that")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    _check_all_facts_arrived(facts)
    health = facts.of("collector_health")[-1]
    assert (health.dropped_reserved, health.send_errors, health.faults, health.protection) == (0, 0, 0, "closed")
    assert sorted(task.task_id for task in facts.of("task_ended")) == list(range(len(facts.of("task_ended"))))
    command = [sys.executable, "-m", "sparkfuse.main", "analyze", "--json", *map(str, logs.iterdir())]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    evidence = json.loads(done.stdout)["evidence"]
    assert (evidence["truncated"], evidence["complete"]) == (True, False), done.stderr


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _check_all_facts_arrived(facts) -> None:
    """Check that each number of a lane arrived or is counted as lost, and that the end of the application arrived."""
    last = facts.of("collector_health")[-1]
    numbers = {lane: seen for (name, lane), seen in facts.numbers().items() if name.startswith("driver")}

    assert len(facts.of("application_ended")) == 1
    for lane, lost in (("reserved", last.dropped_reserved), ("bulk", last.dropped_bulk)):
        assert len(set(numbers[lane])) == len(numbers[lane])
        assert max(numbers[lane]) + 1 - len(numbers[lane]) <= lost + last.passed_over + last.send_errors
