"""Tests that operator rows measure the work of stages that read nothing, in real runs of Spark with scripted times."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.offline.application import read_application
from sparkfuse_native_analytics.offline.expectations import expected
from sparkfuse_rules.knowledge.baseline import fit
from sparkfuse_rules.knowledge.training_samples import stage_sample
from tests.logs.make_logs import SETTINGS, configuration, spark_home, start

pytestmark = pytest.mark.timeout(600)
USUAL, GROWN = 4_000, 12_000
NOW = 10**12
Stages = Mapping[int, Mapping[str, Mapping[str, Any]]]


@pytest.fixture(scope="module", params=[pytest.param("spark35", marks=pytest.mark.long), "spark4"])
def stages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Stages:
    """For each number of rows and each source, return the columns of stage_live of the stage that reads the source."""
    if not (Path("build") / "envs" / request.param).exists():
        pytest.skip(f"the environment {request.param} is not made")
    folder = tmp_path_factory.mktemp(request.param)
    events = folder / "events"
    events.mkdir()
    settings = SETTINGS | {
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }
    script = Path(__file__).parents[2] / "logs" / "rows_job.py"
    spark_home(request.param)
    said = folder / "said"
    with said.open("w") as output, contextlib.ExitStack() as parts:
        command = ["spark-submit", *configuration(settings), str(script), str(USUAL), str(GROWN)]
        code = start(request.param, command, output, parts).wait(400)

    assert code == 0, said.read_text()[-3000:]
    return dict(of_run(log) for log in find_logs(str(events)).logs)


def of_run(log: Any) -> tuple[int, Mapping[str, Mapping[str, Any]]]:
    """Return the number of rows (from the application's name), and the rows of both stages without a shuffle read."""
    application = read_application(log)
    found = [row for row in application.stage_rows.to_pylist() if not row["finished_shuffle_read_bytes"]]
    made = sorted(found, key=lambda row: row["stage_id"])
    return int((application.name or "").split()[-1]), dict(zip(("range", "rdd"), made, strict=True))


@pytest.mark.parametrize(
    ("source", "work"),
    [
        pytest.param("range", {"work_bytes": 0, "work_records": USUAL}, id="range: records, no bytes"),
        pytest.param("rdd", {"work_bytes": 0, "work_records": 0}, id="rows of an RDD: nothing"),
    ],
)
def test_what_spark_counts_of_a_source(stages: Stages, source: str, work: Mapping[str, int]):
    """Operator rows exist for each source and grow with it, whether or not Spark counts its records."""
    usual, grown = (stages[rows][source] for rows in (USUAL, GROWN))

    assert {name: usual[name] for name in work} == work
    assert (usual["operator_rows_max"], grown["operator_rows_max"]) == (USUAL, GROWN)
    assert usual["stage_fingerprint"] == grown["stage_fingerprint"]


@pytest.mark.parametrize(("source", "measure"), [("range", "records"), ("rdd", "rows")])
def test_slow_stage_is_found_only_if_its_rows_did_not_grow(stages: Stages, source: str, measure: str):
    """After five runs of one minute, a run of three minutes is slow for the same number of rows.

    With three times as many rows, a run of three minutes is healthy.
    """
    usual = stages[USUAL][source]
    learned = [
        stage_sample(f"run-{number}", 1.0, {**usual, "elapsed_ms": 60_000 + number, "finished_cpu_ms": 90_000}, number)
        for number in range(5)
    ]
    fitted = fit([sample for sample in learned if sample], NOW)
    slow = {"elapsed_ms": 180_000, "finished_cpu_ms": 270_000}
    judged = [expected(fitted, {**stages[rows][source], **slow}, running=False) for rows in (GROWN, USUAL)]

    assert [(each["moved"], each["work_measure"]) for each in judged] == [("none", measure), ("both", measure)]
