"""The graph of the detect job: live -> Identify -> Baselines -> rules in SQL -> Lifecycle -> Alerts -> findings.

The order of the parts and their uids are what a checkpoint is restored by: append, never insert or rename.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.columns import envelope
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_rules.catalog import Catalog
from sparkfuse_stream_jobs.detect.alerts import Pace
from sparkfuse_stream_jobs.detect.rows import column_types, live_columns
from sparkfuse_stream_jobs.detect.rule_select import severities_sql
from sparkfuse_stream_jobs.detect.worker_start import write_starter
from sparkfuse_stream_jobs.environment import create_tables, table_environment

if TYPE_CHECKING:
    from pyflink.datastream import DataStream
    from pyflink.table import StatementSet, StreamTableEnvironment

NAME = "detect"
# The newest moment that SQL can hold; a window's end beyond it, or none, is no time.
_LATEST_MS = 253_402_300_799_999
# Time is the end of the windows: after an outage of the windows job it goes on where it stopped, so that nothing is
# taken for gone that was only late. It passes when a later window has begun, because rows of one window come together.
_LIVE = f"""
CREATE TABLE live_by_window (
  `window_end` AS TO_TIMESTAMP_LTZ(
    CASE WHEN `window_end_ms` BETWEEN 0 AND {_LATEST_MS} THEN `window_end_ms` ELSE CAST(0 AS BIGINT) END, 3),
  WATERMARK FOR `window_end` AS `window_end` - INTERVAL '0.001' SECOND
) WITH (
  'properties.group.id' = '{{prefix}}.detect',
  'scan.startup.mode' = 'group-offsets',
  'properties.auto.offset.reset' = 'earliest'
) LIKE `live` (EXCLUDING WATERMARKS OVERWRITING OPTIONS)
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
        # Keys whose state PyFlink keeps at hand; what has to be fetched is a call to the JVM and back.
        "python.state.cache-size": "10000",
        "python.map-state.read-cache-size": "10000",
        "python.map-state.write-cache-size": "10000",
        "parallelism.default": str(options.parallelism),
    }
    _, tables = table_environment(NAME, settings, **local)
    create_tables(tables, settings, ["live"])
    tables.execute_sql(_LIVE.format(prefix=settings.topic_prefix))
    judged = _judged(tables, settings)
    found = _findings(tables, judged, settings, catalog, options.pace)
    statements = tables.create_statement_set()
    statements.add_insert_sql(_insert(tables, settings, "findings", f"SELECT record_key, record_value FROM {found}"))
    of_baselines = f"SELECT record_key, record_value FROM {judged} WHERE kind = 'baseline'"
    statements.add_insert_sql(_insert(tables, settings, "baselines", of_baselines))
    return statements


def _judged(tables: StreamTableEnvironment, settings: Settings) -> str:
    """The view of rows with who, which stage and what was expected, and of baselines to be written."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators import AcrossRuns, Gate, Identify

    columns = ", ".join(f"`{name}`" for name in live_columns())
    live = tables.sql_query(f"SELECT {columns}, `kafka_partition`, `kafka_offset`, `window_end` FROM live_by_window")
    text, number, content = Types.STRING(), Types.LONG(), _bytes()
    stream = tables.to_data_stream(live).process(Gate(), Types.ROW([text, content])).name("gate").uid("gate")
    stream = stream.key_by(_first, text).process(Identify(), Types.ROW([text, text, number, content]))
    stream = stream.name("identify").uid("identify")
    stream = stream.key_by(_first, text).process(AcrossRuns(settings), _rule_row_type())
    return _view(tables, stream.name("baselines").uid("baselines"), "judged")


def _findings(tables: StreamTableEnvironment, judged: str, settings: Settings, catalog: Catalog, pace: Pace) -> str:
    """The view of the findings' records: the rules in one stateless statement, then lifecycle and alerts."""
    from pyflink.common import Types

    from sparkfuse_stream_jobs.detect.operators import Alerts, Lifecycle

    ruled = tables.sql_query(
        f"SELECT `payload`, {severities_sql(catalog)} AS `severities`, `run_key`, `window_end` "
        f"FROM {judged} WHERE `kind` = 'row'"
    )
    text = Types.STRING()
    stream = tables.to_data_stream(ruled).key_by(_third, text)
    stream = stream.process(Lifecycle(catalog, settings), Types.ROW([text, _bytes()]))
    stream = stream.name("lifecycle").uid("lifecycle").key_by(_first, text)
    stream = stream.process(Alerts(pace), Types.ROW_NAMED(["record_key", "record_value"], [text, text]))
    name = "finding_records_made"
    tables.create_temporary_view(name, tables.from_data_stream(stream.name("alerts").uid("alerts")))
    return name


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


def _rule_row_type() -> Any:
    from pyflink.common import Types

    types = {
        "string": Types.STRING(),
        "int32": Types.INT(),
        "int64": Types.LONG(),
        "double": Types.DOUBLE(),
        "bool": Types.BOOLEAN(),
    }
    fields = {"kind": types["string"], "record_key": types["string"], "record_value": types["string"]}
    fields |= {"payload": _bytes()}
    fields |= {column.name: types[column.type] for column in envelope().values()}
    for row, columns in column_types():
        fields[row] = Types.ROW_NAMED([name for name, _ in columns], [types[kind] for _, kind in columns])
    return Types.ROW_NAMED(list(fields), list(fields.values()))


def _bytes() -> Any:
    from pyflink.common import Types

    return Types.PRIMITIVE_ARRAY(Types.BYTE())


def _first(row: Any) -> str:
    key: str = row[0]
    return key


def _third(row: Any) -> str:
    key: str = row[2]
    return key
