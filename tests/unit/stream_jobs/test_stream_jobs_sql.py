"""The SQL of the windows job against the contract that it serves."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkfuse_contracts.generated import live_pb2
from sparkfuse_stream_jobs import windows


@pytest.fixture(scope="module")
def sql(repository: Path) -> Path:
    return repository / "stream_jobs" / "sql"


def test_every_file_is_used(sql: Path) -> None:
    """A view that nobody runs is dead weight."""
    assert {path.stem for path in sql.glob("*.sql")} == {*windows.TABLES, *windows.VIEWS, *windows.INSERTS}


def test_sums_are_named_as_the_columns_that_they_become(sql: Path) -> None:
    """StageFold adds columns by their names: each finished_* and count of stage_live comes out of the window."""
    made = set(re.findall(r"\bAS (\w+)", (sql / "stage_windows.sql").read_text()))
    columns = live_pb2.StageLive.DESCRIPTOR.fields_by_name
    wanted = {name for name in columns if name.startswith("finished_") and name != "finished_cpu_ms"}
    wanted |= {"succeeded_tasks", "failed_tasks", "killed_tasks", "speculative_tasks"}

    assert wanted <= made
    assert {name for name in made if name.startswith("finished_")} <= set(columns)
