"""The store's view of the messages: one wide table a topic, its columns as data and as ClickHouse DDL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

from sparkfuse_contracts.schema import Field, Schema

_SCALARS = {
    "string": "String",
    "bytes": "String",
    "int32": "Int32",
    "int64": "Int64",
    "double": "Float64",
    "bool": "Bool",
}
KAFKA_COLUMNS = ("kafka_partition", "kafka_offset")


@dataclass(frozen=True)
class Shape:
    """How a message is kept: ``key`` orders the table and decides what replaces what, ``days`` is its time to live.

    ``more`` are expressions behind the key, where parts of it are absent in some kinds of records.
    """

    message: str
    key: tuple[str, ...]
    version: str | None
    days: int | None
    more: tuple[str, ...] = ()

    @property
    def certain(self) -> tuple[str, ...]:
        """Columns that cannot be NULL: ClickHouse wants it of what orders and versions a table."""
        return (*self.key, self.version) if self.version else self.key


# The key of a table holds what makes a record one, so that a record that was stored twice is merged into one.
SHAPES: Mapping[str, Shape] = {
    "facts": Shape("Fact", ("app_id", "app_start_ms", "event_id"), None, 30),
    "live": Shape("LiveRow", ("app_id", "app_start_ms", "app_attempt", "row_seq"), None, 90),
    # One row for the application and one for each stage attempt; whoever sends a run again replaces it.
    "history": Shape(
        "HistoryRow",
        ("app_id", "app_start_ms", "app_attempt", "row"),
        None,
        400,
        ("ifNull(stage_stage_id, -1)", "ifNull(stage_stage_attempt, -1)"),
    ),
    # One row for each query and each stage; the latest name replaces the earlier one.
    "names": Shape(
        "DisplayName",
        ("app_id", "app_start_ms", "app_attempt", "kind"),
        "updated_ms",
        400,
        ("if(kind = 'query', ifNull(query_id, -1), -1)", "ifNull(stage_id, -1)"),
    ),
    "findings": Shape("Finding", ("finding_id", "updated_ms"), None, 400),
    "baselines": Shape(
        "Baseline",
        ("job_key", "stage_fingerprint"),
        "updated_ms",
        None,
        # Absent is default, as detection reads it: what was written before it said whose it is was that one's.
        ("ifNull(cluster, 'default')", "ifNull(tenant, 'default')"),
    ),
    "signals": Shape("SignedSignal", ("kafka_partition", "kafka_offset"), None, 400),
    "actions": Shape("Action", ("app_id", "at_ms", "action_id"), None, 400),
    "dead_letters": Shape("DeadLetter", ("kafka_partition", "kafka_offset"), None, 30),
}


@dataclass(frozen=True)
class TableColumn:
    """One column of a table. ``path`` is the way to the field from the message; empty for the store's own columns."""

    name: str
    type: str
    path: tuple[str, ...]
    description: str
    unit: str


def columns(table: str, schema: Schema) -> tuple[TableColumn, ...]:
    """The columns of a table: the envelope as it is, members of a oneof as ``<kind>_<field>``, then Kafka's place."""
    shape = SHAPES[table]
    return (*_message_columns(shape, schema), *_own_columns(shape, schema))


def _message_columns(shape: Shape, schema: Schema) -> Iterator[TableColumn]:
    for field in schema[shape.message].fields:
        if field.kind_of:
            for inner in schema[field.type].fields:
                name = f"{field.name}_{inner.name}"
                yield TableColumn(
                    name, _nullable(inner, schema), (field.name, inner.name), inner.description, inner.unit
                )
            continue
        # A record's own origin must not hide where the store got it from.
        name = f"origin_{field.name}" if field.name in KAFKA_COLUMNS else field.name
        column_type = _plain(field, schema) if name in shape.certain else _nullable(field, schema)
        yield TableColumn(name, column_type, (field.name,), field.description, field.unit)


def _own_columns(shape: Shape, schema: Schema) -> Iterator[TableColumn]:
    kinds = dict.fromkeys(field.kind_of for field in schema[shape.message].fields if field.kind_of)
    for kind in kinds:
        yield TableColumn(kind, "LowCardinality(String)", (), f"Which member of {kind} was set.", "text")
    yield TableColumn("kafka_partition", "Int32", (), "Partition of the topic that it was read from.", "count")
    yield TableColumn("kafka_offset", "Int64", (), "Offset in that partition.", "count")
    yield TableColumn("inserted_at", "DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')", (), "When it was stored.", "ms")


def _plain(field: Field, schema: Schema) -> str:
    if field.type == "map":
        return "Map(String, String)"
    if not field.is_message:
        return f"Array({_SCALARS[field.type]})" if field.repeated else _SCALARS[field.type]
    parts = ", ".join(f"{inner.name} {_nullable(inner, schema)}" for inner in schema[field.type].fields)
    return f"Array(Tuple({parts}))" if field.repeated else f"Tuple({parts})"


def _nullable(field: Field, schema: Schema) -> str:
    plain = _plain(field, schema)
    return plain if field.repeated or field.is_message or field.type == "map" else f"Nullable({plain})"


def create_table(table: str, schema: Schema) -> str:
    """CREATE TABLE IF NOT EXISTS of one table."""
    shape = SHAPES[table]
    listed = ",\n  ".join(f"`{column.name}` {column.type}" for column in columns(table, schema))
    engine = f"ReplacingMergeTree({shape.version or ''})"
    until = f"\nTTL toDateTime(inserted_at) + INTERVAL {shape.days} DAY" if shape.days else ""
    order = ", ".join((*shape.key, *shape.more))
    return f"CREATE TABLE IF NOT EXISTS {table} (\n  {listed}\n) ENGINE = {engine}\nORDER BY ({order}){until}\n"


def as_data(schema: Schema) -> Mapping[str, object]:
    """All tables as plain data, for those who fill them."""
    return {
        table: {
            "message": shape.message,
            "key": list(shape.key),
            "columns": [asdict(each) for each in columns(table, schema)],
        }
        for table, shape in SHAPES.items()
    }
