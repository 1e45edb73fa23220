"""Tests which queries and jobs of an event log are learned on their own."""

from __future__ import annotations

from typing import Any, cast

import pyarrow as pa
import pytest

from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.executions import Execution, executions_of_stages, is_long_lived

START = 1_795_226_400_000
RUN = "app-1/0@1795226400000"
MINUTE = 60_000


class Log:
    """The parts of an application that decide about its executions."""

    def __init__(self, name: str = "nightly", minutes: int = 5, description: str = "write") -> None:
        self.name, self.run_key, self.started_ms, self.until_ms = name, RUN, START, START + minutes * MINUTE
        self.jobs = [
            job(0, [0], query=7, description=description),
            job(1, [1], query=8, result="JobFailed"),
            job(2, [2]),
            job(3, [2, 3], result="JobFailed"),
            job(4, [4], ended_ms=None),
            job(5, [8, 9]),
        ]
        self.queries = [query(7), query(8), query(9, ended_ms=None), query(10, failure_reason="boom"), query(11)]
        self.stages = [(0, 7), (1, 8), (2, None), (3, None), (4, None), (5, 9), (6, 10), (7, 11), (8, None), (9, None)]

    @property
    def tables(self) -> dict[str, pa.Table]:
        stages = [
            {"stage_id": number, "sql_execution_id": query_id, "status": "failed" if number in {7, 9} else "succeeded"}
            for number, query_id in self.stages
        ]
        rows = {"jobs": self.jobs, "sql_executions": self.queries, "stages": stages}
        return {name: pa.Table.from_pylist(each) for name, each in rows.items()}


def job(number: int, stage_ids: list[int], query: int | None = None, **more: Any) -> dict[str, Any]:
    found = {"job_id": number, "completed_ms": START + 1_000 * number + 1, "result": "JobSucceeded"}
    given = {"description": "write", "stage_ids": stage_ids, "sql_execution_id": query}
    more = {"completed_ms" if name == "ended_ms" else name: value for name, value in more.items()}
    return {**found, **given, **more}


def query(number: int, ended_ms: int | None = START + 9, failure_reason: str | None = None) -> dict[str, Any]:
    return {"sql_execution_id": number, "ended_ms": ended_ms, "failure_reason": failure_reason}


def test_stages_belong_to_the_query_or_job_that_ended():
    """A query fails with one of its jobs or stages; a stage of several jobs belongs to the first that ended."""
    found = executions_of_stages(cast(Application, Log()))

    assert found == {
        0: Execution(f"{RUN}#q7", START + 9, succeeded=True),
        1: Execution(f"{RUN}#q8", START + 9, succeeded=False),
        2: Execution(f"{RUN}#j2", START + 2_001, succeeded=True),
        3: Execution(f"{RUN}#j3", START + 3_001, succeeded=False),
        6: Execution(f"{RUN}#q10", START + 9, succeeded=False),
        7: Execution(f"{RUN}#q11", START + 9, succeeded=False),
        8: Execution(f"{RUN}#j5", START + 5_001, succeeded=False),
        9: Execution(f"{RUN}#j5", START + 5_001, succeeded=False),
    }


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        pytest.param(Log(), False, id="batch"),
        pytest.param(Log(minutes=10), True, id="ten minutes"),
        pytest.param(Log("Thrift JDBC/ODBC Server"), True, id="thrift"),
        pytest.param(Log(description='Spark Connect - session_id: "?"'), True, id="connect"),
    ],
)
def test_long_lived_applications_are_recognized(log: Log, expected: bool):
    """A log is of a long-lived application by its name, its jobs or its duration."""
    assert is_long_lived(cast(Application, log)) is expected
