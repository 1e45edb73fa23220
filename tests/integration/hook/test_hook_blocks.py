"""Tests that the limits of blocks are enforced on real PySpark, without a broker and without a controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import SparkRun
from tests.integration.hook.conftest import JOBS

WITHOUT_PLUGIN = {"spark.plugins": "", "spark.jars": ""}


@pytest.fixture
def run_blocks(tmp_path: Path) -> Iterator[Callable[..., SparkRun]]:
    runs: list[SparkRun] = []

    def run(version: str, script: str, **settings: str) -> SparkRun:
        folder = tmp_path / "until"
        folder.mkdir()
        options = {"spark.master": "local[4]", "spark.test.until": str(folder)}
        runs.append(SparkRun(version, JOBS / script, options | settings, tmp_path / "job.log"))
        return runs[-1]

    yield run
    for each in runs:
        each.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("version", ["spark35", pytest.param("spark4", marks=pytest.mark.long)])
def test_only_blocks_over_their_limits_are_stopped(run_blocks, version):
    """Each limit stops its own block, and the concurrent block of another thread runs to its end."""
    job = run_blocks(version, "limited_blocks.py")
    code = job.ended()

    assert sorted(job.lines) == [
        "ASYNC ['coroutine', 1]",
        "COMMIT LIMIT max_seconds limit commit Py4JJavaError",
        "COMMITTED 1",
        "COST LIMIT max_cost limit cost Py4JJavaError",
        "DECORATED max_seconds decorated",
        "END 10 None",
        "FEW RESULT 10",
        "OPENED ['max_seconds']",
        "OTHER RESULT 1",
        "ROWS LIMIT max_output_rows limit rows Py4JJavaError",
        "SECONDS LIMIT max_seconds limit slow Py4JJavaError",
        "SUSPENDED None 10",
        "USABLE 10 True",
    ], job.text()[-6000:]
    assert code == 0
    assert "ms in a safe point. Tag: sparkfuse-block." in job.text()


@pytest.mark.timeout(300)
def test_without_plugin_time_is_limited_and_one_warning_logged(run_blocks):
    """Without the plugin, Python enforces `max_seconds` by job tags, and warns once about the other limits."""
    job = run_blocks("spark35", "block_without_plugin.py", **WITHOUT_PLUGIN)
    code = job.ended()

    assert job.lines == ["COMMITTED 1", "LIMIT max_seconds slow", "ROWS 10", "END 10"], job.text()[-6000:]
    assert code == 0
    assert job.text().count("the plugin is absent or off") == 1
