"""Tests that secrets in an event log do not reach its tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.event_logs.reading import read_log
from sparkfuse_native_analytics.event_logs.scrubbed import TEXTS, scrubbed

LOGS = Path(__file__).parents[2] / "logs" / "real"


def test_texts_of_users_are_scrubbed() -> None:
    """Secrets in the users' texts are masked, even if a text is repeated.

    Other columns and NULL values stay unchanged.
    """
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


def test_tables_without_rows_or_texts_do_not_change() -> None:
    """Tables without rows or without texts are not changed.

    An empty table of the kernel has no chunk.
    """
    empty = pa.table({"name": pa.chunked_array([], pa.string())})
    plain = pa.table({"executor_id": ["1"]})

    assert scrubbed("applications", empty).num_rows == 0
    assert scrubbed("tasks", plain) is plain


def test_scrubbed_columns_exist_in_the_kernel() -> None:
    """Each column in the list of scrubbed columns exists in the kernel.

    Otherwise a renamed column would no longer be scrubbed.
    """
    [log] = find_logs(str(LOGS / "failures-35")).logs
    read = read_log(log)

    for table, columns in TEXTS.items():
        assert set(columns) <= set(read.table(table).column_names), table
