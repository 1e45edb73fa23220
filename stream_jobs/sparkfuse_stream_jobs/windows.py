"""The windows job: facts in, rows of the live views out, all of it SQL and Java functions.

``python -m sparkfuse_stream_jobs.windows`` runs it until it is told to stop.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.environment import create_tables, fill, table_environment
from sparkfuse_stream_jobs.process import run_job
from sparkfuse_stream_jobs.ticks import Ticks, clock_names
from sparkfuse_stream_jobs.topic_check import check_topics
from sparkfuse_stream_jobs.windows_metrics import serve_metrics

if TYPE_CHECKING:
    from pyflink.table import StatementSet, StreamTableEnvironment

PACKAGE = "io.sparkfuse.windows"
FUNCTIONS: Mapping[str, str] = {
    "quantile_sketch": "aggregates.QuantileSketchAggregate",
    "biggest_task": "aggregates.BiggestTaskAggregate",
    "slowest_task": "aggregates.SlowestTaskAggregate",
    "failures_by_class": "aggregates.FailuresAggregate",
    "running_tasks": "aggregates.RunningTasksAggregate",
    "latest_fact": "aggregates.LatestFactAggregate",
    "sequence_numbers": "aggregates.SequenceNumbersAggregate",
    "stage_fold": "stage.StageFold",
    "application_clock_of": "clock.ApplicationClock",
    "application_fold": "application.ApplicationFold",
}
TABLES = ("facts", "live_rows")
# In the order of a fact's way; each file is named after the view that it defines.
VIEWS = (
    "stage_facts",
    "stage_windows",
    "stage_updates",
    "application_facts",
    "application_windows",
    "application_clock_inputs",
    "application_clock",
    "forwarded_facts",
    "application_inputs",
)
# New statements go to the end: put before others they would take over their uids, and with these the wrong state.
INSERTS = ("insert_live", "insert_dead_letters")
# Every partition gets a tick a second, so one that is silent for this long has lost its leader: better late than lost.
IDLE_MS = 60_000
# RocksDB's blocks and what is not yet written, and the windows' buffers, have this together. What waits for the end of
# its window is gone again before it is written if there is room; with Flink's 128 MB a fleet's state is written, merged
# and read from disk all the time (docs/benchmarks.md).
MANAGED_MEMORY = "384m"


def define(
    tables: StreamTableEnvironment, settings: Settings, read: Callable[[str, Settings], str] | None = None
) -> StatementSet:
    """Define the job's functions, tables and views in ``tables`` and give its inserts, not yet executed.

    ``read`` gives the SQL of a name, in place of ``statement``, to those who try the job on other facts.
    """
    text = read or statement
    for name, java_class in FUNCTIONS.items():
        tables.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION {name} AS '{PACKAGE}.{java_class}' LANGUAGE JAVA")
    create_tables(tables, settings, ["dead-letters"])
    for name in TABLES:
        tables.execute_sql(text(name, settings))
    for name in VIEWS:
        # A view made by SQL text is validated anew where it is used, which Flink 2.3 cannot do with a process function.
        tables.create_temporary_view(name, tables.sql_query(text(name, settings)))
    inserts = tables.create_statement_set()
    for name in INSERTS:
        inserts.add_insert_sql(text(name, settings))
    return inserts


def statement(name: str, settings: Settings) -> str:
    """The SQL of stream_jobs/sql/<name>.sql with its placeholders filled."""
    values = {
        "bootstrap": settings.kafka_bootstrap,
        "prefix": settings.topic_prefix,
        "window_ms": str(settings.window_ms),
        "window_seconds": f"{settings.window_ms / 1000:.3f}",
        "idle_ms": str(IDLE_MS),
    }
    return fill(asset("sparkfuse_stream_jobs", "sql", f"{name}.sql").read_text(), values)


@contextlib.contextmanager
def submit(settings: Settings) -> Iterator[Any]:
    """Start the job and its clock; yields the job's client.

    Raises MissingPartError when a topic, a jar, Java or the broker is not as it must be.
    """
    partitions = check_topics(settings, ["facts", "live", "dead-letters"])
    _, tables = table_environment("windows", settings, **{"taskmanager.memory.managed.size": MANAGED_MEMORY})
    result = define(tables, settings).execute()
    # Only now: whoever waits for our metrics to answer waits for the job to run.
    sent = serve_metrics(settings)
    with Ticks(settings, clock_names(partitions["facts"], partitions["live"]), sent.inc):
        yield result.get_job_client()


def main() -> int:
    """Run the windows job as a process."""
    return run_job("windows", submit)


if __name__ == "__main__":
    sys.exit(main())
