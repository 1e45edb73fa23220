"""Masks secrets in the texts of a log's tables, because Spark's own redaction leaves most secrets in event logs.

The collectors use the same scrubber, so a stage or job has the same name live and offline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sparkfuse_rules.knowledge.scrubbing import scrub, scrub_query

if TYPE_CHECKING:
    import pyarrow as pa

Scrubber = Callable[[str], str]
# Columns that contain texts written by users, by table.
TEXTS: Mapping[str, Mapping[str, Scrubber]] = {
    "applications": {"name": scrub},
    "jobs": {"description": scrub_query, "job_group": scrub, "failure_reason": scrub},
    "stages": {"name": scrub, "failure_reason": scrub, "job_description": scrub_query, "job_group": scrub},
    "failures": {"failure_reason": scrub},
    "executors": {"removed_reason": scrub},
    "sql_executions": {"description": scrub_query, "failure_reason": scrub},
    "streaming_progress": {"name": scrub},
    "environment": {"value": scrub},
}


def scrubbed(name: str, table: pa.Table) -> pa.Table:
    """Return the pyarrow table ``name`` of a log with secrets masked; each distinct text is scrubbed once."""
    for column, scrubber in TEXTS.get(name, {}).items():
        table = table.set_column(table.schema.get_field_index(column), column, _scrubbed(table[column], scrubber))
    return table


def _scrubbed(column: pa.ChunkedArray, scrubber: Scrubber) -> pa.ChunkedArray:
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):  # pyarrow returns a chunked array for a column without chunks
        return column
    texts = pa.array([scrubber(text) for text in encoded.dictionary.to_pylist()], pa.string())
    return pa.DictionaryArray.from_arrays(encoded.indices, texts).cast(pa.string())
