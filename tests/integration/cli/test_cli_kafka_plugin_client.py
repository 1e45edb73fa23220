"""Tests that the Kafka clients in the plugin's jar work with each login and each codec, on a broker with an authorizer.

The build removes unused classes from the jar, so these tests use the jar and not the compiled classes.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from confluent_kafka import Producer

from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.topics import topic_name
from tests.integration.cli.conftest import PREFIX, Secured
from tests.integration.collectors.spark_runs import JAR, ROOT
from tests.secured_broker import PASSWORDS, PLAIN_MODULE

SOURCES = Path(__file__).parent / "plugin_client"
SPARK_JARS = ROOT / "build/envs/spark35/lib"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
RECORDS = 200
USER = "job"


@pytest.fixture(scope="module")
def signals(secured: Secured) -> list[str]:
    """Write one committed and one aborted record with each codec to the topic of signals; return the committed ones."""
    for codec in CODECS:
        own = {"transactional.id": f"{PREFIX}-{codec}", "compression.type": codec}
        producer = Producer(client_configuration(secured.kafka.settings(secured.kafka.admin_file, PREFIX), own))
        producer.init_transactions(30)
        for end in (producer.commit_transaction, producer.abort_transaction):
            producer.begin_transaction()
            producer.produce(topic_name("signals", PREFIX), f"{end.__name__} {codec}", b"key")
            end(30)
    return [f"commit_transaction {codec}" for codec in CODECS]


@pytest.fixture(scope="module")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Compile the programs; their class path has the plugin's jar, Spark, and Kafka's own client for the handler."""
    classes = tmp_path_factory.mktemp("classes")
    spark = next(SPARK_JARS.glob("python*/site-packages/pyspark/jars"))
    clients = next((ROOT / "build/kafka-libs").glob("kafka-clients-*.jar"))
    path = f"{classes}:{JAR}:{spark}/*:{clients}"
    javac = shutil.which("javac")
    assert javac
    subprocess.run([javac, "-cp", path, "-d", str(classes), *map(str, SOURCES.glob("*.java"))], check=True)
    return path


@pytest.mark.timeout(600)
def test_plugin_client_works_with_each_login_and_codec(
    secured: Secured, signals: list[str], class_path: str, tmp_path: Path
) -> None:
    """With each login and codec, the broker acknowledges all records, and the consumer reads committed records only.

    The last login uses a callback handler that was compiled for Kafka's own package names.
    """
    kafka, password = secured.kafka, PASSWORDS[USER]
    handler = f'sasl.jaas.config={PLAIN_MODULE} required handler_user="{USER}" handler_password="{password}";'
    logins = {
        "scram": secured.file(USER, "sasl").read_text(),
        "certificate": secured.file(USER, "tls").read_text(),
        "plain": kafka.plain_file(USER).read_text(),
        "token": kafka.token_file(USER).read_text(),
        "handler": kafka.plain_file(USER, handler, "sasl.client.callback.handler.class=PasswordHandler").read_text(),
    }
    files = []
    for (name, login), codec in zip(logins.items(), CODECS, strict=True):
        files.append(tmp_path / f"{name}-{codec}")
        files[-1].write_text(f"{login}compression.type={codec}\n")
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", class_path, "PluginClient", PREFIX, *map(str, files)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]

    assert [(name, sent, failed) for name, sent, failed, _ in found] == [
        (file.name, str(RECORDS), "0") for file in files
    ], done.stderr[-3000:]
    read = [[value for value in values.split(",") if "transaction" in value] for *_, values in found]
    assert read == [sorted(signals)] * len(files)
