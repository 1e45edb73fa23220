"""The tables of the store, as data and as ClickHouse DDL: one wide table for each topic."""

from __future__ import annotations

import dataclasses
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
    """How the store stores a message: ``key`` is the sorting key, ``days`` the time to live.

    A new row replaces the row with the same key. If the table has a ``version`` column, the row with the larger version
    wins. ``more`` lists further expressions of the sorting key: those for fields that are absent in some kinds of
    records. ``first`` lists columns of the store that precede the key in the order of the table. ``indexes`` maps
    columns that are not at the start of the sorting key to the type of their skip index.

    If ``partition`` is given, the table has one partition for each day or month of arrival, so that expired rows are
    dropped as whole parts. The time of an event would not do: a batch would be several blocks, which are not stored
    atomically.
    """

    message: str
    key: tuple[str, ...]
    version: str | None
    days: int | None
    more: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    partition: str | None = None
    indexes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def certain(self) -> tuple[str, ...]:
        """The columns that cannot be NULL, because they are the sorting key or the version of the table."""
        return (*self.key, self.version) if self.version else self.key

    @property
    def order(self) -> tuple[str, ...]:
        """The expressions of the sorting key."""
        return (*self.first, *self.key, *self.more)


DAY = "toDate(inserted_at)"
MONTH = "toYYYYMM(inserted_at)"
# A part of one day or month has the rows of many applications, and most parts do not have a given application.
_IDS = "bloom_filter(0.001)"
_TIMES = "minmax"

# The key identifies a record, so ClickHouse merges two rows of the same record into one.
SHAPES: Mapping[str, Shape] = {
    "facts": Shape("Fact", ("app_id", "app_start_ms", "event_id"), None, 30, partition=DAY, indexes={"app_id": _IDS}),
    # Rows of one kind lie together, because a query reads one kind. Rows of two epochs are different rows; a row
    # without an epoch was written before epochs existed.
    "live": Shape(
        "LiveRow",
        ("app_id", "app_start_ms", "app_attempt", "row_seq"),
        None,
        90,
        ("ifNull(row_epoch_ms, 0)", "ifNull(cluster, 'default')", "ifNull(tenant, 'default')"),
        ("row",),
        DAY,
        {"app_id": _IDS, "window_end_ms": _TIMES},
    ),
    # One row for the application and one for each stage attempt. If a run is sent again, the new rows replace the
    # earlier rows.
    "history": Shape(
        "HistoryRow",
        ("app_id", "app_start_ms", "app_attempt", "row"),
        None,
        400,
        ("ifNull(stage_stage_id, -1)", "ifNull(stage_stage_attempt, -1)", "ifNull(query_query_id, -1)"),
        partition=MONTH,
        indexes={"app_id": _IDS},
    ),
    # One row for each query and each stage; a later name replaces an earlier name.
    "names": Shape(
        "DisplayName",
        ("app_id", "app_start_ms", "app_attempt", "kind"),
        "updated_ms",
        400,
        ("if(kind = 'query', ifNull(query_id, -1), -1)", "ifNull(stage_id, -1)"),
        partition=MONTH,
        indexes={"app_id": _IDS},
    ),
    # One row for each stage attempt, also if the windows job lost its state: the row of the latest window remains.
    "stage_expectations": Shape(
        "StageExpectation",
        ("app_id", "app_start_ms", "app_attempt", "stage_id", "stage_attempt"),
        "window_end_ms",
        400,
        ("ifNull(cluster, 'default')", "ifNull(tenant, 'default')"),
        partition=MONTH,
        indexes={"app_id": _IDS},
    ),
    # The history of all findings in the order of time; the table current_findings has the latest version of each.
    "findings": Shape(
        "Finding", ("updated_ms", "finding_id"), None, 400, partition=MONTH, indexes={"finding_id": _IDS}
    ),
    "baselines": Shape(
        "Baseline",
        ("job_key", "stage_fingerprint"),
        "updated_ms",
        None,
        # If cluster or tenant is absent, the value 'default' is used, as in the detect job.
        ("ifNull(cluster, 'default')", "ifNull(tenant, 'default')"),
    ),
    "feedback": Shape("Feedback", ("finding_id", "person"), "at_ms", None),
    "audit": Shape(
        "AuditRecord",
        ("sequence", "epoch"),
        None,
        400,
        partition=MONTH,
        indexes={"app_id": _IDS, "at_ms": _TIMES},
    ),
    "receipts": Shape(
        "Receipt",
        ("app_id", "at_ms", "receipt_id"),
        None,
        400,
        partition=MONTH,
        indexes={"app_id": _IDS, "at_ms": _TIMES},
    ),
    "dead_letters": Shape(
        "DeadLetter",
        ("kafka_partition", "kafka_offset"),
        None,
        30,
        partition=DAY,
        indexes={"seen_ms": _TIMES},
    ),
}


@dataclass(frozen=True)
class TableColumn:
    """One column of a table.

    ``path`` lists the fields that lead from the message to the value; it is empty if the store fills the column.
    """

    name: str
    type: str
    path: tuple[str, ...]
    description: str
    unit: str


def columns(table: str, schema: Schema) -> tuple[TableColumn, ...]:
    """Return the columns of a table: the envelope, the fields of a oneof as ``<kind>_<field>``, and Kafka's offset."""
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
        # A dead letter has two offsets: its own, and that of its origin. The prefix distinguishes their columns.
        name = f"origin_{field.name}" if field.name in KAFKA_COLUMNS else field.name
        column_type = _plain(field, schema) if name in shape.certain else _nullable(field, schema)
        yield TableColumn(name, column_type, (field.name,), field.description, field.unit)


def _own_columns(shape: Shape, schema: Schema) -> Iterator[TableColumn]:
    kinds = dict.fromkeys(field.kind_of for field in schema[shape.message].fields if field.kind_of)
    for kind in kinds:
        yield TableColumn(kind, "LowCardinality(String)", (), f"Member of {kind} that is set.", "text")
    yield TableColumn("kafka_partition", "Int32", (), "Partition of the record.", "count")
    yield TableColumn("kafka_offset", "Int64", (), "Offset of the record in its partition.", "count")
    yield TableColumn(
        "inserted_at", "DateTime64(3, 'UTC') DEFAULT now64(3, 'UTC')", (), "When the row was stored.", "ms"
    )


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


def _codec(column: TableColumn) -> str:
    """Return the codec of a column whose value differs little from row to row; the others have the server's codec."""
    rising = column.unit == "ms since epoch" or column.name in ("kafka_offset", "inserted_at")
    return " CODEC(Delta, ZSTD(1))" if rising else ""


def create_table(table: str, schema: Schema) -> str:
    """Return the statement CREATE TABLE IF NOT EXISTS for one table."""
    shape = SHAPES[table]
    listed = [f"`{column.name}` {column.type}{_codec(column)}" for column in columns(table, schema)]
    listed += [f"INDEX by_{name} {name} TYPE {kind} GRANULARITY 1" for name, kind in shape.indexes.items()]
    lines = [f"CREATE TABLE IF NOT EXISTS {table} (", ",\n".join(f"  {each}" for each in listed)]
    lines.append(f") ENGINE = ReplacingMergeTree({shape.version or ''})")
    if shape.partition:
        lines.append(f"PARTITION BY {shape.partition}")
    lines.append(f"ORDER BY ({', '.join(shape.order)})")
    if shape.days:
        lines.append(f"TTL toDateTime(inserted_at) + INTERVAL {shape.days} DAY")
    if shape.partition:
        lines.append("SETTINGS ttl_only_drop_parts = 1")
    return "\n".join(lines) + "\n"


def as_data(schema: Schema) -> Mapping[str, object]:
    """Return all tables as plain data, for the loader."""
    return {
        table: {
            "message": shape.message,
            "key": list(shape.key),
            "columns": [asdict(each) for each in columns(table, schema)],
        }
        for table, shape in SHAPES.items()
    }
