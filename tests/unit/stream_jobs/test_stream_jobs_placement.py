"""Tests which options a job sets where, without Flink."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from py4j.protocol import Py4JJavaError

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs import process
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


@pytest.fixture
def on_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool, list[Exception]], int]:
    """Return a function that runs a program on a cluster, which submits its job after some errors."""
    monkeypatch.setenv(GATEWAY_PORT, "1")
    monkeypatch.setenv("SPARKFUSE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)  # keep the handlers of the test process
    monkeypatch.setattr(process, "KAFKA_RETRY_SECONDS", 0.0)

    def run(application_mode: bool, errors: list[Exception]) -> int:
        @contextlib.contextmanager
        def submit(_settings: Settings) -> Iterator[Any]:
            if errors:
                raise errors.pop()
            yield SimpleNamespace(get_job_id=lambda: "job-1")

        monkeypatch.setattr(process, "runs_beside_job", lambda: application_mode)
        monkeypatch.setattr(process, "_watch", lambda *_: 0)
        return process.run_job("windows", submit)

    return run


@pytest.mark.parametrize("application_mode", [False, True])
def test_a_program_on_a_cluster_needs_no_files(
    application_mode: bool, tmp_path: Path, on_cluster: Callable[[bool, list[Exception]], int]
) -> None:
    """On a cluster, the program creates neither its home nor a lock in it."""
    assert on_cluster(application_mode, []) == 0
    assert not (tmp_path / "home").exists()


def test_only_application_mode_waits_for_kafka(on_cluster: Callable[[bool, list[Exception]], int]) -> None:
    """In application mode a program that fails would end a restored job; `flink run` reports the error at once."""
    errors: list[Exception] = [KafkaUnavailableError("away") for _ in range(3)]

    assert on_cluster(False, errors) == 3
    assert len(errors) == 2
    assert on_cluster(True, errors) == 0
    assert errors == []


class RestoredJob:
    """A job whose status requests have scripted answers; after them it is finished."""

    def __init__(self, answers: list[str | Exception]) -> None:
        self._answers = answers

    def get_job_status(self) -> Any:
        """Return a future with the next status."""
        return SimpleNamespace(result=self._next)

    def get_job_execution_result(self) -> Any:
        """Return a future without an error."""
        return SimpleNamespace(result=lambda: None)

    def _next(self) -> Any:
        answer = self._answers.pop(0) if self._answers else "FINISHED"
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(name=answer)


class JavaError(Py4JJavaError):
    """An error that the JVM returns."""

    def __init__(self) -> None:
        Exception.__init__(self, "AskTimeoutException")

    def __str__(self) -> str:
        return "AskTimeoutException"


@pytest.mark.parametrize(
    ("answers", "mode", "left"),
    [
        pytest.param(["RUNNING", KeyError("INITIALIZING"), "RUNNING"], "cluster", 0, id="restored-job"),
        pytest.param([JavaError(), JavaError(), "RUNNING"], "cluster", 0, id="busy-job-manager"),
        pytest.param([JavaError() for _ in range(200)], "cluster", 80, id="lost-job"),
        pytest.param([ConnectionRefusedError(), "RUNNING"], "cluster", 1, id="ended-job-manager"),
        pytest.param([JavaError(), "RUNNING"], "mini cluster", 1, id="mini-cluster"),
    ],
)
def test_program_watches_its_job_while_the_job_manager_answers(
    answers: list[str | Exception], mode: str, left: int, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In application mode, a job that is being restored and failed requests do not end the program."""
    monkeypatch.setattr(process, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(process, "on_cluster", lambda: mode == "cluster")

    assert process._watch("windows", RestoredJob(answers), threading.Event(), settings) == 1
    assert len(answers) == left
