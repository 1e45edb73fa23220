from __future__ import annotations

import os
import signal

import pytest

from tests.waiting import wait_for


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("transport", "patience"),
    # Executors would wait for the driver for an hour; samples arrive in time only if they use the broker from the
    # start.
    [("rpc", "2s"), pytest.param("direct", "1h", marks=pytest.mark.long)],
)
def test_guarantee_10_stopped_driver_does_not_silence_executors(
    run_job, facts, topics, kafka_bootstrap, tmp_path, transport, patience
):
    """While the driver is stopped by SIGSTOP, executors send facts to the broker directly.

    After SIGCONT the driver sends facts again and the job ends.
    """
    flag = tmp_path / "flag"
    job = run_job(
        "spark35",
        "steady_job.py",
        kafka_bootstrap,
        topics,
        spark__master="local-cluster[2,1,700]",
        spark__executor__memory="600m",
        spark__test__flag=str(flag),
        spark__sparkfuse__executor__transport=transport,
        spark__sparkfuse__executor__patience=patience,
    )
    driver = int(job.wait_for_line("APPLICATION").split()[2])

    def samples() -> dict[str, list[int]]:
        found: dict[str, list[int]] = {"0": [], "1": []}
        for fact in facts.all():
            if fact.WhichOneof("kind") == "executor_sample" and fact.executor_sample.executor_id in found:
                found[fact.executor_sample.executor_id].append(fact.event_time_ms)
        return found

    wait_for(lambda: all(len(seen) > 5 for seen in samples().values()), 120, "samples of both executors")
    os.kill(driver, signal.SIGSTOP)
    try:
        before = samples()
        # The driver forwards nothing while it is stopped, so new samples were sent directly.
        wait_for(
            lambda: all(seen[-1] > before[name][-1] + 8_000 for name, seen in samples().items()),
            120,
            "samples of both executors from after the stop of the driver",
        )
        silent = {fact.collector for fact in facts.all() if fact.collector.startswith("driver")}
        health = len(facts.of("collector_health"))
        count = {name: len(seen) for name, seen in samples().items()}
        wait_for(
            lambda: all(len(seen) > count[name] + 5 for name, seen in samples().items()),
            60,
            "further samples of both executors",
        )
        assert len(facts.of("collector_health")) == health, "the stopped driver sent facts"
        assert silent
    finally:
        os.kill(driver, signal.SIGCONT)
    wait_for(lambda: len(facts.of("collector_health")) > health + 1, 60, "the next health facts of the driver")
    flag.touch()
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    for (collector, lane), numbers in facts.numbers().items():
        # Only the driver's lanes are exact: a batch of samples may be sent both ways, or be lost in the failed call.
        if collector.startswith("driver"):
            assert numbers == list(range(len(numbers))), (collector, lane)
