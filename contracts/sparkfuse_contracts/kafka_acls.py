"""Reads the Kafka permissions of each role from contracts/kafka_acls.yaml, and returns them as access control lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.topics import topic_name

Operations = Mapping[str, tuple[str, ...]]
CLUSTER = "kafka-cluster"
"""The name of the cluster resource; Kafka has only one."""


@dataclass(frozen=True)
class Role:
    """One role: its allowed operations by topic (without the prefix), by consumer group and by transactional id."""

    name: str
    description: str
    topics: Operations
    groups: Operations
    transactional_ids: Operations

    @property
    def writes(self) -> bool:
        """Whether the role writes to at least one topic."""
        return any("WRITE" in operations for operations in self.topics.values())


@dataclass(frozen=True)
class Acl:
    """One permission. ``resource`` is topic, group, transactional-id or cluster; ``pattern`` is literal or prefixed."""

    resource: str
    name: str
    pattern: str
    operation: str


@cache
def roles() -> Mapping[str, Role]:
    """Return all roles of contracts/kafka_acls.yaml by name."""
    entries = yaml.safe_load(asset("sparkfuse_contracts", "kafka_acls.yaml").read_text())
    return MappingProxyType({name: _role(name, entry) for name, entry in entries.items()})


def _role(name: str, entry: Mapping[str, Any]) -> Role:
    def operations(part: str) -> Operations:
        return MappingProxyType({key: tuple(values) for key, values in entry.get(part, {}).items()})

    return Role(name, entry["description"], operations("topics"), operations("groups"), operations("transactional_ids"))


def acls(role: Role, prefix: str, *, old_brokers: bool = False) -> list[Acl]:
    """Return the permissions of a role for the topics with this prefix.

    Set ``old_brokers`` for brokers before Kafka 3.0, which require IDEMPOTENT_WRITE on the cluster from each writer.
    """
    found = [
        Acl("topic", topic_name(topic, prefix), "literal", operation)
        for topic, operations in role.topics.items()
        for operation in operations
    ]
    found += _prefixed("group", role.groups, prefix)
    found += _prefixed("transactional-id", role.transactional_ids, prefix)
    if old_brokers and role.writes:
        found.append(Acl("cluster", CLUSTER, "literal", "IDEMPOTENT_WRITE"))
    return found


def _prefixed(resource: str, names: Operations, prefix: str) -> Iterator[Acl]:
    for template, operations in names.items():
        name, pattern = template.replace("{prefix}", prefix), "literal"
        if name.endswith("*"):
            name, pattern = name.removesuffix("*"), "prefixed"
        for operation in operations:
            yield Acl(resource, name, pattern, operation)
