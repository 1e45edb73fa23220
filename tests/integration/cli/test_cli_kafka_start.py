"""Tests that a process without a login or a permission exits with one sentence when it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.kafka_access import KafkaUnavailableError, require_access
from sparkfuse_contracts.kafka_acls import roles
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from tests.integration.cli.conftest import PREFIX, Secured, add_users, password_of
from tests.integration.cli.kafka_attempts import ANSWER_SECONDS
from tests.secured_broker import SecuredKafka


@pytest.mark.parametrize("role", [name for name in roles() if name != "job"])
def test_start_check_accepts_the_own_role(secured: Secured, role: str) -> None:
    """The check at the start accepts a principal with exactly the permissions of its role."""
    assert require_access(secured.settings(role, "sasl"), role).keys() == roles()[role].topics.keys()


@pytest.mark.parametrize(
    ("role", "denied"),
    [
        ("sender", "User:job may not READ the topic acl.findings"),
        ("windows", "User:job may not WRITE and DESCRIBE_CONFIGS the topic acl.live"),
        ("loader", "User:job may not READ the topic acl.live"),
    ],
)
def test_start_check_names_principal_operation_and_topic(secured: Secured, role: str, denied: str) -> None:
    """If a permission is missing, the check names principal, operation, topic and remedy in one sentence."""
    with pytest.raises(KafkaUnavailableError) as refused:
        require_access(secured.settings("job", "sasl"), role)

    assert str(refused.value).startswith(f"{denied} of Kafka at {secured.kafka.bootstrap}: grant it with")


def test_start_check_names_the_group(secured: Secured) -> None:
    """A principal without permission on its group is rejected when the process starts, not at the first commit."""
    admin, settings = secured.kafka.admin(), secured.settings("reader", "sasl")
    written = [topic_name(name, PREFIX) for name in ("dead-letters", "pages")]
    try:
        for topic in written:
            binding = AclBinding(
                ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:reader", "*", AclOperation.WRITE,
                AclPermissionType.ALLOW,
            )  # fmt: skip
            admin.create_acls([binding])[binding].result(ANSWER_SECONDS)
        with pytest.raises(KafkaUnavailableError, match=r"User:reader may not READ the consumer group acl\.sender"):
            require_access(settings, "sender")
    finally:
        for topic in written:
            of_binding = AclBindingFilter(
                ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, "User:reader", "*", AclOperation.WRITE,
                AclPermissionType.ALLOW,
            )  # fmt: skip
            admin.delete_acls([of_binding])[of_binding].result(ANSWER_SECONDS)


PROCESSES = {
    "sender": ["-m", "sparkfuse_alertmanager.sender"],
    "windows": ["-m", "sparkfuse_stream_jobs.windows"],
    "detect": ["-m", "sparkfuse_stream_jobs.detect"],
    "ship": ["-m", "sparkfuse.main", "ship", "."],
    "topics": ["-m", "sparkfuse.main", "kafka", "topics"],
    "acls": ["-m", "sparkfuse.main", "kafka", "acls", "--apply"],
}


def _start(process: str, kafka: SecuredKafka, file: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **kafka.environment(file, PREFIX), "SPARKFUSE_HOME": str(home)}
    command = [sys.executable, *PROCESSES[process]]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False, cwd=home)


@pytest.mark.parametrize("process", PROCESSES)
def test_wrong_password_is_one_sentence(secured: Secured, tmp_path: Path, process: str) -> None:
    """If the broker rejects a login, each process exits with code 3 and names the principal, but not the password."""
    file = secured.kafka.file("job", "wrong-word")
    done = _start(process, secured.kafka, file, tmp_path)

    assert done.returncode == 3
    assert f"Kafka at {secured.kafka.bootstrap} refuses the login of User:job: " in done.stderr
    assert len([line for line in done.stderr.splitlines() if "INFO" not in line]) == 1
    assert "wrong-word" not in done.stderr


@pytest.mark.parametrize(
    ("process", "denied"),
    [
        ("sender", "User:job may not READ the topic acl.findings"),
        ("windows", "User:job may not WRITE and DESCRIBE_CONFIGS the topic acl.live"),
        ("detect", "User:job may not READ and DESCRIBE_CONFIGS the topic acl.live"),
        ("ship", "User:job may not WRITE the topic acl.history"),
        ("topics", "User:job may not DESCRIBE the topic acl.live"),
        ("acls", "User:job may not ALTER the cluster"),
    ],
)
def test_denied_start_is_one_sentence(secured: Secured, tmp_path: Path, process: str, denied: str) -> None:
    """A process with the login of a job ends with exit code 3 and names principal, operation and resource."""
    done = _start(process, secured.kafka, secured.kafka.file("job", password_of("job")), tmp_path)

    assert done.returncode == 3
    assert f"{denied} of Kafka at" in done.stderr
    assert len([line for line in done.stderr.splitlines() if "INFO" not in line]) == 1


def test_failed_tls_is_one_sentence(secured: Secured, tmp_path: Path) -> None:
    """If the certificate of the broker is not trusted, the error names the broker and the reason of the TLS library."""
    file = tmp_path / "no-trust.properties"
    file.write_text(f"bootstrap.servers={secured.kafka.tls_bootstrap}\nsecurity.protocol=SSL\n")
    done = _start("sender", secured.kafka, file, tmp_path)

    assert done.returncode == 3
    assert f"the TLS connection to Kafka at {secured.kafka.tls_bootstrap} fails: " in done.stderr
    assert "certificate verify failed" in done.stderr


@dataclass(frozen=True)
class Describer:
    """Yield the settings of a principal that may only describe topics."""

    secured: Secured

    def settings(self, prefix: str) -> Settings:
        kafka = self.secured.kafka
        return kafka.settings(kafka.file("describer", password_of("describer")), prefix)


@pytest.fixture
def describer(secured: Secured) -> Describer:
    admin = secured.kafka.admin()
    add_users(admin, ["describer"])
    bindings = [
        AclBinding(
            ResourceType.TOPIC, prefix, ResourcePatternType.PREFIXED, "User:describer", "*", AclOperation.DESCRIBE,
            AclPermissionType.ALLOW,
        )
        for prefix in (f"{PREFIX}.", "absent.")
    ]  # fmt: skip
    for future in admin.create_acls(bindings).values():
        future.result(ANSWER_SECONDS)
    return Describer(secured)


def test_existing_topics_need_only_describe(describer: Describer, caplog: pytest.LogCaptureFixture) -> None:
    """If the topics exist, the permission to describe them is enough.

    No topic is created, and a warning says that the settings of the topics cannot be checked.
    """
    assert ensure_topics(describer.settings(PREFIX)) == []
    assert "User:describer may not DESCRIBE_CONFIGS, so the settings of acl.facts" in caplog.text


def test_missing_topics_that_may_not_be_created_are_named(describer: Describer) -> None:
    """If the principal cannot create missing topics, the error names them, the principal, and who can create them."""
    with pytest.raises(StartError) as refused:
        ensure_topics(describer.settings("absent"))

    assert "has no topic absent.facts, absent.live" in str(refused.value)
    assert "User:describer may not CREATE topics: ask an administrator" in str(refused.value)
