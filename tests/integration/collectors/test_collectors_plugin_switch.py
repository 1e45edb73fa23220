from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparkfuse_native_analytics.fuse_controller.keys import SWITCH, ensure_key_pairs, private_key_file
from tests.waiting import wait_for


def collector(order: str, app_id: str, start_ms: str, key: Path, bootstrap: str, prefix: str, wait: int) -> dict:
    """Run `sparkfuse collector` and return its JSON output and its exit code."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sparkfuse.main",
            "collector",
            order,
            app_id,
            "--started-ms",
            start_ms,
            "--key",
            str(key),
            "--wait",
            str(wait),
            "--json",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap, "SPARKFUSE_TOPIC_PREFIX": prefix},
    )
    assert done.stdout, done.stderr
    return {"exit": done.returncode, **json.loads(done.stdout)}


@pytest.mark.timeout(600)
def test_guarantee_07_command_switches_collector_off_and_on(run_job, facts, topics, kafka_bootstrap, tmp_path):
    """The command switches the collector off and on even if the fuse is off.

    A command for another run is refused, and a command with an unknown key gets no answer. Skipped events leave gaps in
    the sequence numbers.
    """
    public_keys = ensure_key_pairs(tmp_path / "keys")
    ensure_key_pairs(tmp_path / "unknown")
    private = private_key_file(tmp_path / "keys", SWITCH)
    unknown_key = private_key_file(tmp_path / "unknown", SWITCH)
    flag = tmp_path / "flag"
    job = run_job(
        "spark35",
        "steady_job.py",
        kafka_bootstrap,
        topics,
        spark__test__flag=str(flag),
        spark__sparkfuse__fuse="off",
        spark__sparkfuse__fuse__publicKeys=public_keys,
        spark__sparkfuse__health__interval="200ms",
    )
    app_id, start_ms, _pid = job.wait_for_line("APPLICATION").split()
    wait_for(lambda: facts.of("job_ended"), 120, "the first job")

    def ask(order: str, key: Path = private, start: str = start_ms, wait: int = 60) -> dict:
        return collector(order, app_id, start, key, kafka_bootstrap, topics, wait)

    def protection() -> tuple[str, str]:
        health = facts.of("collector_health")[-1]
        return health.protection, health.protection_reason

    # The hook reads from the end of the topic, so the first signal is repeated until the hook answers.
    first = wait_for(
        lambda: (answer := ask("off", start="1", wait=5))["outcome"] != "unanswered" and answer, 120, "a receipt"
    )
    assert (first["exit"], first["outcome"]) == (1, "refused")
    assert ask("off", unknown_key, wait=5)["outcome"] == "unanswered"
    assert protection() == ("closed", "")
    switched = ask("off")
    assert switched["outcome"] == "ended", switched
    wait_for(lambda: protection() == ("open", "switched off"), 60, "health facts of the switched-off collector")
    passed_over = facts.of("collector_health")[-1].passed_over
    wait_for(lambda: facts.of("collector_health")[-1].passed_over > passed_over + 20, 60, "skipped events")
    jobs = len(facts.of("job_ended"))
    assert ask("on")["exit"] == 0
    wait_for(lambda: len(facts.of("job_ended")) > jobs + 1, 60, "facts of further jobs")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    assert protection() == ("closed", "")
    numbers = next(seen for (_, lane), seen in facts.numbers().items() if lane == "reserved")
    assert max(numbers) + 1 - len(numbers) > 10, "gaps"
    assert len(set(numbers)) == len(numbers)
