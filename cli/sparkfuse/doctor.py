"""Checks every part of an installation through Kafka, the store and Alertmanager, wherever the parts run."""

from __future__ import annotations

import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from confluent_kafka import Consumer, KafkaException, TopicPartition

from sparkfuse.stack.topics import may_check_settings
from sparkfuse_contracts.kafka_access import KafkaAccess, KafkaUnavailableError, require_access
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_contracts.topics import topic_name, topics

Answer = TypeVar("Answer")
OK, WARNING, FAILED = "ok", "warning", "failed"
ANSWER_SECONDS = 5.0
# The windows job writes a tick to each partition of facts every second, and a row of it to live in each window.
QUIET_MS = 30_000
# Flink commits the offsets of a job with its checkpoints, which are up to a minute apart.
UNREAD_MS = 180_000
AHEAD_MS = 60_000
HOUR_MS = 3_600_000
FREE_BYTES = 2 * 1024**3
# Each entry: a consumer group, the topic that the group reads, and what stops working if the group does not read.
READERS = (
    ("windows job", "windows", "facts", "nothing new is observed"),
    ("detect job", "detect", "live", "no new finding is made"),
    ("sender", "sender", "findings", "no new alert is sent"),
)


@dataclass(frozen=True)
class Check:
    """The result of one check: what was found, and what to do about it (empty if the state is ok)."""

    name: str
    state: str
    found: str
    fix: str = ""


def examine(settings: Settings, home: Path) -> list[Check]:
    """Return the results of all checks. A check that fails does not prevent the other checks."""
    kafka = _kafka(settings)
    checks = [kafka]
    if kafka.state != FAILED:
        checks += _of_kafka(settings)
    for source in settings.sources:
        checks += _source(settings, source.name, reads_home=kafka.state != FAILED)
    checks += [*_store(settings), *_alertmanager(settings)]
    if home.exists():
        checks.append(_disk(home))
    return checks


def _kafka(settings: Settings) -> Check:
    wanted = {topic_name(name, settings.topic_prefix): topic for name, topic in topics().items()}
    try:
        access = KafkaAccess(settings)
        found = access.describe(dict.fromkeys(wanted, ("DESCRIBE",)))
        if missing := [name for name in wanted if found[name] is None]:
            return Check("Kafka", FAILED, f"topics are missing: {', '.join(missing)}", "run `sparkfuse kafka topics`")
        for name, topic in wanted.items():
            if may_check_settings(found[name]):
                access.check_settings(name, topic)
    except KafkaUnavailableError as error:
        return Check("Kafka", FAILED, str(error), "check SPARKFUSE_KAFKA_BOOTSTRAP and the broker")
    return Check("Kafka", OK, f"{settings.kafka_bootstrap} has all {len(wanted)} topics with their settings")


def _of_kafka(settings: Settings) -> Iterator[Check]:
    now_ms = time.time_ns() // 1_000_000
    try:
        yield _ticks(settings, now_ms)
        for part, group, topic, stops in READERS:
            yield _reader(settings, now_ms, part, group, topic, stops)
        yield _dead_letters(settings, now_ms)
    except KafkaException as error:
        yield Check("Kafka", FAILED, f"Kafka cannot be read: {error.args[0].str()}", "check the broker's log")


def _source(settings: Settings, name: str, *, reads_home: bool) -> Iterator[Check]:
    """Check the Kafka cluster of a source, and both jobs of the source."""
    of, now_ms = f"of source {name}", time.time_ns() // 1_000_000
    try:
        source = settings.at_source(name)
        require_access(source, "source")
        yield Check(f"Kafka {of}", OK, f"{source.kafka_bootstrap} has the topic facts with its settings")
        ticks = _ticks(source, now_ms)
        yield replace(ticks, name=f"ticks {of}")
        yield _reader(source, now_ms, f"windows job {of}", "windows", "facts", f"nothing new {of} is observed")
    except (KafkaUnavailableError, KafkaException, SettingError) as error:
        found = f"Kafka cannot be read: {error.args[0].str()}" if isinstance(error, KafkaException) else str(error)
        yield Check(f"Kafka {of}", FAILED, found, f"check the file of {name} in SPARKFUSE_SOURCES, and the broker")
    if reads_home:
        yield _safe(
            f"detect job {of}",
            lambda: _reader(
                settings, now_ms, f"detect job {of}", f"detect.{name}", "live", f"no new finding {of} is made"
            ),
        )


def _safe(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except KafkaException as error:
        return Check(name, FAILED, f"Kafka cannot be read: {error.args[0].str()}", "check the broker's log")


def _ticks(settings: Settings, now_ms: int) -> Check:
    """Check the newest record of each partition of facts, and the clock."""
    newest = _with_consumer(
        settings,
        f"{settings.topic_prefix}.reader",
        partial(_newest_ms, name=topic_name("facts", settings.topic_prefix)),
    )
    name, fix = "ticks", "start the windows job, or read its log"
    if quiet := [number for number, at_ms in newest.items() if now_ms - at_ms > QUIET_MS]:
        partitions = ", ".join(map(str, quiet))
        return Check(name, FAILED, f"no tick for {QUIET_MS // 1000} s in partitions {partitions} of facts", fix)
    ahead_ms = max(newest.values()) - now_ms
    if ahead_ms > AHEAD_MS:
        found = f"the broker's clock is {ahead_ms / 1000:.0f} s ahead of this machine"
        return Check(name, WARNING, found, "synchronize the clocks; findings of the future are not sent")
    return Check(name, OK, f"each of the {len(newest)} partitions of facts has a tick of the last {QUIET_MS // 1000} s")


def _reader(settings: Settings, now_ms: int, part: str, group: str, topic: str, stops: str) -> Check:
    """Check how old the first record is that a consumer group has not read."""
    full_group, name = f"{settings.topic_prefix}.{group}", topic_name(topic, settings.topic_prefix)
    oldest_ms = _with_consumer(settings, full_group, partial(_first_unread_ms, name=name))
    if oldest_ms is None:
        return Check(part, OK, f"it has read {topic} to the end")
    if now_ms - oldest_ms <= UNREAD_MS:
        return Check(part, OK, f"it is less than {UNREAD_MS // 60_000} min behind in {topic}")
    found = f"it is {(now_ms - oldest_ms) / 60_000:.0f} min behind in {topic}, so {stops}"
    return Check(part, FAILED, found, f"start the {part}, or read its log; docs/runbooks/pipeline.md explains its lag")


def _dead_letters(settings: Settings, now_ms: int) -> Check:
    from sparkfuse_native_analytics.dead_letters import read_letters
    from sparkfuse_native_analytics.topic_records import TopicError

    try:
        letters = read_letters(settings, now_ms - HOUR_MS)
    except TopicError as error:
        return Check("dead letters", FAILED, str(error), "check the broker")
    if not letters:
        return Check("dead letters", OK, "none in the last hour")
    newest = letters[-1].letter
    found = f"{len(letters):,} in the last hour; the newest of {newest.component}: {newest.reason[:100]}"
    return Check("dead letters", WARNING, found, "run `sparkfuse deadletters list`")


def _store(settings: Settings) -> Iterator[Check]:
    from clickhouse_connect.driver.exceptions import Error

    from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect

    name = "store"
    try:
        client = connect(settings)
        tables = client.query("SHOW TABLES LIKE 'application_rows'").result_rows
        if not tables:
            yield Check(name, FAILED, f"{settings.clickhouse_url} has no tables", "start the loader, or read its log")
            return
        yield Check(name, OK, f"{settings.clickhouse_url} answers")
        recent = (
            "SELECT uniqExact(app_id) FROM application_rows "
            "WHERE window_end_ms > toUnixTimestamp64Milli(now64(3)) - 900000"
        )
        [[applications]] = client.query(recent).result_rows
    except (StoreUnavailableError, Error) as error:
        yield Check(name, FAILED, str(error).splitlines()[0], "check SPARKFUSE_CLICKHOUSE_URL and the store")
        return
    if applications:
        yield Check("applications", OK, f"{applications:,} applications have reported in the last 15 min")
    else:
        fix = "add the plugin to a job (docs/plugin.md), or ship its event log (docs/ship.md)"
        yield Check("applications", WARNING, "no application has reported in the last 15 min", fix)


def _alertmanager(settings: Settings) -> Iterator[Check]:
    for url in settings.alertmanager_urls:
        name = "Alertmanager"
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=ANSWER_SECONDS):  # noqa: S310 - a configured address
                yield Check(name, OK, f"{url} is ready")
        except (OSError, urllib.error.URLError, ValueError) as error:
            yield Check(name, FAILED, f"{url} is not ready: {error}", "check SPARKFUSE_ALERTMANAGER_URLS and its log")


def _disk(home: Path) -> Check:
    free = shutil.disk_usage(home).free
    if free >= FREE_BYTES:
        return Check("disk", OK, f"{free / 1024**3:.0f} GiB are free at {home}")
    found = f"only {free / 1024**2:,.0f} MiB are free at {home}"
    return Check("disk", FAILED, found, "free some space: Kafka and the store stop when the disk is full")


def _with_consumer(settings: Settings, group: str, question: Callable[[Consumer], Answer]) -> Answer:
    """Return the result of ``question`` for a consumer that commits no offsets. Raises KafkaException."""
    own: Mapping[str, Any] = {
        "client.id": "sparkfuse-doctor",
        "group.id": group,
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
        "log_level": 0,
    }
    consumer = Consumer(client_configuration(settings, own))
    try:
        return question(consumer)
    finally:
        consumer.close()


def _newest_ms(consumer: Consumer, name: str) -> dict[int, int]:
    """Return the broker's time of the newest record of each partition in ms; 0 for an empty partition."""
    found = {}
    for number in _partitions(consumer, name):
        low, high = consumer.get_watermark_offsets(TopicPartition(name, number), timeout=ANSWER_SECONDS)
        found[number] = _time_of(consumer, name, number, high - 1) if high > low else 0
    return found


def _first_unread_ms(consumer: Consumer, name: str) -> int | None:
    """Return the broker's time of the oldest record that the group has not read in ms; None if there is none."""
    places = [TopicPartition(name, number) for number in _partitions(consumer, name)]
    times = []
    for place in consumer.committed(places, timeout=ANSWER_SECONDS):
        low, high = consumer.get_watermark_offsets(place, timeout=ANSWER_SECONDS)
        first = max(place.offset, low)
        if first < high:
            times.append(_time_of(consumer, name, place.partition, first))
    return min((at_ms for at_ms in times if at_ms), default=None)


def _partitions(consumer: Consumer, name: str) -> list[int]:
    return sorted(consumer.list_topics(name, timeout=ANSWER_SECONDS).topics[name].partitions)


def _time_of(consumer: Consumer, name: str, partition: int, offset: int) -> int:
    """Return the broker's time of the first record at or after an offset; 0 if none arrives in time."""
    consumer.assign([TopicPartition(name, partition, offset)])
    message = consumer.poll(ANSWER_SECONDS)
    if message is None:
        return 0
    if message.error() is not None:
        raise KafkaException(message.error())
    return int(message.timestamp()[1])
