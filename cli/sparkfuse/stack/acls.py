"""The Kafka permissions of roles: as commands of kafka-acls, as data, or applied to a broker."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from confluent_kafka import KafkaException
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse_contracts.kafka_access import KafkaAccess, KafkaUnavailableError, explain
from sparkfuse_contracts.kafka_acls import CLUSTER, Acl, acls, roles
from sparkfuse_contracts.settings import Settings

RESOURCE_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "cluster": ResourceType.BROKER,  # librdkafka's name for the cluster
}
PATTERNS = {"literal": ResourcePatternType.LITERAL, "prefixed": ResourcePatternType.PREFIXED}
ANY_HOST = "*"


@dataclass(frozen=True)
class Grant:
    """One permission on Kafka, for the principal of a role."""

    role: str
    principal: str
    acl: Acl


def principals_of(given: Iterable[str]) -> Mapping[str, str]:
    """Return the principal of each role, from entries ``role=User:name``.

    If ``given`` is empty, the principal of every role is User:sparkfuse-<role>.

    Raises:
        StartError: an entry does not have this form, or its role does not exist.
    """
    found: dict[str, str] = {}
    for entry in given:
        role, separator, principal = entry.partition("=")
        if not separator or not principal.startswith("User:") or principal == "User:":
            raise StartError(f"--principal {entry!r} must be role=User:name, such as job=User:spark", USAGE)
        if role not in roles():
            raise StartError(f"--principal {entry!r}: there is no role {role!r}; roles: {', '.join(roles())}", USAGE)
        found[role] = principal
    return found or {role: f"User:sparkfuse-{role}" for role in roles()}


def grants(principals: Mapping[str, str], prefix: str, *, old_brokers: bool = False) -> list[Grant]:
    """Return all permissions that the roles of these principals need."""
    return [
        Grant(role, principal, acl)
        for role, principal in principals.items()
        for acl in acls(roles()[role], prefix, old_brokers=old_brokers)
    ]


def as_data(wanted: Iterable[Grant]) -> list[dict[str, str]]:
    """Return one flat object for each permission."""
    return [{"role": grant.role, "principal": grant.principal, **asdict(grant.acl)} for grant in wanted]


def commands(wanted: Iterable[Grant], settings: Settings) -> list[str]:
    """Return one command of Apache Kafka's kafka-acls for each pair of principal and resource."""
    operations: dict[tuple[str, str, str, str], list[str]] = {}
    for grant in wanted:
        key = (grant.principal, grant.acl.resource, grant.acl.name, grant.acl.pattern)
        operations.setdefault(key, []).append(grant.acl.operation.title().replace("_", ""))
    login = ["--command-config", str(settings.kafka_config_file)] if settings.kafka_config_file else []
    tool = ["kafka-acls", "--bootstrap-server", settings.kafka_bootstrap, *login, "--add"]
    return [
        shlex.join([*tool, "--allow-principal", principal, *_options(names), *_resource(resource, name, pattern)])
        for (principal, resource, name, pattern), names in operations.items()
    ]


def _options(names: Iterable[str]) -> list[str]:
    return [part for name in names for part in ("--operation", name)]


def _resource(resource: str, name: str, pattern: str) -> list[str]:
    if name == CLUSTER:
        return ["--cluster"]
    return [f"--{resource}", name, *(["--resource-pattern-type", pattern] if pattern != "literal" else [])]


def apply(wanted: Iterable[Grant], settings: Settings) -> int:
    """Add the permissions to the broker's authorizer, and return their number; existing permissions are not removed.

    Raises:
        StartError: the broker is unreachable, has no authorizer, or denies the change.
    """
    bindings = [_binding(grant) for grant in wanted]
    try:
        access = KafkaAccess(settings)
        access.check_cluster("ALTER")
        for future in access.admin.create_acls(bindings).values():
            future.result()
    except KafkaUnavailableError as error:
        raise StartError(str(error)) from error
    except KafkaException as error:
        raise StartError(explain(settings, error.args[0], "ALTER the cluster")) from error
    return len(bindings)


def _binding(grant: Grant) -> AclBinding:
    acl = grant.acl
    return AclBinding(
        RESOURCE_TYPES[acl.resource], acl.name, PATTERNS[acl.pattern], grant.principal, ANY_HOST,
        AclOperation[acl.operation], AclPermissionType.ALLOW,
    )  # fmt: skip
