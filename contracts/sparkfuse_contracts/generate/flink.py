"""The messages in Flink: column types, one CREATE TABLE for each topic, and the types as Java constants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sparkfuse_contracts.schema import Field, Message, Schema
from sparkfuse_contracts.topics import Topic

JAVA_PACKAGE = "io.sparkfuse.contracts"
IDLE_TIMEOUT = "2 s"  # without a timeout, an idle partition stops all windows
_SCALARS = {
    "string": "STRING",
    "bytes": "BYTES",
    "int32": "INT",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "map": "MAP<STRING, STRING>",
}
_ARRIVAL = (
    "`kafka_partition` INT METADATA FROM 'partition' VIRTUAL",
    "`kafka_offset` BIGINT METADATA FROM 'offset' VIRTUAL",
    "`arrived_at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL",
    "WATERMARK FOR `arrived_at` AS `arrived_at`",
)


def column_type(field: Field, schema: Schema) -> str:
    """Return the SQL type of a field; the type of a message field is a nested ROW."""
    single = row_type(schema[field.type], schema) if field.is_message else _SCALARS[field.type]
    return f"ARRAY<{single}>" if field.repeated else single


def row_type(message: Message, schema: Schema) -> str:
    """Return the ROW type of a message; all names are in backticks, because some are reserved words."""
    return f"ROW<{', '.join(f'`{field.name}` {column_type(field, schema)}' for field in message.fields)}>"


def table(topic: Topic, schema: Schema) -> str:
    """Return the CREATE TABLE statement of a topic, with the placeholders {bootstrap} and {prefix}."""
    columns = [f"`{field.name}` {column_type(field, schema)}" for field in schema[topic.message].fields]
    if topic.encoding == "protobuf":
        columns += _ARRIVAL
    options = ",\n".join(f"  '{key}' = '{value}'" for key, value in _options(topic, schema).items())
    name = topic.name.replace("-", "_")
    joined = ",\n  ".join(columns)
    return f"CREATE TABLE `{name}` (\n  {joined}\n) WITH (\n{options}\n)\n"


def _options(topic: Topic, schema: Schema) -> Mapping[str, str]:
    options = {
        "connector": "kafka",
        "topic": f"{{prefix}}.{topic.name}",
        "properties.bootstrap.servers": "{bootstrap}",
        "properties.group.id": f"{{prefix}}.flink.{topic.name}",
        "properties.isolation.level": "read_committed",
        "scan.startup.mode": "earliest-offset",
    }
    return {**options, **_watermark(topic), **_key(topic, schema), **_format(topic)}


def _watermark(topic: Topic) -> Mapping[str, str]:
    return {"scan.watermark.idle-timeout": IDLE_TIMEOUT} if topic.encoding == "protobuf" else {}


def _key(topic: Topic, schema: Schema) -> Mapping[str, str]:
    fields = {field.name for field in schema[topic.message].fields}
    # Flink never writes facts. The key of a signal is inside its signed payload.
    if not topic.key or topic.name == "facts" or not set(topic.key) <= fields:
        return {}
    key_format = "raw" if len(topic.key) == 1 else "json"
    return {"key.format": key_format, "key.fields": ";".join(topic.key), "value.fields-include": "ALL"}


def _format(topic: Topic) -> Mapping[str, str]:
    if topic.name == "facts":
        return {"value.format": "sparkfuse-fact"}
    if topic.encoding == "protobuf":
        return {
            "value.format": "protobuf",
            "value.protobuf.message-class-name": f"{JAVA_PACKAGE}.{topic.message}",
            "value.protobuf.ignore-parse-errors": "true",
        }
    return {
        "value.format": "json",
        "value.json.ignore-parse-errors": "true",
        "value.json.encode.ignore-null-fields": "true",
    }


def java_types(schema: Schema) -> str:
    """Return a Java class of constants for @DataTypeHint: the types of Fact, LiveRow and their members."""
    lines = [
        "// Generated from contracts/messages; do not edit.",
        f"package {JAVA_PACKAGE};",
        "",
        "/** Flink types of the rows that the jobs exchange, equal to those of the generated tables. */",
        "public final class LiveTypes {",
        *_constants(schema),
        "  private LiveTypes() {}",
        "}",
        "",
    ]
    return "\n".join(lines)


def _constants(schema: Schema) -> Iterator[str]:
    members = {
        field.name: schema[field.type] for name in ("Fact", "LiveRow") for field in schema[name].fields if field.kind_of
    }
    for name, message in {**members, "live_row": schema["LiveRow"], "fact": schema["Fact"]}.items():
        yield f"  /** {message.name}. */"
        yield f"  public static final String {name.upper()} ="
        fields = [f"`{field.name}` {column_type(field, schema)}" for field in message.fields]
        literals = [f'"{text}{", " if index + 1 < len(fields) else ">"}"' for index, text in enumerate(fields)]
        yield "\n          + ".join(['      "ROW<"', *literals]) + ";"
        yield ""
