"""Adds training samples of ended logs to the topic ``baselines``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.knowledge.baseline import LIMIT
from sparkfuse_stream_jobs.detect.baseline_bootstrap import read_published_baselines
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, add_samples, key_of_baseline, learned_ms

SEND_SECONDS = 60.0
OnDelivery = Callable[[KafkaError | None, Message], None]


def newest_samples(samples: Iterable[bytes]) -> Mapping[BaselineKey, list[Baseline]]:
    """Group serialized baselines of one sample each by job and stage, and keep the newest samples of each group.

    A group has at most twice the number of samples that a baseline keeps.
    """
    groups: dict[BaselineKey, list[Baseline]] = {}
    for content in samples:
        sample = Baseline.FromString(content)
        group = groups.setdefault(key_of_baseline(sample), [])
        group.append(sample)
        if len(group) > 2 * LIMIT:
            group.sort(key=learned_ms)
            del group[:-LIMIT]
    return groups


def update_baselines(settings: Settings, samples: Mapping[BaselineKey, Sequence[Baseline]]) -> int:
    """Add samples to the topic ``baselines``; return the number of stages whose baseline changed.

    A run that a baseline already contains, from a live run or an earlier call, is ignored.
    Raises KafkaException if the broker does not answer or rejects a record.
    """
    if not samples:
        return 0
    published = read_published_baselines(settings)
    try:
        changed = [found for key, new in samples.items() if (found := add_samples(published(key), new)) is not None]
    finally:
        published.close()
    send_baselines(settings, changed)
    return len(changed)


def send_baselines(settings: Settings, baselines: Sequence[Baseline]) -> None:
    """Write baselines to the topic. Raises KafkaException if the broker does not answer or rejects a record."""
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer(producer_configuration(settings, {
        "client.id": "sparkfuse-baselines",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "log_level": 0,
    }))  # fmt: skip
    topic = topic_name("baselines", settings.topic_prefix)
    for baseline in baselines:
        _produce(producer, topic, baseline, on_delivery)
    if producer.flush(SEND_SECONDS) or failures:
        raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001


def _produce(producer: Producer, topic: str, baseline: Baseline, on_delivery: OnDelivery) -> None:
    key = record_key("baselines", baseline)
    while True:
        try:
            producer.produce(topic, to_json(baseline), key, on_delivery=on_delivery)
        except BufferError:
            producer.poll(0.2)
        else:
            return
