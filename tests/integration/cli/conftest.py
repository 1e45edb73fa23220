"""Provides a broker with logins, TLS and an authorizer, on which each role has its permissions."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer
from confluent_kafka.admin import AdminClient, ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.kafka_acls import roles
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name, topics
from tests.integration.cli.kafka_attempts import ANSWER_SECONDS
from tests.secured_broker import SecuredKafka, secured_kafka

PREFIX = "acl"


@dataclass(frozen=True)
class Secured:
    """The broker with the topics, and a login by password and by certificate for each role."""

    kafka: SecuredKafka

    def file(self, role: str, listener: str) -> Path:
        """Return the file with the login of a role: ``sasl`` is a password, ``tls`` a client certificate."""
        return self.kafka.file(role, password_of(role)) if listener == "sasl" else self.kafka.tls_file(role)

    def settings(self, role: str, listener: str) -> Settings:
        """Return the settings of a process with the login of a role."""
        return self.kafka.settings(self.file(role, listener), PREFIX)


def password_of(role: str) -> str:
    """Return a password with characters that must be quoted in properties files and JAAS."""
    return f'{role} "quoted"; back\\slash'


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Iterator[Secured]:
    """Yield the secured broker with its permissions, topics and records.

    The command under test grants the permissions, and the administrator creates the topics.
    """
    folder = tmp_path_factory.mktemp("secured")
    with secured_kafka(folder, repository / "build" / "kafka-libs") as kafka:
        add_users(kafka.admin(), list(roles()))
        _grant(kafka, [f"--principal={role}=User:{role}" for role in roles()])
        _grant(kafka, [f"--principal={role}=User:CN={role}" for role in roles()])
        found = Secured(kafka)
        assert len(ensure_topics(found.settings("administrator", "sasl"))) == len(topics())
        producer = Producer(client_configuration(kafka.settings(kafka.admin_file, PREFIX), {}))
        for name in topics():
            for partition in range(topics()[name].partitions):
                producer.produce(topic_name(name, PREFIX), b"{}", b"key", partition=partition, on_delivery=_stored)
        assert producer.flush(ANSWER_SECONDS) == 0
        yield found


def _stored(error: KafkaError | None, _message: Message) -> None:
    assert error is None


def add_users(admin: AdminClient, names: Sequence[str]) -> None:
    """Create users with the passwords of ``password_of``."""
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    upserts = [UserScramCredentialUpsertion(name, info, password_of(name).encode()) for name in names]
    for future in admin.alter_user_scram_credentials(upserts).values():
        future.result(ANSWER_SECONDS)


def _grant(kafka: SecuredKafka, options: list[str]) -> None:
    command = [sys.executable, "-m", "sparkfuse.main", "kafka", "acls", "--apply", *options]
    environment = {**os.environ, **kafka.environment(kafka.admin_file, PREFIX)}
    subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
