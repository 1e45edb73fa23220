"""Tests which options a job sets where, without Flink."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.detect.job import Options, mini_cluster_options
from sparkfuse_stream_jobs.environment import PROGRAM, flink_options
from sparkfuse_stream_jobs.placement import GATEWAY_PORT

DEPLOYMENT = (
    "execution.target",
    "execution.checkpointing.dir",
    "execution.state-recovery.path",
    "io.tmp.dirs",
    "parallelism.default",
    "pipeline.jars",
    "python.executable",
    "state.backend.type",
    "taskmanager.memory.managed.size",
)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Return settings with jars, as the build creates them."""
    for name in ("connector.jar", "sparkfuse-flink-functions.jar"):
        (tmp_path / name).touch()
    return Settings.from_environment({"SPARKFUSE_HOME": str(tmp_path), "SPARKFUSE_FLINK_LIBS": str(tmp_path)})


def test_a_cluster_decides_all_options_of_the_deployment(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """If Flink started the program, the job sets no option that belongs to the deployment."""
    monkeypatch.setenv(GATEWAY_PORT, "1")
    own = mini_cluster_options(settings, Options(parallelism=3))
    options = flink_options("detect", settings, {}, {**own, "taskmanager.memory.managed.size": "1m"})

    assert own == {}
    assert set(options) == {*PROGRAM, "pipeline.name"}
    assert not set(options) & set(DEPLOYMENT)


def test_the_mini_cluster_gets_all_options_from_the_program(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the mini cluster, the job sets the options of flink.yaml and those of its own process."""
    monkeypatch.delenv(GATEWAY_PORT, raising=False)
    options = flink_options("detect", settings, {}, mini_cluster_options(settings, Options(parallelism=3)))
    shared = yaml.safe_load(asset("sparkfuse_stream_jobs", "flink.yaml").read_text())

    assert options["execution.target"] == "local"
    assert options["parallelism.default"] == "3"
    assert options["execution.checkpointing.dir"].startswith("file://")
    assert {key: options[key] for key in shared} == shared
    assert all(isinstance(value, str) for value in options.values())
