"""What ended logs teach, into the topic of baselines: they seed what no live run has taught yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.knowledge.baseline import LIMIT
from sparkfuse_stream_jobs.detect.learning import learned_ms, taught_by
from sparkfuse_stream_jobs.detect.memory_key import Key, key_of_baseline
from sparkfuse_stream_jobs.detect.seeds import read_seeds

SEND_SECONDS = 60.0
Delivered = Callable[[KafkaError | None, Message], None]


class Lessons:
    """What was learned, by job and stage: the newest of each, as many as a baseline holds."""

    def __init__(self) -> None:
        self._of: dict[Key, list[Baseline]] = {}

    def add(self, lessons: Iterable[bytes]) -> None:
        """Baselines of one sample each, as bytes."""
        for content in lessons:
            lesson = Baseline.FromString(content)
            known = self._of.setdefault(key_of_baseline(lesson), [])
            known.append(lesson)
            if len(known) > 2 * LIMIT:
                known.sort(key=learned_ms)
                del known[:-LIMIT]

    def __len__(self) -> int:
        return len(self._of)

    def take(self) -> Mapping[Key, list[Baseline]]:
        """All of them; none are left."""
        found, self._of = self._of, {}
        return found


def seed(settings: Settings, lessons: Mapping[Key, Sequence[Baseline]]) -> int:
    """Add the lessons to the topic ``baselines``; how many stages learned something.

    A run that a baseline has already, because it was seen live or in an earlier call, adds nothing.
    Raises KafkaException when the broker does not answer or does not take them.
    """
    if not lessons:
        return 0
    seeds = read_seeds(settings)
    try:
        taught = [found for key, told in lessons.items() if (found := taught_by(seeds(key), told)) is not None]
    finally:
        seeds.close()
    _send(settings, taught)
    return len(taught)


def _send(settings: Settings, baselines: Sequence[Baseline]) -> None:
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer({
        "bootstrap.servers": settings.kafka_bootstrap,
        "client.id": "sparkfuse-seeds",
        "enable.idempotence": True,
        "compression.type": "lz4",
        "log_level": 0,
    })  # fmt: skip
    topic = topic_name("baselines", settings.topic_prefix)
    for baseline in baselines:
        _produce(producer, topic, baseline, delivered)
    if producer.flush(SEND_SECONDS) or failures:
        raise KafkaException(failures[0] if failures else KafkaError(KafkaError._TIMED_OUT))  # noqa: SLF001


def _produce(producer: Producer, topic: str, baseline: Baseline, delivered: Delivered) -> None:
    key = record_key("baselines", baseline)
    while True:
        try:
            producer.produce(topic, to_json(baseline), key, on_delivery=delivered)
        except BufferError:
            producer.poll(0.2)
        else:
            return
