"""The external actuator ends a hung application on a real standalone master of Spark 3.5."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from sparkfuse.stack.layout import free_ports
from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.collectors.standalone import application_states, driver_of, executors_of, standalone_master
from tests.integration.fuse_actuator.conftest import Fuse
from tests.waiting import wait_for

JOB = Path(__file__).parent / "jobs" / "hang.py"
NO_PLUGIN = {"spark.plugins": "", "spark.jars": "", "spark.executor.memory": "500m"}


@pytest.mark.timeout(600)
def test_hung_application_is_ended_on_a_real_master(bus, keys, operator, start_actuator, tmp_path):
    """The driver is stopped by SIGSTOP, so its hook cannot act; the actuator lets the master end the application.

    The executors of the application end, and another application on the same master continues.
    """
    (port,) = free_ports(1)
    url, limits = f"http://127.0.0.1:{port}", {"spark.cores.max": "1"}
    with standalone_master("spark35", tmp_path, port) as address:
        settings = {**NO_PLUGIN, **limits, "spark.master": address}
        runs = [SparkRun("spark35", JOB, settings, tmp_path / f"{name}.log") for name in ("hung", "healthy")]
        try:
            app_id, healthy_id = (run.wait_for_line("APPLICATION") for run in runs)
            fuse = Fuse(bus, keys, app_id, int(runs[0].wait_for_line("START")), attempt=0)
            wait_for(lambda: executors_of(app_id) and executors_of(healthy_id), 120, "the executors")
            driver = driver_of(runs[0].pid)
            driver.send_signal(signal.SIGSTOP)
            fuse.line = fuse.line.replace('"after_ms": 1800000', '"after_ms": 0').replace("outlived", "driver_silent")
            (tmp_path / "policies.jsonl").write_text(f"{fuse.line}\n")
            fuse.arm(operator)
            start_actuator("standalone", {"url": url})
            fuse.put_row(status="running", running_jobs=1, driver_silent_ms=2_400_000)
            outcome = fuse.outcome(fuse.send())

            assert outcome.outcome == "ended"
            assert application_states(url) == {app_id: "KILLED", healthy_id: "RUNNING"}
            wait_for(lambda: not executors_of(app_id), 60, "the end of the executor")
            assert len(executors_of(healthy_id)) == 1
        finally:
            for run in runs:
                run.stop()
