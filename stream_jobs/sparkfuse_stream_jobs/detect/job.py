"""The graph of the detect job: live, prefilter, Identify, AcrossRuns, rules, prefilter, Lifecycle, Alerts, findings.

The prefilters and the rules are SQL and Java, the other steps are Python; between them rows travel as encoded LiveRows.
Flink finds the state of an operator in a checkpoint by its uid, so a uid never changes.
"""

from __future__ import annotations

import gc
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_rules.catalog import Catalog
from sparkfuse_stream_jobs.detect.alerts import PublishIntervals
from sparkfuse_stream_jobs.detect.prefilter import (
    FUNCTIONS,
    bounds_sql,
    decoded_sql,
    evaluated_sql,
    filtered_sql,
    learned_sql,
    lifecycle_rows_sql,
    parts_sql,
)
from sparkfuse_stream_jobs.detect.worker_start import write_starter
from sparkfuse_stream_jobs.environment import fill, table_environment
from sparkfuse_stream_jobs.placement import on_cluster
from sparkfuse_stream_jobs.ticks import DISCOVERY_MS, IDLE_MS

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
    from pyflink.table import StatementSet, StreamTableEnvironment, Table

NAME = "detect"
# Event time is the end of the windows. Event time stops during an outage of the windows job, so rows that are late do
# not count as missing. Event time advances when a later window begins, because the rows of one window arrive together.
# Rows of other sources do not advance it: each source has a detect job, and so a clock, of its own.
_LIVE = """
CREATE TABLE live_by_window (
  `live_row` BYTES,
  `window_end` AS TO_TIMESTAMP_LTZ(decode_window_end(`live_row`, '{source}'), 3),
  WATERMARK FOR `window_end` AS `window_end` - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{group}',
  'properties.isolation.level' = 'read_committed',
  'properties.auto.offset.reset' = 'earliest',
  'scan.startup.mode' = 'group-offsets',
  'scan.topic-partition-discovery.interval' = '{discovery_ms} ms',
  'scan.watermark.idle-timeout' = '{idle_ms} ms',
  'value.format' = 'raw'
)
"""
# Python encodes keys and values from the contract's messages; SQL passes them on unchanged.
_RECORDS = """
CREATE TABLE {table} (`record_key` STRING, `record_value` {value_type}) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.compression.type' = 'lz4',
  'key.format' = 'raw',
  'key.fields' = 'record_key',
  'value.format' = 'raw',
  'value.fields-include' = 'EXCEPT_KEY'
)
"""


# Python's garbage collector searches for cycles whenever 700 new objects survive, and also scans old objects. This job
# has many old objects: the searches took a sixteenth of its CPU time at 500 applications. The objects of a row have no
# cycles.
YOUNG_OBJECTS = 20_000
# The SQL operators with state, and their uids in savepoints; other operators have their uids below.
UIDS: Mapping[str, str] = {
    "1_kafka": r"^KafkaSource-\S+\.live_by_window\b",
    "17_sink": r"^findings_records\[",
    "20_sink": r"^baselines_records\[",
    "22_sink": r"^names_records\[",
    "stage-bounds-sink": r"^learned_bounds\[",
    "expectations-sink": r"^expectations_records\[",
}
# The sizes of PyFlink's own caches. These caches contain only the writes of a bundle; reads use state/state_cache.py.
PYTHON_STATE: Mapping[str, str] = {
    "python.state.cache-size": "1000",
    "python.map-state.read-cache-size": "1000",
    "python.map-state.write-cache-size": "1000",
}


@dataclass(frozen=True)
class Options:
    """The options of the detect job, in addition to the settings that all processes share."""

    parallelism: int = 1
    catalog: Path | None = None
    intervals: PublishIntervals = field(default_factory=PublishIntervals)


def build(settings: Settings, catalog: Catalog, options: Options) -> tuple[StreamExecutionEnvironment, StatementSet]:
    """Start the environment and plan the job; ``operator_uids.start`` runs it."""
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    environment, tables = table_environment(
        settings.job_name(NAME), settings, program=PYTHON_STATE, mini_cluster=mini_cluster_options(settings, options)
    )
    _define(tables, settings)
    # Identifies this run of the job to the functions that share the bounds of stages.
    run = uuid.uuid4().hex
    rows = _rows_with_expectations(tables, settings, catalog, run)
    findings = _findings(tables, rows, settings, catalog, options.intervals)
    statements = tables.create_statement_set()
    statements.add_insert_sql(_insert(tables, settings, "findings", f"SELECT record_key, record_value FROM {findings}"))
    of_baselines = f"SELECT record_key, record_value FROM {rows} WHERE record_kind = 'baseline'"
    statements.add_insert_sql(_insert(tables, settings, "baselines", of_baselines))
    statements.add_insert_sql(_insert(tables, settings, "names", parts_sql(rows, "name"), "BYTES"))
    tables.create_temporary_view("stage_bounds", tables.sql_query(bounds_sql(rows)))
    tables.execute_sql("CREATE TABLE learned_bounds (`app_key` STRING) WITH ('connector' = 'blackhole')")
    statements.add_insert_sql(f"INSERT INTO learned_bounds {learned_sql('stage_bounds', run)}")
    statements.add_insert_sql(_insert(tables, settings, "expectations", parts_sql(rows, "expectation"), "BYTES"))
    return environment, statements


def mini_cluster_options(settings: Settings, options: Options) -> dict[str, str]:
    """Return the Flink options of the mini cluster; none on a Flink cluster."""
    if on_cluster():
        return {}
    # The Python steps run as threads of this process instead of separate processes. Threads take a quarter of the
    # memory, need no worker processes, and let this process serve the metrics of the steps.
    starter = write_starter((settings.home / "scratch" / f"{settings.job_name(NAME)}-python").absolute())
    return {
        "execution.target": "local",
        "python.executable": str(starter),
        "parallelism.default": str(options.parallelism),
    }


def _define(tables: StreamTableEnvironment, settings: Settings) -> None:
    """Define the functions of the prefilters and the source table."""
    for name, java_class in FUNCTIONS.items():
        tables.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION {name} AS '{java_class}' LANGUAGE JAVA")
    values = {"discovery_ms": str(DISCOVERY_MS), "idle_ms": str(IDLE_MS), "source": settings.source}
    group = ".".join(filter(None, (settings.topic_prefix, NAME, settings.source)))
    topic = topic_name("live", settings.topic_prefix)
    tables.execute_sql(fill(_LIVE, settings, topic=topic, group=group, **values))


def _rows_with_expectations(tables: StreamTableEnvironment, settings: Settings, catalog: Catalog, run: str) -> str:
    """Return the view of rows with identity and expectations, of baselines, names, and bounds and expectations."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators.across_runs_operator import AcrossRuns
    from sparkfuse_stream_jobs.detect.operators.identify_operator import Identify

    text, content = Types.STRING(), _bytes()
    views = frozenset(rule.view for rule in catalog.values())
    # Flink 2.3 cannot validate a view that was created by SQL text and uses a process function.
    tables.create_temporary_view("decoded_rows", tables.sql_query(decoded_sql(catalog, settings.window_ms)))
    stream = _batched(tables, tables.sql_query(filtered_sql("decoded_rows", run)), "gather")
    stream = (
        stream.process(Identify(views, settings), Types.ROW([text, content])).name("identify").uid("identify-together")
    )
    fields = {"record_kind": text, "record_key": text, "record_value": text, "payload": content}
    stream = _keyed(stream, content).process(AcrossRuns(settings), Types.ROW_NAMED(list(fields), list(fields.values())))
    return _view(tables, stream.name("baselines").uid("across-runs"), "expected_rows")


def _findings(
    tables: StreamTableEnvironment, rows: str, settings: Settings, catalog: Catalog, intervals: PublishIntervals
) -> str:
    """Return the view of the finding records: the rules in one stateless statement, then lifecycle and alerts."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators.alerts_operator import Alerts
    from sparkfuse_stream_jobs.detect.operators.lifecycle_operator import RunLifecycle

    text, content = Types.STRING(), _bytes()
    tables.create_temporary_view("evaluated_rows", tables.sql_query(evaluated_sql(catalog, rows, settings.window_ms)))
    stream = _batched(tables, tables.sql_query(lifecycle_rows_sql("evaluated_rows")), "gather-watched")
    stream = stream.process(RunLifecycle(catalog, settings), Types.ROW([text, content]))
    stream = _keyed(stream.name("lifecycle").uid("lifecycle"), content)
    stream = stream.process(Alerts(intervals, settings), Types.ROW_NAMED(["record_key", "record_value"], [text, text]))
    name = "finding_rows"
    tables.create_temporary_view(name, tables.from_data_stream(stream.name("alerts").uid("alerts")))
    return name


def _batched(tables: StreamTableEnvironment, table: Table, name: str) -> KeyedStream:
    """Return a table of key and content as a keyed stream; contents that arrive together are joined in one record."""
    from pyflink.common import Types
    from pyflink.datastream import DataStream
    from pyflink.java_gateway import get_gateway

    gather = get_gateway().jvm.io.sparkfuse.detect.BatchByKey()
    with_key = Types.ROW([Types.STRING(), _bytes()]).get_java_type_info()
    rows = tables.to_data_stream(table)._j_data_stream.transform(name, with_key, gather)  # noqa: SLF001
    return _keyed(DataStream(rows).uid(name), _bytes())


def _keyed(stream: DataStream, row: Any) -> KeyedStream:
    """Return a stream of (key, row), keyed by the key; PyFlink's ``key_by`` would send each row to Python and back."""
    from pyflink.common import Types
    from pyflink.datastream import KeyedStream
    from pyflink.java_gateway import get_gateway

    selector = get_gateway().jvm.KeyByKeySelector()
    key = Types.ROW([Types.STRING()]).get_java_type_info()
    return KeyedStream(stream._j_data_stream.keyBy(selector, key), row, stream)  # noqa: SLF001


def _insert(
    tables: StreamTableEnvironment, settings: Settings, topic: str, query: str, value_type: str = "STRING"
) -> str:
    """Create the table of a topic, and return the statement that writes the keys and values of ``query`` to it."""
    table = f"{topic}_records"
    full_name = topic_name(topic, settings.topic_prefix)
    tables.execute_sql(fill(_RECORDS, settings, table=table, topic=full_name, value_type=value_type))
    return f"INSERT INTO {table} {query}"


def _view(tables: StreamTableEnvironment, stream: DataStream, name: str) -> str:
    """Create a view of the stream that keeps its event time."""
    from pyflink.table import DataTypes, Schema

    schema = Schema.new_builder()
    schema.column_by_metadata("window_end", DataTypes.TIMESTAMP_LTZ(3), "rowtime", is_virtual=True)
    schema.watermark("window_end", "SOURCE_WATERMARK()")
    tables.create_temporary_view(name, tables.from_data_stream(stream, schema.build()))
    return name


def _bytes() -> Any:
    from pyflink.common import Types

    return Types.PRIMITIVE_ARRAY(Types.BYTE())
