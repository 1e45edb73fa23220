"""Checks at the start of a process that Kafka answers, that the topics exist, and that the principal may use them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparkfuse_contracts.kafka_acls import acls, roles
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings, kafka_file_properties
from sparkfuse_contracts.topics import Topic, topic_name, topics

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import AdminClient

ANSWER_SECONDS = 30.0
"""How long to wait for an answer: a broker that has just started needs this long if all clients connect together."""
REQUEST_SECONDS = 10.0
"""How long to wait for the answer to one request; then the request is sent again until ANSWER_SECONDS have passed.

A request that the client sent before a coordinator was elected may stay unanswered, so it must be sent again.
If no broker accepts a connection during the first request, the request is not sent again.
"""
NEW_TOPIC_SECONDS = 3.0
"""The longest time after which a broker lists a topic that was just created."""
POLL_SECONDS = 0.05
ESSENTIAL = ("message.timestamp.type", "cleanup.policy")
"""The topic settings on which a guarantee depends; operators may change others, such as retention and compression."""
# In the client's error messages, the broker's address precedes the reason, and the connection's state follows it.
_ADDRESS, _STATE = re.compile(r"^\w+://\S+: "), re.compile(r" \(after \d+ms in state \w+\).*$")


class KafkaUnavailableError(RuntimeError):
    """Kafka, a topic or a permission that the process needs is not available; the message is one sentence."""


class BrokerNotReadyError(KafkaUnavailableError):
    """No broker answers, or one answers that it cannot; later, it may answer without a change of the settings."""


@dataclass(frozen=True)
class FoundTopic:
    """A topic of the broker; its ``id`` differs from that of a deleted topic of the same name."""

    name: str
    id: str
    partitions: tuple[int, ...]


def require_access(settings: Settings, role: str) -> Mapping[str, FoundTopic]:
    """Check the access of a role, and return its topics by topic name without the prefix.

    Raises KafkaUnavailableError in these cases:
    no broker answers, or the broker refuses the login;
    a topic does not exist, or has a setting that breaks a guarantee;
    the principal lacks a permission that contracts/kafka_acls.yaml lists for the role.
    """
    access, prefix = KafkaAccess(settings), settings.topic_prefix
    wanted = acls(roles()[role], prefix)
    found = access.topics({topic_name(name, prefix): operations for name, operations in roles()[role].topics.items()})
    for acl in wanted:
        if acl.resource == "group" and acl.pattern == "literal":
            access.check_group(acl.name, acl.operation)
        if acl.resource == "topic" and acl.operation == "DESCRIBE_CONFIGS":
            access.check_settings(acl.name, topics()[acl.name.removeprefix(f"{prefix}.")])
    return {name: found[topic_name(name, prefix)] for name in roles()[role].topics}


class KafkaAccess:
    """Asks the broker which topics exist and what the principal named in the settings may do."""

    def __init__(self, settings: Settings) -> None:
        """Connect to the broker.

        Raises KafkaUnavailableError if the client does not accept the file of SPARKFUSE_KAFKA_CONFIG.
        """
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._settings = settings
        self._errors: list[KafkaError] = []
        # error_cb collects the errors, so the client's own log is disabled.
        own = {"error_cb": self._errors.append, "log_level": 0}
        try:
            self.admin: AdminClient = AdminClient(client_configuration(settings, own))
        except KafkaException as error:
            raise KafkaUnavailableError(f"the Kafka client does not accept its configuration: {error}") from error

    def topics(self, wanted: Mapping[str, Iterable[str]]) -> Mapping[str, FoundTopic]:
        """Return the topics in ``wanted``, which maps full topic names to the operations that are needed.

        Raises KafkaUnavailableError if topics are missing or an operation is denied.
        """
        until = time.monotonic() + NEW_TOPIC_SECONDS
        described = self.describe(wanted)
        while missing := [name for name, found in described.items() if found is None]:
            if time.monotonic() > until:
                raise KafkaUnavailableError(missing_topics(self._settings, missing))
            time.sleep(POLL_SECONDS)
            described = self.describe(wanted)
        for name, found in described.items():
            self._require(found.authorized_operations, wanted[name], f"the topic {name}")
        return {
            name: FoundTopic(name, str(found.topic_id), tuple(sorted(each.id for each in found.partitions)))
            for name, found in described.items()
        }

    def describe(self, wanted: Mapping[str, Iterable[str]]) -> dict[str, Any]:
        """Return the client's TopicDescription of each topic; None for a topic that does not exist.

        Raises KafkaUnavailableError if the principal may not describe a topic.
        """
        from confluent_kafka import KafkaError, KafkaException, TopicCollection

        def ask() -> Any:
            return self.admin.describe_topics(
                TopicCollection(list(wanted)), include_authorized_operations=True, request_timeout=REQUEST_SECONDS
            )

        futures = self._ask(ask)
        described = {}
        for name, future in futures.items():
            try:
                described[name] = future.result()
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._unavailable(error, f"{' and '.join(wanted[name])} the topic {name}") from error
                described[name] = None
        return described

    def check_group(self, name: str, operation: str) -> None:
        """Raise KafkaUnavailableError if the principal may not use the consumer group for this operation."""
        from confluent_kafka import KafkaException

        def ask() -> Any:
            return self.admin.describe_consumer_groups(
                [name], include_authorized_operations=True, request_timeout=REQUEST_SECONDS
            )

        try:
            found = self._ask(ask)[name].result()
        except KafkaException as error:
            raise self._unavailable(error, f"{operation} the consumer group {name}") from error
        self._require(found.authorized_operations, [operation], f"the consumer group {name}")

    def check_cluster(self, operation: str) -> None:
        """Raise KafkaUnavailableError if the principal may not perform the operation on the cluster."""
        from confluent_kafka import KafkaException

        what = f"{operation} the cluster"
        try:
            asked = self._ask(
                lambda: {
                    "cluster": self.admin.describe_cluster(
                        include_authorized_operations=True, request_timeout=REQUEST_SECONDS
                    )
                }
            )
            found = asked["cluster"].result()
        except KafkaException as error:
            raise self._unavailable(error, what) from error
        self._require(found.authorized_operations, [operation], "the cluster")

    def check_settings(self, name: str, topic: Topic) -> None:
        """Raise KafkaUnavailableError if a setting of the topic breaks a guarantee."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, name)
        try:
            asked = self._ask(lambda: self.admin.describe_configs([resource], request_timeout=REQUEST_SECONDS))
            actual = asked[resource].result()
        except KafkaException as error:
            raise self._unavailable(error, f"DESCRIBE_CONFIGS the topic {name}") from error
        for setting, right in topic.config.items():
            if setting in ESSENTIAL and actual[setting].value != right:
                raise KafkaUnavailableError(
                    f"topic {name} has {setting}={actual[setting].value}, but it must be {right}: set it with `kafka-"
                    f"configs --alter --entity-type topics --entity-name {name} --add-config {setting}={right}`"
                )

    def _require(self, allowed: Any, wanted: Iterable[str], resource: str) -> None:
        """Raise KafkaUnavailableError if an operation is denied.

        Some brokers do not return the allowed operations; in this case nothing is checked.
        """
        names = {operation.name for operation in allowed or ()}
        denied = [operation for operation in wanted if names and operation not in names]
        if denied:
            raise KafkaUnavailableError(_denied(self._settings, f"{' and '.join(denied)} {resource}"))

    def _ask(self, request: Callable[[], Any]) -> Mapping[Any, Future[Any]]:
        """Send a request, repeat it while a reachable broker starts, and return its futures, which are all done."""
        from confluent_kafka import KafkaError, KafkaException

        starting = {
            KafkaError._TIMED_OUT,  # noqa: SLF001 - the client has no public name for its own errors
            KafkaError.NOT_COORDINATOR,
            KafkaError.COORDINATOR_NOT_AVAILABLE,
            KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        }
        until = time.monotonic() + ANSWER_SECONDS
        while True:
            futures: Mapping[Any, Future[Any]] = request()
            for future in futures.values():
                self._wait(future)
            errors = [future.exception() for future in futures.values()]
            codes = {error.args[0].code() for error in errors if isinstance(error, KafkaException)}
            unreachable = KafkaError._ALL_BROKERS_DOWN in {error.code() for error in self._errors}  # noqa: SLF001 - as above
            if not codes & starting or unreachable or time.monotonic() > until:
                return futures
            time.sleep(POLL_SECONDS)

    def _wait(self, future: Future[Any]) -> None:
        """Wait until the future is done. Raises KafkaUnavailableError if the broker refuses the login."""
        from confluent_kafka import KafkaError

        while not future.done():
            self.admin.poll(POLL_SECONDS)
            for error in self._errors:
                if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001 - no public name
                    raise KafkaUnavailableError(explain(self._settings, error))

    def _unavailable(self, error: KafkaException, what: str) -> KafkaUnavailableError:
        # If TLS fails, the client raises only a timeout, and reports the cause in a separate TLS error.
        of_tls = [each for each in self._errors if "SSL" in each.str()]
        reason = of_tls[-1] if of_tls else error.args[0]
        kind = KafkaUnavailableError if of_tls or reason.code() in _denials() else BrokerNotReadyError
        return kind(explain(self._settings, reason, what))


def missing_topics(settings: Settings, names: Iterable[str]) -> str:
    """Return a sentence that names the topics that do not exist."""
    return (
        f"Kafka at {settings.kafka_bootstrap} has no topic {', '.join(names)}: {_creators(settings)} the topics of "
        "contracts/topics.yaml"
    )


def _creators(settings: Settings) -> str:
    """Return the commands that create the topics, with their verb."""
    if settings.kafka_name:
        return f"`SPARKFUSE_KAFKA_CONFIG={settings.kafka_config_file} sparkfuse kafka topics` creates"
    return "`sparkfuse up` and `sparkfuse kafka topics` create"


def explain(settings: Settings, error: KafkaError, what: str = "use it") -> str:
    """Return one sentence that explains why Kafka cannot be used.

    ``what`` is the denied operation with its resource, such as "WRITE the topic sparkfuse.audit".
    """
    from confluent_kafka import KafkaError

    bootstrap = settings.kafka_bootstrap
    reason = _STATE.sub("", _ADDRESS.sub("", error.str()))
    if error.code() in _denials():
        return _denied(settings, what)
    if error.code() == KafkaError._AUTHENTICATION:  # noqa: SLF001
        return f"Kafka at {bootstrap} refuses the login of {principal(settings)}: {reason}"
    if "SSL" in reason:
        return f"the TLS connection to Kafka at {bootstrap} fails: {reason}"
    if error.code() < 0:  # these are errors of the client itself: no broker answered, or no broker answered in time
        file = str(settings.kafka_config_file) if settings.kafka_name else "SPARKFUSE_KAFKA_CONFIG"
        address = f"bootstrap.servers in {file}" if settings.kafka_name else "SPARKFUSE_KAFKA_BOOTSTRAP"
        return (
            f"no Kafka broker answers at {bootstrap}: is {address} right, is it running, and does "
            f"{file} have the security that it requires? ({reason})"
        )
    return f"Kafka at {bootstrap} answers with an error: {reason}"


def _denials() -> frozenset[int]:
    """Return the codes with which a broker denies an operation."""
    from confluent_kafka import KafkaError

    return frozenset({
        KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    })  # fmt: skip


def principal(settings: Settings) -> str:
    """Return the principal that the settings name; the broker may derive another name from the client's certificate."""
    file = kafka_file_properties(settings.kafka_config_file)
    if "sasl.username" in file:
        return f"User:{file['sasl.username']}"
    has_certificate = {"ssl.certificate.location", "ssl.certificate.pem", "ssl.keystore.location"} & file.keys()
    return "the client certificate's principal" if has_certificate else "User:ANONYMOUS"


def _denied(settings: Settings, what: str) -> str:
    return (
        f"{principal(settings)} may not {what} of Kafka at {settings.kafka_bootstrap}: "
        "grant it with the commands that `sparkfuse kafka acls` prints"
    )
