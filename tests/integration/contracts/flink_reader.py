"""Reads every topic to its end through the generated tables and writes the rows as JSON to ``<prefix>.rows.<topic>``.

The reader runs as a separate process, because PyFlink starts only one JVM per process. It also copies the topics that
the windows job writes to topics with another prefix, to test Flink's encoders.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from pyflink.table import EnvironmentSettings, TableEnvironment

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.examples import message_class
from sparkfuse_contracts.topics import Topic, topics
from sparkfuse_stream_jobs.environment import jars

WRITTEN_BY_WINDOWS = ("live", "dead-letters")
BOUNDED = "/*+ OPTIONS('scan.bounded.mode'='latest-offset') */"


def statements(bootstrap: str, prefix: str, copy_prefix: str) -> Iterator[str]:
    """Yield the CREATE TABLE statements, then the INSERT statements."""
    for topic in topics().values():
        ddl = asset("sparkfuse_contracts", "generated", "flink", f"{topic.name}.sql").read_text()
        name = _table(topic)
        yield ddl.format(bootstrap=bootstrap, prefix=prefix)
        yield ddl.format(bootstrap=bootstrap, prefix=copy_prefix).replace(f"TABLE `{name}`", f"TABLE `{name}_copy`")
        yield (f"CREATE TABLE `{name}_rows` WITH ('connector'='kafka', 'topic'='{prefix}.rows.{topic.name}', "
               f"'properties.bootstrap.servers'='{bootstrap}', 'format'='json') "
               f"LIKE `{name}` (EXCLUDING OPTIONS EXCLUDING WATERMARKS EXCLUDING METADATA)")  # fmt: skip
    for topic in topics().values():
        columns = ", ".join(f"`{field.name}`" for field in message_class(topic.message).DESCRIPTOR.fields)
        name = _table(topic)
        yield f"INSERT INTO `{name}_rows` SELECT {columns} FROM `{name}` {BOUNDED}"
        if topic.name in WRITTEN_BY_WINDOWS:
            yield f"INSERT INTO `{name}_copy` SELECT {columns} FROM `{name}` {BOUNDED}"


def _table(topic: Topic) -> str:
    return topic.name.replace("-", "_")


def main(bootstrap: str, prefix: str, copy_prefix: str, libraries: str) -> None:
    """Run all INSERT statements as one job."""
    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    configuration = environment.get_config()
    configuration.set("pipeline.jars", ";".join(jar.as_uri() for jar in jars(Path(libraries))))
    configuration.set("parallelism.default", "1")
    configuration.set("rest.port", "0")
    inserts = environment.create_statement_set()
    for statement in statements(bootstrap, prefix, copy_prefix):
        if statement.startswith("INSERT"):
            inserts.add_insert_sql(statement)
        else:
            environment.execute_sql(statement)
    inserts.execute().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
