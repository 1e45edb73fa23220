"""Real Airflow runs tasks that fail on real Spark: doomed retries are refused, and other retries have back-off."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
JOBS = Path(__file__).parent / "jobs"
# Only the parts that `pip install sparkfuse` installs, without an extra.
BASE = ("cli", "rules", "contracts")
# The minimum between two tries by Airflow's formula: retry_delay, then twice as much.
BACK_OFF = {"airflow2": "True", "airflow3": "2.0"}

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class DagRun:
    """One run of the DAG: state and number of tries of each task, the log, and the back-off of the operator."""

    states: dict[str, str]
    tries: dict[str, int]
    log: str
    back_off: str


@pytest.fixture(scope="module", params=sorted(BACK_OFF))
def dag_run(request, tmp_path_factory) -> DagRun:
    """Run the DAG once on each version of Airflow."""
    folder, home = tmp_path_factory.mktemp(request.param), tmp_path_factory.mktemp("home")
    environment = ROOT / "build" / "envs" / request.param
    if not environment.exists():
        pytest.fail(f"the environment {request.param} is missing: run make test-airflow")
    run = _Airflow(environment / "bin", {
        "AIRFLOW_HOME": str(home), "AIRFLOW__CORE__DAGS_FOLDER": str(JOBS), "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "TRIES": str(folder), "PYSPARK_PYTHON": str(environment / "bin" / "python"), "COLUMNS": "400",
        "PYTHONPATH": os.pathsep.join(str(ROOT / part) for part in BASE),
    })  # fmt: skip
    assert run("db", "migrate").returncode == 0
    done = run("dags", "test", "retries", "2026-01-01")
    with sqlite3.connect(home / "airflow.db") as database:
        states = dict(database.execute("SELECT task_id, state FROM task_instance").fetchall())
    tries = {path.name: len(path.read_text().splitlines()) for path in folder.iterdir() if path.name != "back_off"}
    return DagRun(states, tries, done.stdout + done.stderr, (folder / "back_off").read_text())


class _Airflow:
    """The command line of one version of Airflow."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self._folder, self._environment = folder, {**os.environ, **environment}

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(self._folder / "airflow"), *arguments]
        return subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize(
    ("task_id", "state", "tries"),
    [
        pytest.param("doomed_operator", "failed", 1, id="an operator reads a missing table"),
        pytest.param("doomed_function", "failed", 1, id="a function reads a missing table"),
        pytest.param("stopped_by_fuse", "failed", 1, id="the fuse stopped the job"),
        pytest.param("stopped_by_limit", "failed", 1, id="a block exceeded a limit of its own code"),
        pytest.param("warned_by_fuse", "success", 3, id="the fuse warned, and the code raised the warning"),
        pytest.param("transient_operator", "success", 3, id="the network fails twice"),
        pytest.param("other_failure", "success", 3, id="an exception that is not of Spark"),
    ],
)
def test_only_doomed_retries_are_refused(dag_run, task_id, state, tries):
    """A doomed task fails after one try. After a transient failure, or a failure of other code, the retry succeeds."""
    assert (dag_run.states[task_id], dag_run.tries[task_id]) == (state, tries)


@pytest.mark.parametrize(
    "line",
    [
        "Sparkfuse: a retry would fail in the same way (sql_invalid). AnalysisException: [TABLE_OR_VIEW_NOT_FOUND]",
        "The fuse stopped the job: the fuse has blown. Rule: stage_runaway_spill. Evidence: q7 spilled 60 GiB",
        "The fuse stopped the job: the fuse has stopped the block at 'slow'. Rule: max_seconds. Evidence:",
        "Sparkfuse: a retry can succeed (network). ConnectionRefusedError: [Errno 111] Connection refused",
    ],
)
def test_log_of_the_task_has_the_reason(dag_run, line):
    """The log shows the verdict with its evidence, and the fuse's reason if the fuse stopped the job."""
    assert line in dag_run.log


def test_guarded_operator_backs_off(dag_run, request):
    """A guarded operator has exponential back-off, set in the form that this version of Airflow requires."""
    version = request.node.callspec.params["dag_run"]

    assert dag_run.back_off == BACK_OFF[version]
