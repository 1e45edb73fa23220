"""The graph of the detect job: live, gate, Identify, Baselines, rules, gate, Lifecycle, Alerts, findings.

The gates and the rules are SQL and Java, the other steps Python; between all of them rows travel as encoded LiveRows.
The order of the parts and their uids are what a checkpoint is restored by: append, never insert or rename.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_rules.catalog import Catalog
from sparkfuse_stream_jobs.detect.alerts import Pace
from sparkfuse_stream_jobs.detect.gates import FUNCTIONS, gated_sql, read_sql, ruled_sql, watched_sql
from sparkfuse_stream_jobs.detect.worker_start import write_starter
from sparkfuse_stream_jobs.environment import fill, table_environment

if TYPE_CHECKING:
    from pyflink.datastream import DataStream, KeyedStream
    from pyflink.table import StatementSet, StreamTableEnvironment, Table

NAME = "detect"
# Time is the end of the windows: after an outage of the windows job it goes on where it stopped, so that nothing is
# taken for gone that was only late. It passes when a later window has begun, because rows of one window come together.
_LIVE = """
CREATE TABLE live_by_window (
  `live_row` BYTES,
  `window_end` AS TO_TIMESTAMP_LTZ(decode_window_end(`live_row`), 3),
  WATERMARK FOR `window_end` AS `window_end` - INTERVAL '0.001' SECOND
) WITH (
  'connector' = 'kafka',
  'topic' = '{topic}',
  'properties.bootstrap.servers' = '{bootstrap}',
  'properties.group.id' = '{prefix}.detect',
  'properties.isolation.level' = 'read_committed',
  'properties.auto.offset.reset' = 'earliest',
  'scan.startup.mode' = 'group-offsets',
  'scan.watermark.idle-timeout' = '2 s',
  'value.format' = 'raw'
)
"""
# What is written is made in Python from the contract's messages, key and value are passed on as they are.
_RECORDS = """
CREATE TABLE {table} (`record_key` STRING, `record_value` STRING) WITH (
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


# Python looks for cycles whenever 700 young objects have stayed, and the more the steps hold the more of what is old it
# walks, too: a sixteenth of detection's CPU at 500 applications. What a row makes has no cycles.
YOUNG_OBJECTS = 20_000


@dataclass(frozen=True)
class Options:
    """What may be set for the job besides the house's settings."""

    parallelism: int = 1
    catalog: Path | None = None
    pace: Pace = field(default_factory=Pace)


def build(settings: Settings, catalog: Catalog, options: Options) -> StatementSet:
    """Start the environment and plan the job; ``execute()`` of the result runs it."""
    # In the mini cluster the Python steps run as threads of this process and not as processes of their own: a quarter
    # of the memory, no start-up of workers, and their metrics are where they are served.
    starter = write_starter((settings.home / "scratch" / "detect-python").absolute())
    local = {
        "execution.target": "local",
        "python.executable": str(starter),
        # States that PyFlink keeps at hand. What is read is in our own cache (recent.py): they are there for what a
        # bundle writes.
        "python.state.cache-size": "1000",
        "python.map-state.read-cache-size": "1000",
        "python.map-state.write-cache-size": "1000",
        "parallelism.default": str(options.parallelism),
    }
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])
    _, tables = table_environment(NAME, settings, **local)
    _define(tables, settings)
    judged = _judged(tables, settings, catalog)
    found = _findings(tables, judged, settings, catalog, options.pace)
    statements = tables.create_statement_set()
    statements.add_insert_sql(_insert(tables, settings, "findings", f"SELECT record_key, record_value FROM {found}"))
    of_baselines = f"SELECT record_key, record_value FROM {judged} WHERE made = 'baseline'"
    statements.add_insert_sql(_insert(tables, settings, "baselines", of_baselines))
    return statements


def _define(tables: StreamTableEnvironment, settings: Settings) -> None:
    """The functions of the gates, and the table that all begins with."""
    for name, java_class in FUNCTIONS.items():
        tables.execute_sql(f"CREATE TEMPORARY SYSTEM FUNCTION {name} AS '{java_class}' LANGUAGE JAVA")
    values = {
        "topic": topic_name("live", settings.topic_prefix),
        "bootstrap": settings.kafka_bootstrap,
        "prefix": settings.topic_prefix,
    }
    tables.execute_sql(fill(_LIVE, values))


def _judged(tables: StreamTableEnvironment, settings: Settings, catalog: Catalog) -> str:
    """The view of rows with who, which stage and what was expected, and of baselines to be written."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators import AcrossRuns, Identify

    text, content = Types.STRING(), _bytes()
    # A view made by SQL text is validated anew where it is used, which Flink 2.3 cannot do with a process function.
    tables.create_temporary_view("read_rows", tables.sql_query(read_sql(catalog, settings.window_ms)))
    stream = _gathered(tables, tables.sql_query(gated_sql("read_rows")), "gather")
    stream = stream.process(Identify(), Types.ROW([text, content])).name("identify").uid("identify-together")
    made = {"made": text, "record_key": text, "record_value": text, "payload": content}
    stream = _keyed(stream, content).process(AcrossRuns(settings), Types.ROW_NAMED(list(made), list(made.values())))
    return _view(tables, stream.name("baselines").uid("across-runs"), "judged")


def _findings(tables: StreamTableEnvironment, judged: str, settings: Settings, catalog: Catalog, pace: Pace) -> str:
    """The view of the findings' records: the rules in one stateless statement, then lifecycle and alerts."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators import Alerts, Lifecycle

    text, content = Types.STRING(), _bytes()
    tables.create_temporary_view("ruled_rows", tables.sql_query(ruled_sql(catalog, judged, settings.window_ms)))
    stream = _gathered(tables, tables.sql_query(watched_sql("ruled_rows")), "gather-watched")
    stream = stream.process(Lifecycle(catalog, settings), Types.ROW([text, content]))
    stream = _keyed(stream.name("lifecycle").uid("lifecycle"), content)
    stream = stream.process(Alerts(pace), Types.ROW_NAMED(["record_key", "record_value"], [text, text]))
    name = "finding_records_made"
    tables.create_temporary_view(name, tables.from_data_stream(stream.name("alerts").uid("alerts")))
    return name


def _gathered(tables: StreamTableEnvironment, table: Table, name: str) -> KeyedStream:
    """A table of text and bytes as a stream by its text: parts.py of the bytes that came together."""
    from pyflink.common import Types
    from pyflink.datastream import DataStream
    from pyflink.java_gateway import get_gateway

    gather = get_gateway().jvm.io.sparkfuse.detect.BatchByKey()
    with_key = Types.ROW([Types.STRING(), _bytes()]).get_java_type_info()
    rows = tables.to_data_stream(table)._j_data_stream.transform(name, with_key, gather)  # noqa: SLF001
    return _keyed(DataStream(rows).uid(name), _bytes())


def _keyed(stream: DataStream, row: Any) -> KeyedStream:
    """A stream of (key, row) by its key; PyFlink's ``key_by`` would send each row to Python and back to find it."""
    from pyflink.common import Types
    from pyflink.datastream import KeyedStream
    from pyflink.java_gateway import get_gateway

    selector = get_gateway().jvm.KeyByKeySelector()
    key = Types.ROW([Types.STRING()]).get_java_type_info()
    return KeyedStream(stream._j_data_stream.keyBy(selector, key), row, stream)  # noqa: SLF001


def _insert(tables: StreamTableEnvironment, settings: Settings, topic: str, query: str) -> str:
    table = f"{topic}_records"
    full_name = topic_name(topic, settings.topic_prefix)
    tables.execute_sql(_RECORDS.format(table=table, topic=full_name, bootstrap=settings.kafka_bootstrap))
    return f"INSERT INTO {table} {query}"


def _view(tables: StreamTableEnvironment, stream: DataStream, name: str) -> str:
    """A stream as a view that keeps its time."""
    from pyflink.table import DataTypes, Schema

    schema = Schema.new_builder()
    schema.column_by_metadata("window_end", DataTypes.TIMESTAMP_LTZ(3), "rowtime", is_virtual=True)
    schema.watermark("window_end", "SOURCE_WATERMARK()")
    tables.create_temporary_view(name, tables.from_data_stream(stream, schema.build()))
    return name


def _bytes() -> Any:
    from pyflink.common import Types

    return Types.PRIMITIVE_ARRAY(Types.BYTE())
