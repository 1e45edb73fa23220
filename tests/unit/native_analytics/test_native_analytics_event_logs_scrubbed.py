"""Secrets do not get from an event log into what is made of it."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from sparkfuse_native_analytics.event_logs.find import find_logs
from sparkfuse_native_analytics.event_logs.reading import read_log
from sparkfuse_native_analytics.event_logs.scrubbed import TEXTS, scrubbed

LOGS = Path(__file__).parents[2] / "logs" / "real"


def test_each_text_is_scrubbed_and_absent_stays_absent() -> None:
    """Masked wherever it stands, also when a text comes twice; other columns and nulls are as they were."""
    table = pa.table({
        "job_id": [1, 2, 3],
        "description": ["SELECT 'hunter2'", None, "SELECT 'hunter2'"],
        "job_group": ["token=abc", "nightly", None],
        "failure_reason": [None, "https://me:pw@db/x", None],
    })  # fmt: skip

    assert scrubbed("jobs", table).to_pydict() == {
        "job_id": [1, 2, 3],
        "description": ["SELECT '?'", None, "SELECT '?'"],
        "job_group": ["token=***", "nightly", None],
        "failure_reason": [None, "https://***@db/x", None],
    }


def test_a_table_without_rows_and_one_without_texts_pass() -> None:
    """The kernel's empty tables have no chunk."""
    empty = pa.table({"name": pa.chunked_array([], pa.string())})
    plain = pa.table({"executor_id": ["1"]})

    assert scrubbed("applications", empty).num_rows == 0
    assert scrubbed("tasks", plain) is plain


def test_the_columns_are_those_of_the_kernel() -> None:
    """A column that is renamed would not be scrubbed any more."""
    [log] = find_logs(str(LOGS / "failures-35")).logs
    read = read_log(log)

    for table, columns in TEXTS.items():
        assert set(columns) <= set(read.table(table).column_names), table
