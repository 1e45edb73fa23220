"""Tests a Connect server with two users: if one user's block exceeds its limit, the other user is not affected."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import ENVIRONMENTS, ROOT, SparkRun
from tests.integration.hook.conftest import JOBS
from tests.waiting import wait_for

CONNECT = ENVIRONMENTS["connect"]
SERVER = "io.sparkfuse.spark.SparkfusePlugin,org.apache.spark.sql.connect.SparkConnectPlugin"


@pytest.fixture
def server(tmp_path: Path, free_port) -> Iterator[tuple[str, SparkRun]]:
    port = str(free_port())
    folder = tmp_path / "until"
    folder.mkdir()
    settings = {
        "spark.plugins": SERVER,
        "spark.master": "local[4]",
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.test.until": str(folder),
        "spark.sparkfuse.price.coreHour": "1.0",
        # A sorter spills after this many rows, even if memory is free.
        "spark.shuffle.spill.numElementsForceSpillThreshold": "20000",
    }
    run = SparkRun("connect", JOBS / "limited_server.py", settings, tmp_path / "job.log")
    run.wait_for_line("READY")
    yield port, run
    (folder / "end").touch()
    run.stop()


def start_user(port: str, name: str, folder: Path, *limits: str) -> subprocess.Popen:
    command = [str(CONNECT), str(JOBS / "limited_connect.py"), port, name, str(folder), *limits]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "cli")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.skipif(not CONNECT.exists(), reason="make build/stamps/env-connect creates the environment")
@pytest.mark.parametrize(
    ("limit", "rule"),
    [
        pytest.param("max_seconds=3", "max_seconds", id="time"),
        pytest.param("max_spill=1000000", "max_spill", id="spill"),
        pytest.param("max_output_rows=5000", "max_output_rows", id="rows"),
        # The server's price of a core-hour is 1, so this is 0.36 core-seconds.
        pytest.param("max_cost=0.0001", "max_cost", id="cost at the price of the platform"),
    ],
)
def test_only_the_block_of_one_user_is_stopped(server, tmp_path, limit, rule):
    """If a block of one user exceeds its limit, its jobs end, and the query of the other user still runs."""
    port, run = server
    bob = start_user(port, "bob", tmp_path, "max_seconds=3600")
    wait_for(lambda: "JOBS 1" in run.lines, 120, "the query of bob")
    ann = start_user(port, "ann", tmp_path, limit)
    try:
        out, _ = ann.communicate(timeout=240)

        assert out.splitlines() == [f"STARTED {rule}", f"LIMIT {rule} ann limit", "USABLE 10"], run.text()[-4000:]
        assert "JOBS 2" in run.lines
        assert bob.poll() is None
        assert "Sparkfuse stopped block bob" not in run.text()
    finally:
        for each in (ann, bob):
            each.kill()
            each.wait(60)
        bob.stdout.close()
