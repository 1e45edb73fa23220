"""Tests that the tables of the Flink jobs connect to Kafka with the security settings of the user's file."""

from __future__ import annotations

from pathlib import Path

from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.environment import fill
from sparkfuse_stream_jobs.windows import statement

TEMPLATE = (
    "WITH (\n  'topic' = '{prefix}.live',\n  'properties.bootstrap.servers' = '{bootstrap}',\n  'format' = '{kind}'\n)"
)


def test_table_gets_the_security_of_the_file(tmp_path: Path) -> None:
    """A table gets the security settings of the file.

    The name of the login module gets the package prefix of the connector; quotes and braces of a password are
    unchanged.
    """
    file = tmp_path / "kafka.properties"
    file.write_text(
        "bootstrap.servers=kafka:9\nsecurity.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="job" password="it\'s {prefix}";\n'
    )
    settings = Settings.from_environment({"SPARKFUSE_KAFKA_CONFIG": str(file)})

    assert fill(TEMPLATE, settings, kind="raw") == (
        "WITH (\n"
        "  'topic' = 'sparkfuse.live',\n"
        "  'properties.bootstrap.servers' = 'kafka:9',\n"
        "  'properties.security.protocol' = 'SASL_SSL',\n"
        "  'properties.sasl.mechanism' = 'PLAIN',\n"
        "  'properties.sasl.jaas.config' = 'org.apache.flink.kafka.shaded.org.apache.kafka.common.security.plain."
        'PlainLoginModule required username="job" password="it\'\'s {prefix}";\',\n'
        "  'format' = 'raw'\n)"
    )


def test_table_without_a_file_has_only_the_address() -> None:
    """Without SPARKFUSE_KAFKA_CONFIG, the table statement is the contract's statement with the broker's address."""
    settings = Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": "kafka:1"})
    filled = fill(TEMPLATE, settings, kind="raw")

    assert "'properties.bootstrap.servers' = 'kafka:1',\n  'format' = 'raw'" in filled


def test_job_of_a_source_reads_there_and_writes_at_home(tmp_path: Path) -> None:
    """The job of a source reads facts from the source, with its login, and writes rows to the home cluster."""
    file = tmp_path / "eu.properties"
    file.write_text("bootstrap.servers=eu:1\nsecurity.protocol=SSL\n")
    environment = {"SPARKFUSE_KAFKA_BOOTSTRAP": "home:1", "SPARKFUSE_SOURCES": f"eu={file}"}
    home = Settings.from_environment(environment)
    of_eu = Settings.from_environment({**environment, "SPARKFUSE_SOURCE": "eu"})

    address = "'properties.bootstrap.servers' = '{}:1',"
    assert f"{address.format('eu')}\n  'properties.security.protocol' = 'SSL'," in statement("facts", of_eu)
    assert "'value.sparkfuse-fact.cluster' = 'eu'" in statement("facts", of_eu)
    assert address.format("home") in statement("live_rows", of_eu)
    assert "SSL" not in statement("live_rows", of_eu)
    assert "source => 'eu'" in statement("insert_live", of_eu)
    assert "'eu:sparkfuse.facts'" in statement("insert_dead_letters", of_eu)
    assert address.format("home") in statement("facts", home)
    assert "source => ''" in statement("insert_live", home)
    assert "'sparkfuse.facts'" in statement("insert_dead_letters", home)
