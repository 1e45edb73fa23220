"""Tests the security settings of Kafka clients, from a user's file with Java's or librdkafka's property names."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer

from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.kafka_properties import KafkaPropertyError, java_properties, librdkafka_properties
from sparkfuse_contracts.properties_file import PropertiesFileError, read_properties
from sparkfuse_contracts.settings import SettingError, Settings

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def _settings(folder: Path, text: str, **environment: str) -> Settings:
    file = folder / "kafka.properties"
    file.write_text(text)
    return Settings.from_environment({"SPARKFUSE_KAFKA_CONFIG": str(file), **environment})


def test_client_uses_the_file_then_its_own_settings(tmp_path) -> None:
    """A client uses the security settings of the file; the file does not replace the client's own settings."""
    settings = _settings(tmp_path, "security.protocol=SASL_PLAINTEXT\nreconnect.backoff.ms=1\nsocket.timeout.ms=2\n")

    assert client_configuration(settings, {"socket.timeout.ms": 3}) == {
        "bootstrap.servers": "127.0.0.1:19092",
        "security.protocol": "SASL_PLAINTEXT",
        "reconnect.backoff.ms": "1",
        "socket.timeout.ms": 3,
    }


def test_without_a_file_only_the_address_is_added() -> None:
    """Without SPARKFUSE_KAFKA_CONFIG, only the broker's address is added to a client's settings."""
    settings = Settings.from_environment({"SPARKFUSE_KAFKA_BOOTSTRAP": "kafka:1"})

    assert client_configuration(settings, {"linger.ms": 0}) == {"bootstrap.servers": "kafka:1", "linger.ms": 0}


@pytest.mark.parametrize(
    ("environment", "address"),
    [({}, "file:1"), ({"SPARKFUSE_KAFKA_BOOTSTRAP": "environment:1"}, "environment:1")],
)
def test_address_of_the_environment_precedes_the_file(tmp_path, environment, address) -> None:
    """As for the plugin, the broker's address comes from the environment, or else from the file."""
    assert _settings(tmp_path, "bootstrap.servers=file:1\n", **environment).kafka_bootstrap == address


def test_renewed_password_is_used_by_the_next_client(tmp_path) -> None:
    """The file is read again for each client, so the next client uses a renewed password."""
    settings = _settings(tmp_path, "sasl.username=a\nsasl.password=old\n")
    (tmp_path / "kafka.properties").write_text("sasl.username=a\nsasl.password=new\n")

    assert client_configuration(settings, {})["sasl.password"] == "new"


def test_settings_do_not_contain_the_password(tmp_path) -> None:
    """Settings contain only the path of the file and not the password.

    Settings are printed, and sent to Flink's workers.
    """
    assert "secret-word" not in repr(_settings(tmp_path, "sasl.password=secret-word\n"))


@pytest.mark.parametrize(
    ("java", "librdkafka"),
    [
        ({"sasl.mechanism": "SCRAM-SHA-512"}, {"sasl.mechanisms": "SCRAM-SHA-512"}),
        ({"sasl.mechanism": "PLAIN", "sasl.mechanisms": "SCRAM-SHA-256"}, {"sasl.mechanisms": "SCRAM-SHA-256"}),
        (
            {"sasl.jaas.config": f'{PLAIN} required username="job" password="a;b=\\"c\\\\";'},
            {"sasl.username": "job", "sasl.password": 'a;b="c\\'},
        ),
        (
            {"sasl.jaas.config": f"{SCRAM} required\n  password='wo\"rd' username=job;"},
            {"sasl.username": "job", "sasl.password": 'wo"rd'},
        ),
        (
            {"sasl.jaas.config": "any.Module required;", "sasl.username": "a", "sasl.password": "b"},
            {"sasl.username": "a", "sasl.password": "b"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.truststore.certificates": "pem", "ssl.truststore.type": "PEM"}, {"ssl.ca.pem": "pem"}),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "chain", "ssl.keystore.key": "key"},
            {"ssl.certificate.pem": "chain", "ssl.key.pem": "key"},
        ),
        ({"ssl.protocol": "TLSv1.3", "ssl.truststore.password": "x"}, {}),
    ],
)
def test_java_names_are_mapped(java, librdkafka) -> None:
    """Each Java property is mapped to the property of librdkafka.

    If the file also has librdkafka's own name of a property, the value of that name is used.
    """
    assert librdkafka_properties(java) == librdkafka


@pytest.mark.parametrize(
    ("stores", "mapped"),
    [
        ({"ssl.truststore.location": "ca", "ssl.truststore.type": "PEM"}, {"ssl.ca.location": "ca"}),
        ({"ssl.truststore.location": "jks", "ssl.ca.location": "ca"}, {"ssl.ca.location": "ca"}),
        (
            {"ssl.keystore.location": "own", "ssl.keystore.type": "PEM"},
            {"ssl.certificate.location": "own", "ssl.key.location": "own"},
        ),
        (
            {"ssl.keystore.location": "own", "ssl.keystore.type": "PKCS12", "ssl.keystore.password": "word"},
            {"ssl.keystore.location": "own", "ssl.keystore.password": "word"},
        ),
        (
            {"ssl.keystore.location": "jks", "ssl.certificate.location": "own", "ssl.key.location": "own"},
            {"ssl.certificate.location": "own", "ssl.key.location": "own"},
        ),
    ],
)
def test_stores_are_mapped(tmp_path, monkeypatch, stores, mapped) -> None:
    """Key and trust stores that both languages can read are mapped.

    If the security file also names certificate files for Python, Python clients use these instead of a Java store.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("ca", "own", "jks"):
        (tmp_path / name).touch()

    assert librdkafka_properties(stores) == mapped


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"compression.type": "lz4"}, "compression.type has no equivalent in Python clients"),
        ({"sasl.login.callback.handler.class": "x.Y"}, "sasl.login.callback.handler.class has no equivalent"),
        ({"sasl.jaas.config": "com.Krb5LoginModule required;"}, "the login module com.Krb5LoginModule"),
        ({"sasl.jaas.config": "secret"}, "sasl.jaas.config must be: <login module> required"),
        ({"sasl.jaas.config": f'{PLAIN} required username="a";'}, "sasl.jaas.config has no username or no password"),
        ({"ssl.truststore.location": "x.jks"}, "ssl.truststore.location has the type JKS"),
        ({"ssl.keystore.location": "x.jks"}, "ssl.keystore.location has the type JKS"),
        ({"ssl.ca.location": "/nowhere/ca.pem"}, "ssl.ca.location: there is no file /nowhere/ca.pem"),
    ],
)
def test_error_names_the_property_that_cannot_be_mapped(given, sentence) -> None:
    """A property that Python clients cannot use raises an error with its name, instead of a client without security."""
    with pytest.raises(KafkaPropertyError) as refused:
        librdkafka_properties(given)

    assert sentence in str(refused.value)


@pytest.mark.parametrize(
    ("librdkafka", "java"),
    [
        (
            {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "job", "sasl.password": 'a"b\\'},
            {
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{SCRAM} required username="job" password="a\\"b\\\\";',
            },
        ),
        (
            {"sasl.mechanism": "PLAIN", "sasl.username": "job", "sasl.password": "b", "socket.timeout.ms": "1"},
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} required username="job" password="b";'},
        ),
        (
            {"ssl.ca.location": "ca", "security.protocol": "SSL"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca", "security.protocol": "SSL"},
        ),
        (
            {"ssl.certificate.location": "ca", "ssl.key.location": "key"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "chain", "ssl.keystore.key": "private"},
        ),
        ({"ssl.endpoint.identification.algorithm": "none"}, {"ssl.endpoint.identification.algorithm": ""}),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca", "ssl.ca.location": "key"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca"},
        ),
    ],
)
def test_names_of_librdkafka_are_mapped_for_java(tmp_path, monkeypatch, librdkafka, java) -> None:
    """The Flink jobs accept librdkafka's property names in the file.

    If the file also has Java's own name of a property, the value of that name is used.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca").write_text("chain")
    (tmp_path / "key").write_text("private")

    assert java_properties(librdkafka) == java


def test_error_names_the_property_that_java_lacks() -> None:
    """If Java lacks a property that affects the check of certificates, an error names the property.

    The property is not dropped silently.
    """
    with pytest.raises(KafkaPropertyError, match=r"^enable\.ssl\.certificate\.verification has no equivalent in Java"):
        java_properties({"enable.ssl.certificate.verification": "false"})


def test_login_survives_both_translations() -> None:
    """A user name and a password with quotes have the same value in both kinds of clients."""
    login = {"sasl.mechanisms": "PLAIN", "sasl.username": "a 'b'", "sasl.password": 'x"\\;= y'}

    assert librdkafka_properties(java_properties(login)) == login


def test_invalid_file_is_an_invalid_setting(tmp_path) -> None:
    """A process with an invalid security file does not start, and the error does not contain a password."""
    with pytest.raises(SettingError) as refused:
        _settings(tmp_path, "sasl.jaas.config=secret-word\n")

    assert "SPARKFUSE_KAFKA_CONFIG='" in str(refused.value)
    assert "sasl.jaas.config must be" in str(refused.value)
    assert "secret-word" not in str(refused.value)


def test_librdkafka_accepts_every_mapped_property(tmp_path) -> None:
    """The installed librdkafka client accepts the name of each mapped property."""
    mapped = librdkafka_properties({
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f'{SCRAM} required username="job" password="word";',
        "ssl.endpoint.identification.algorithm": "https",
        "client.dns.lookup": "use_all_dns_ips",
        "reconnect.backoff.ms": "200",
        "reconnect.backoff.max.ms": "5000",
        "connections.max.idle.ms": "540000",
        "metadata.max.age.ms": "300000",
        "client.rack": "a",
    })  # fmt: skip
    refused = Producer({**mapped, "bootstrap.servers": "127.0.0.1:1", "log_level": 0}).flush(0)

    assert refused == 0


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("# note\n! note\n\n a = b \n", {"a": "b "}),
        ("a:b\nc d\ne==f\ng\n", {"a": "b", "c": "d", "e": "=f", "g": ""}),
        ("a=b \\\n   c\r\nd=\\u00e4\\t\\\\\\=\r", {"a": "b c", "d": "ä\t\\="}),
        ("a\\=b\\ c=d\\:\n", {"a=b c": "d:"}),
        ("a=1\na=2", {"a": "2"}),
        ("# grün\na=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n#2", {"a": "1#2"}),
    ],
)
def test_files_are_read_as_java_reads_them(tmp_path, text, entries) -> None:
    """Comments, separators, escapes and continued lines are read as java.util.Properties reads them."""
    file = tmp_path / "a.properties"
    file.write_bytes(text.encode())

    assert read_properties(file) == entries


def test_character_outside_ascii_is_refused(tmp_path) -> None:
    """A character outside ASCII is rejected, because Java would read a different password from the same UTF-8 file."""
    file = tmp_path / "a.properties"
    file.write_bytes("a=1\nsasl.password=grün\n".encode())

    with pytest.raises(PropertiesFileError, match=r"line 2 has a character outside ASCII: write it as \\uXXXX"):
        read_properties(file)
