"""Tests, on real runs, which edits of a small query change the fingerprints of its stages, and which do not."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

import pytest

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_kernel.event_logs.log import Log
from sparkfuse_native_analytics.offline.application import read_application
from tests.logs.fingerprint_job import SAME, VARIANTS
from tests.logs.make_logs import SETTINGS, configuration, spark_home, start

# Fifteen runs of a query take minutes, and only a change of the fingerprint function changes the result.
pytestmark = [pytest.mark.timeout(1500), pytest.mark.long]
CHANGED = [name for name in VARIANTS if name not in SAME]
MORE = {
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.coalescePartitions.enabled": "false",
}


@pytest.fixture(scope="module", params=["spark35", "spark4"])
def runs(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[str]]:
    """Return the fingerprints of the query's stages in each variant, by the name of the variant."""
    if not (Path("build") / "envs" / request.param).exists():
        pytest.skip(f"the environment {request.param} is not made")
    folder = tmp_path_factory.mktemp(request.param)
    events = folder / "events"
    events.mkdir()
    settings = SETTINGS | MORE | {
        "spark.eventLog.dir": events.as_uri(),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.local.dir": str(folder / "local"),
    }  # fmt: skip
    script = Path(__file__).parents[2] / "logs" / "fingerprint_job.py"
    spark_home(request.param)
    said = folder / "said"
    with said.open("w") as output, contextlib.ExitStack() as parts:
        command = ["spark-submit", *configuration(settings), str(script), str(folder / "tables")]
        code = start(request.param, command, output, parts).wait(1200)

    assert code == 0, said.read_text()[-3000:]
    return dict(of_query(log) for log in find_logs(str(events)).logs)


def of_query(log: Log) -> tuple[str, list[str]]:
    """Return the name of the run, and the sorted fingerprints of the stages of its last query."""
    application = read_application(log)
    query = max(each for each in application.tables["stages"]["sql_execution_id"].to_pylist() if each is not None)
    rows = application.tables["stages"].select(["sql_execution_id"]).to_pylist()
    pairs = zip(rows, application.fingerprints, strict=True)
    return application.name or "", sorted(found for row, found in pairs if row["sql_execution_id"] == query)


@pytest.mark.parametrize("variant", [name for name in SAME if name not in {"first", "replanned"}])
def test_the_same_job_has_the_same_stages(runs: Mapping[str, list[str]], variant: str):
    """Fingerprints stay the same if only incidental values differ.

    Incidental values are stage ids and orders, partition counts, joined partitions, literals,
    and dates in paths and filters.
    """
    assert runs[variant] == runs["first"]


def test_replanned_join_keeps_its_fingerprint(runs: Mapping[str, list[str]]):
    """A join that adaptive execution changes keeps its fingerprint."""
    assert set(runs["first"]) <= set(runs["replanned"])
    assert len(runs["replanned"]) > len(runs["first"])


def test_joins_of_one_query_have_two_fingerprints(runs: Mapping[str, list[str]]):
    """Adaptive execution runs each join as its own job; the joins have equal operators, but different fingerprints.

    The scans share a fingerprint, and so do the two stages of the aggregation. Spark does not distinguish the scans of
    three tables by path when a stage starts. The aggregation runs in two stages, because the sort first runs it to
    sample the ranges of its keys.
    """
    assert len(runs["first"]) == 8
    assert len(set(runs["first"])) == 5


@pytest.mark.parametrize("variant", CHANGED)
def test_changed_join_or_filter_changes_fingerprints(runs: Mapping[str, list[str]], variant: str):
    """A different join type, join key, operator or filter column changes fingerprints."""
    assert set(runs[variant]).isdisjoint(runs["first"])
