"""Tries out which operations a principal may perform on Kafka, with clients that use its login."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic, ResourceType
from confluent_kafka.admin import _ConsumerGroupTopicPartitions as GroupOffsets

from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from tests.waiting import wait_for

ANSWER_SECONDS = 30.0
DENIED = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED,
}  # fmt: skip


STARTING = {
    KafkaError.NOT_COORDINATOR, KafkaError.COORDINATOR_NOT_AVAILABLE, KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}  # fmt: skip


def _allowed(attempt: Callable[[], object]) -> bool:
    """Return False if the broker denies the attempt, True if it succeeds; another error fails the test.

    An attempt is repeated while the broker has no coordinator yet for the group or the transactional id.
    """

    def look() -> list[bool]:
        try:
            attempt()
        except KafkaException as error:
            code = error.args[0].code()
            if code in STARTING:
                return []
            if code in DENIED:
                return [False]
            raise
        return [True]

    return wait_for(look, ANSWER_SECONDS, "the coordinator")[0]


class Attempts:
    """Tries each operation with the Kafka clients of one principal."""

    def __init__(self, settings: Settings, committed: str = "facts") -> None:
        """``committed``: the topic whose offset is committed; the broker checks the group before the topic."""
        self._settings, self._committed = settings, committed
        quiet = {"log_level": 0, "error_cb": lambda _error: None}
        self._admin = AdminClient(client_configuration(settings, quiet))
        # Idempotent producers stop at their first denied record.
        self._producer = Producer(client_configuration(settings, quiet))
        self._consumer = Consumer(
            client_configuration(settings, {**quiet, "group.id": "any", "enable.auto.commit": False})
        )
        self._by_operation: Mapping[str, Callable[[str], object]] = {
            "WRITE": self._write,
            "READ": self._read,
            "DESCRIBE": self._describe,
            "DESCRIBE_CONFIGS": self._describe_configs,
            "ALTER_CONFIGS": self._alter_configs,
            "CREATE": self._create,
            "DELETE": self._delete,
        }

    def on(self, topic: str) -> set[str]:
        """Return the operations that succeed."""
        full = topic_name(topic, self._settings.topic_prefix)
        return {name for name, attempt in self._by_operation.items() if _allowed(lambda a=attempt: a(full))}

    def close(self) -> None:
        self._consumer.close()

    def _write(self, topic: str) -> None:
        errors: list[KafkaError] = []
        self._producer.produce(
            topic, b"{}", b"key", on_delivery=lambda error, _: errors.append(error) if error else None
        )
        assert self._producer.flush(ANSWER_SECONDS) == 0
        if errors:
            raise KafkaException(errors[0])

    def _read(self, topic: str) -> None:
        # Without metadata of the topic the client waits and reports nothing.
        known = self._consumer.list_topics(topic, ANSWER_SECONDS).topics[topic]
        if known.error is not None:
            raise KafkaException(known.error)
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        until = time.monotonic() + ANSWER_SECONDS
        while time.monotonic() < until:
            message = self._consumer.poll(0.5)
            if message is None or message.topic() != topic:
                continue
            if message.error() is None:
                return
            raise KafkaException(message.error())
        raise TimeoutError(topic)

    def _describe(self, topic: str) -> None:
        self._admin.describe_topics(TopicCollection([topic]))[topic].result(ANSWER_SECONDS)

    def _describe_configs(self, topic: str) -> None:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        self._admin.describe_configs([resource])[resource].result(ANSWER_SECONDS)

    def _alter_configs(self, topic: str) -> None:
        entry = ConfigEntry("retention.ms", "1", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        self._admin.incremental_alter_configs([resource], validate_only=True)[resource].result(ANSWER_SECONDS)

    def _create(self, topic: str) -> None:
        new = f"{topic}.other"
        for name in (new, topic):
            try:
                self._admin.create_topics([NewTopic(name, 1, 1)], validate_only=True)[name].result(ANSWER_SECONDS)
            except KafkaException as error:
                # A role may create the topics of the contract only.
                if name == topic and error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            else:
                raise AssertionError(f"{name} could be created")

    def _delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result(ANSWER_SECONDS)

    def on_group(self, group: str) -> set[str]:
        """Return the operations on a consumer group that succeed."""
        attempts = {"DESCRIBE": self._describe_group, "READ": self._commit}
        return {name for name, attempt in attempts.items() if _allowed(lambda a=attempt: a(group))}

    def _describe_group(self, group: str) -> None:
        self._admin.describe_consumer_groups([group])[group].result(ANSWER_SECONDS)

    def _commit(self, group: str) -> None:
        # Requests for offsets end the process if the group's coordinator is still loading (librdkafka issue 5040).
        # Its description fails then with an error, so it comes first. READ on a group includes DESCRIBE.
        self._describe_group(group)
        place = TopicPartition(topic_name(self._committed, self._settings.topic_prefix), 0, 0)
        request = GroupOffsets(group, [place])
        done = self._admin.alter_consumer_group_offsets([request])[group].result(ANSWER_SECONDS)
        if error := done.topic_partitions[0].error:
            raise KafkaException(error)

    def on_transactional_id(self, name: str) -> set[str]:
        """Return WRITE if a transaction can be started."""
        producer = Producer(client_configuration(self._settings, {"log_level": 0, "transactional.id": name}))
        return {"WRITE"} if _allowed(lambda: producer.init_transactions(ANSWER_SECONDS)) else set()
