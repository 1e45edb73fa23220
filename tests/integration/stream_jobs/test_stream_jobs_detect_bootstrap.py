"""Tests that the detect job reads baselines that were written to a real topic before or after its start."""

from __future__ import annotations

import time
from dataclasses import replace

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_stream_jobs.detect.baseline_backfill import update_baselines
from sparkfuse_stream_jobs.detect.baseline_bootstrap import BASELINE_TTL, BaselineFollower
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline
from tests.kafka import settings_of
from tests.waiting import wait_for


def sample_of_run(job_key: str, run: str, learned_ms: int) -> Baseline:
    sample = BaselineSample(run_key=run, learned_ms=learned_ms, wall_ms=1000, cpu_ms=500, num_tasks=4)
    return Baseline(
        cluster="prod", tenant="orders", job_key=job_key, stage_fingerprint="f00", updated_ms=learned_ms,
        samples=[sample],
    )  # fmt: skip


def test_backfill_is_read_while_the_job_runs(kafka_bootstrap: str, topic_prefix: str) -> None:
    """Each baseline that a backfill writes while the job runs is read once, and once more if it is written again."""
    settings = replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))

    def backfill(*samples: Baseline) -> BaselineKey:
        key = key_of_baseline(samples[0])
        assert update_baselines(settings, {key: samples}) == 1
        return key

    before = backfill(sample_of_run("before", "a", 10))
    follower = BaselineFollower(settings)
    try:
        known, once_more = follower(before), follower(before)
        while_it_runs = backfill(sample_of_run("later", "a", 10), sample_of_run("later", "b", 20))
        added = wait_for(lambda: follower(while_it_runs), 60, "the new baseline")
        backfill(sample_of_run("before", "b", 20))
        grown = wait_for(lambda: follower(before), 60, "the baseline with another sample")
    finally:
        follower.close()

    assert known is not None
    assert once_more is None
    assert [len(each.samples) for each in (known, added, grown)] == [1, 2, 2]


def test_own_baselines_are_not_read_back(kafka_bootstrap: str, topic_prefix: str) -> None:
    """The job does not read back the baselines that it wrote itself.

    At the end of an application the job writes one baseline per stage, and reading a baseline takes milliseconds.
    """
    settings = replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    ours, theirs = sample_of_run("ours", "a", 10), sample_of_run("theirs", "a", 10)
    follower = BaselineFollower(settings)
    try:
        follower.add_own_record(to_json(ours))
        producer = Producer({"bootstrap.servers": kafka_bootstrap})
        # Both records are in one partition, so when the second was read, the first was read before.
        for baseline in (ours, theirs):
            producer.produce(topic_name("baselines", topic_prefix), to_json(baseline), b"key", partition=0)
        producer.flush(60)
        foreign = wait_for(lambda: follower(key_of_baseline(theirs)), 60, "the baseline of another writer")
        own = follower(key_of_baseline(ours))
    finally:
        follower.close()

    assert foreign is not None
    assert own is None


def test_useless_baselines_are_deleted_from_the_topic(kafka_bootstrap: str, topic_prefix: str) -> None:
    """A tombstone is written for an expired baseline, and for a baseline with a newer record in another partition."""
    settings = replace(Settings.from_environment({}), kafka_bootstrap=kafka_bootstrap, topic_prefix=topic_prefix)
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    topic, now_ms = topic_name("baselines", topic_prefix), time.time_ns() // 1_000_000
    expired, older, kept = (sample_of_run(job, "a", day) for job, day in (("expired", 1), ("kept", 8), ("kept", 9)))
    too_old_ms = now_ms - int(BASELINE_TTL.total_seconds() * 1_000) - 1
    producer = Producer({"bootstrap.servers": kafka_bootstrap})
    for baseline, partition, written_ms in ((expired, 0, too_old_ms), (older, 0, now_ms), (kept, 1, now_ms)):
        key = record_key("baselines", baseline)
        producer.produce(topic, to_json(baseline), key, partition=partition, timestamp=written_ms)
    assert producer.flush(60) == 0
    follower = BaselineFollower(settings, cleans=True)
    try:
        deleted = wait_for(lambda: deleted_keys(settings, topic), 60, "the tombstones")
    finally:
        follower.close()

    assert deleted == {0: {record_key("baselines", expired), record_key("baselines", kept)}}


def deleted_keys(settings: Settings, topic: str) -> dict[int, set[bytes]]:
    """Return the keys of the tombstones in the topic, by partition."""
    consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "test"})
    found: dict[int, set[bytes]] = {}
    try:
        for partition in consumer.list_topics(topic, timeout=60).topics[topic].partitions:
            _, end = consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=60)
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            for message in consumer.consume(end, 60) if end else ():
                assert message.error() is None, message.error()
                if message.value() is None:
                    found.setdefault(partition, set()).add(message.key())
    finally:
        consumer.close()
    return found
