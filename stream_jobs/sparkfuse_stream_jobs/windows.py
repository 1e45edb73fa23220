"""The windows job, which aggregates facts to rows of the live views, in SQL and Java functions.

``python -m sparkfuse_stream_jobs.windows`` runs the job until SIGTERM or SIGINT.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from sparkfuse_stream_jobs.environment import create_tables, fill, table_environment
from sparkfuse_stream_jobs.job_metrics import add_job_metrics, serve_metrics
from sparkfuse_stream_jobs.operator_uids import start
from sparkfuse_stream_jobs.placement import on_cluster, runs_beside_job
from sparkfuse_stream_jobs.process import run_job
from sparkfuse_stream_jobs.sources import require_topics, source_up
from sparkfuse_stream_jobs.state_backend import OPTION, start_with_backend
from sparkfuse_stream_jobs.ticks import DISCOVERY_MS, IDLE_MS, Ticks, ticks_sent

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
    "pods_of_application": "application.PodsOfApplication",
}
TABLES = ("facts", "live_rows")
# The views in the order of the data flow; the SQL file of each has its name.
VIEWS = (
    "stage_facts",
    "stage_windows",
    "stage_updates",
    "application_facts",
    "application_windows",
    "application_clock_inputs",
    "application_clock",
    "forwarded_facts",
    "pod_inputs",
    "pod_facts",
    "application_inputs",
)
INSERTS = ("insert_live", "insert_dead_letters")
# The SQL operators with state, and their uids in savepoints; process table functions have their uids in the SQL. A uid
# never changes, except when the state of the operator becomes incompatible: then it gets a new one.
UIDS: Mapping[str, str] = {
    "1_kafka": r"^KafkaSource-\S+\.facts\b",
    "6_global-window-aggregate": r"^GlobalWindowAggregate\b.*groupBy=\[[^]]*\bstage_attempt\]",
    "15_global-window-aggregate": r"^GlobalWindowAggregate\b.*groupBy=\[[^]]*\bkafka_partition\]",
    "26_sink": r"^live_rows\[",
    "28_sink": r"^dead_letters\[",
}
# Memory shared by RocksDB's cache, RocksDB's write buffers and the buffers of the windows. If this memory is large
# enough, the inputs of a window are removed before RocksDB flushes them to disk. Flink's default of 128 MB is too small
# for that.
MANAGED_MEMORY = "384m"


def define(
    tables: StreamTableEnvironment, settings: Settings, read: Callable[[str, Settings], str] | None = None
) -> StatementSet:
    """Define the functions, tables and views of the job in ``tables``, and return its inserts without executing them.

    ``read`` returns the SQL for a name; tests and benchmarks with other facts pass it to replace ``statement``.
    """
    text = read or statement
    for name, java_class in FUNCTIONS.items():
        tables.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION {name} AS '{PACKAGE}.{java_class}' LANGUAGE JAVA")
    create_tables(tables, settings, ["dead-letters"])
    for name in TABLES:
        tables.execute_sql(text(name, settings))
    for name in VIEWS:
        # Not CREATE TEMPORARY VIEW: Flink 2.3 validates the SQL of such a view again when the view is used, and this
        # fails for process table functions.
        tables.create_temporary_view(name, tables.sql_query(text(name, settings)))
    inserts = tables.create_statement_set()
    for name in INSERTS:
        inserts.add_insert_sql(text(name, settings))
    return inserts


def statement(name: str, settings: Settings) -> str:
    """Return the SQL of stream_jobs/sql/<name>.sql with the values of its placeholders."""
    values = {
        "window_ms": str(settings.window_ms),
        "window_seconds": f"{settings.window_ms / 1000:.3f}",
        "idle_ms": str(IDLE_MS),
        "discovery_ms": str(DISCOVERY_MS),
        "source": settings.source,
        "origin": f"{settings.source}:" if settings.source else "",
    }
    kafka = settings.at_source() if name == "facts" else settings
    return fill(asset("sparkfuse_stream_jobs", "sql", f"{name}.sql").read_text(), kafka, **values)


@contextlib.contextmanager
def submit(settings: Settings) -> Iterator[Any]:
    """Start the job and its ticks, and yield the client of the job; `flink run` starts the job only.

    The job of a source waits until the Kafka cluster of the source answers, except with `flink run`. Raises
    MissingPartError if a jar or Java is missing, and KafkaUnavailableError.
    """
    beside = runs_beside_job()
    # The supervisor regards the metrics as the sign that the job runs, so the job of a source serves them before it
    # waits for its cluster, and the job of the home cluster after its start.
    early = serve_metrics(settings, with_job=False) if beside and settings.source else None
    up = source_up(settings, early).set if early else None
    partitions = require_topics(settings, waits=early is not None)
    job = _start(settings)
    if not beside:
        yield job
        return
    if early:
        add_job_metrics(early)
    sent = ticks_sent(early or serve_metrics(settings))
    with Ticks(settings, partitions, sent.inc, up):
        yield job


def _start(settings: Settings) -> Any:
    """Start the job, and return its client."""
    name = settings.job_name("windows")

    def start_with(backend: str) -> Any:
        options = {"taskmanager.memory.managed.size": MANAGED_MEMORY, OPTION: backend}
        environment, tables = table_environment(name, settings, mini_cluster=options)
        return start(environment, define(tables, settings), UIDS)

    if on_cluster():  # Flink's configuration decides
        return start_with("")
    return start_with_backend(checkpoint_directory(settings.home, name), settings.windows_state_backend, start_with)


def main() -> int:
    """Run the windows job as a process."""
    return run_job("windows", submit)


if __name__ == "__main__":
    sys.exit(main())
