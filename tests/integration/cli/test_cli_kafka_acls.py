"""Tests on a real broker that the permissions of each role allow exactly the operations that the role lists."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from confluent_kafka import KafkaError, Producer

from sparkfuse_contracts.kafka_acls import Role, roles
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.topics import topic_name, topics
from tests.integration.cli.conftest import PREFIX, Secured
from tests.integration.cli.kafka_attempts import ANSWER_SECONDS, Attempts

# The operations that Kafka includes in a granted operation.
INCLUDED = {"READ": {"DESCRIBE"}, "WRITE": {"DESCRIBE"}, "ALTER_CONFIGS": {"DESCRIBE_CONFIGS"}, "DELETE": {"DESCRIBE"}}
Permissions = dict[str, set[str]]


def _with_included(operations: tuple[str, ...]) -> set[str]:
    return set(operations).union(*(INCLUDED.get(operation, set()) for operation in operations))


def _listed(role: Role) -> Permissions:
    return {name: _with_included(role.topics.get(name, ())) for name in topics()}


@pytest.mark.parametrize("listener", ["sasl", "tls"])
@pytest.mark.parametrize("role", roles())
def test_role_may_do_what_it_lists_and_nothing_else(secured: Secured, role: str, listener: str) -> None:
    """A role can perform the operations on a topic that the role lists, and no others.

    The operations are producing, consuming, describing, altering, creating and deleting.
    """
    attempts = Attempts(secured.settings(role, listener))
    try:
        observed = {name: attempts.on(name) for name in topics()}
    finally:
        attempts.close()

    assert observed == _listed(roles()[role])


@pytest.mark.parametrize("role", roles())
def test_role_may_use_its_groups_and_transactional_ids_only(secured: Secured, role: str) -> None:
    """A role cannot use the groups and transactional ids of other roles.

    So no role can fence the producers or disturb the groups of another role.
    """
    readable = [name for name, operations in roles()[role].topics.items() if "READ" in operations]
    attempts = Attempts(secured.settings(role, "sasl"), *readable[:1])
    try:
        groups = {name: attempts.on_group(_named(name)) for name in _all(lambda each: each.groups)}
        ids = {name: attempts.on_transactional_id(_named(name)) for name in _all(lambda each: each.transactional_ids)}
    finally:
        attempts.close()

    own = roles()[role]
    assert groups == {name: _with_included(own.groups.get(name, ())) for name in groups}
    assert ids == {name: set(own.transactional_ids.get(name, ())) for name in ids}


def _all(part: Callable[[Role], Mapping[str, tuple[str, ...]]]) -> list[str]:
    return sorted({name for role in roles().values() for name in part(role)})


def _named(template: str) -> str:
    return template.replace("{prefix}", PREFIX).replace("*", "any")


def test_job_writes_facts_and_receipts_and_nothing_else(secured: Secured) -> None:
    """A job can write only facts and receipts.

    The expected topics are listed here and not read from the contract, so a wrong entry in the contract is found.
    """
    attempts = Attempts(secured.settings("job", "sasl"))
    try:
        observed = {name: attempts.on(name) - {"DESCRIBE"} for name in topics()}
    finally:
        attempts.close()

    nothing: Permissions = {name: set() for name in topics()}
    assert observed == nothing | {"facts": {"WRITE"}, "receipts": {"WRITE"}, "signals": {"READ"}, "controls": {"READ"}}


def test_writers_of_the_topics_that_the_fuse_trusts() -> None:
    """Only the fuse controller writes the audit log, and only people write controls and approvals."""
    writers = {name: [role.name for role in roles().values() if "WRITE" in role.topics.get(name, ())]
               for name in ("signals", "audit", "controls", "approvals")}  # fmt: skip

    assert writers == {
        "signals": ["fuse-controller", "collector-switch"],
        "audit": ["fuse-controller"],
        "controls": ["operator"],
        "approvals": ["operator"],
    }


def test_idempotent_producer_of_a_job_needs_no_permission_on_the_cluster(secured: Secured) -> None:
    """The plugin's producer is idempotent; since Kafka 3.0, this requires only WRITE on the topic."""
    settings = secured.settings("job", "sasl")
    producer = Producer(client_configuration(settings, {"enable.idempotence": True, "log_level": 0}))
    errors: list[KafkaError] = []
    producer.produce(
        topic_name("facts", PREFIX), b"{}", on_delivery=lambda error, _: errors.append(error) if error else None
    )

    assert producer.flush(ANSWER_SECONDS) == 0
    assert errors == []
