"""Tests that the SQL of the windows job agrees with the contract."""

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
    """The windows job uses each of its SQL files."""
    assert {path.stem for path in sql.glob("*.sql")} == {*windows.TABLES, *windows.VIEWS, *windows.INSERTS}


def test_sums_have_the_names_of_live_columns(sql: Path) -> None:
    """The table stage_windows has each finished_* and count column of stage_live.

    StageFold sums columns by these names.
    """
    aliases = set(re.findall(r"\bAS (\w+)", (sql / "stage_windows.sql").read_text()))
    columns = live_pb2.StageLive.DESCRIPTOR.fields_by_name
    wanted = {name for name in columns if name.startswith("finished_") and name != "finished_cpu_ms"}
    wanted |= {"succeeded_tasks", "failed_tasks", "killed_tasks", "speculative_tasks"}

    assert wanted <= aliases
    assert {name for name in aliases if name.startswith("finished_")} <= set(columns)
