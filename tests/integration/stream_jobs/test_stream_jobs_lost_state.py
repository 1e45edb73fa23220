"""Tests both jobs while the state of the windows job is lost and an application runs."""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from tests.integration.native_analytics.conftest import empty_database
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = [pytest.mark.timeout(900), pytest.mark.long]
SPILLED_BYTES = 1 << 30
WINDOWS = "sparkfuse_stream_jobs.windows"
BEFORE, SINCE = 0, 1
# Line numbers are not part of a fingerprint, so the names differ in more than these.
NAMES = ("save at orders.py:8", "collect at report.py:3")


@dataclass
class Jobs:
    """The running jobs, and a function that loses the state and the first facts of the windows job."""

    detect: DetectJob
    seen: Seen
    lose_state: Callable[[], None]


@pytest.fixture
def jobs(kafka_bootstrap: str, tmp_path: Path, start_job: Any) -> Iterator[Jobs]:
    """Yield both jobs on their own topics; a finding of stage_spill resolves at the first row that does not match."""
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", tmp_path / "windows"
    home.mkdir()
    ensure_topics(settings_of(kafka_bootstrap, prefix))
    shutil.copytree(asset("sparkfuse_rules", "catalog"), tmp_path / "catalog")
    rule = tmp_path / "catalog" / "stage_spill.yaml"
    rule.write_text(re.sub(r"keep_firing_for: \w+", "keep_firing_for: 0s", rule.read_text()))
    environment = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": "1000",
    }
    seen = Seen(kafka_bootstrap, prefix)
    detect = DetectJob(
        kafka_bootstrap, prefix, tmp_path / "detect", ["--catalog", str(tmp_path / "catalog")], free_ports(1)[0]
    )
    windows = [start_job(WINDOWS, environment, tmp_path / "windows.log")]

    def lose_state() -> None:
        deleted = delete_facts(kafka_bootstrap, f"{prefix}.facts")
        assert deleted > 0
        windows[-1].stop()
        shutil.rmtree(checkpoint_directory(home, "windows"))
        windows.append(start_job(WINDOWS, environment, tmp_path / "windows.log"))
        windows[-1].wait_until_running()

    try:
        detect.start()
        windows[-1].wait_until_running()
        yield Jobs(detect, seen, lose_state)
    finally:
        detect.close()
        seen.close()
        windows[-1].stop()


def delete_facts(bootstrap: str, topic: str) -> int:
    """Delete all facts, as the retention of the topic does with old ones; return the number of deleted records."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test"})
    ends = [
        TopicPartition(topic, part, consumer.get_watermark_offsets(TopicPartition(topic, part), timeout=60)[1])
        for part in range(2)
    ]
    consumer.close()
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for deleted in admin.delete_records(ends).values():
        deleted.result(60)
    return sum(end.offset for end in ends)


def spill(app: ScriptedApplication, stage: int, spilled_bytes: int) -> None:
    """Send the end of one task of the stage."""
    app.send_fact(
        "task_ended", stage_id=stage, stage_attempt=0, task_id=app.drop(lane="task"), outcome="succeeded",
        duration_ms=10, disk_spilled_bytes=spilled_bytes,
    )  # fmt: skip
    app.flush()


def start_stage(app: ScriptedApplication, stage: int) -> None:
    """Send the start of a stage that was submitted when the application started."""
    app.send_fact(
        "stage_started", lane="reserved", stage_id=stage, stage_attempt=0, num_tasks=1_000,
        name=NAMES[stage], submitted_ms=app.start_ms,
    )  # fmt: skip
    app.flush()


def test_lost_state_neither_blinds_detection_nor_pages_twice(jobs: Jobs, store_url: str) -> None:
    """After the loss, rows have a later epoch, and detection accepts them.

    The finding of a stage whose beginning is missing keeps firing until the stage ends. A stage that starts later has
    full evidence. The store contains the rows of both epochs and prefers the later ones.
    """
    detect, seen = jobs.detect, jobs.seen
    app_id = f"app-{uuid.uuid4().hex[:12]}"
    start_ms = time.time_ns() // 1_000_000 - 60_000
    app = ScriptedApplication(seen.bootstrap, f"{seen.prefix}.facts", app_id, start_ms)
    app.send_fact("application_started", lane="reserved", name="orders", properties={"spark.sparkfuse.job": "orders"})
    start_stage(app, BEFORE)
    spill(app, BEFORE, SPILLED_BYTES)
    first = detect.wait_for_finding("stage_spill", "orders", lambda each: each.state == "firing", "the spill")
    epoch = seen.wait_for(app_id, "app_live", lambda row: row.application.finished_tasks == 1).row_epoch_ms
    for _ in range(20):
        app.drop()
    jobs.lose_state()

    spill(app, BEFORE, 0)
    lost = wait_for(lambda: row_of(seen, app_id, BEFORE, epoch), 180, "a row of the stage in a later epoch")
    spill(app, BEFORE, 0)
    start_stage(app, SINCE)
    spill(app, SINCE, SPILLED_BYTES)
    second = detect.wait_for_finding(
        "stage_spill", "orders", lambda each: each.scope != first.scope, "the spill of the stage that started later"
    )
    whole = wait_for(lambda: row_of(seen, app_id, SINCE, epoch), 60, "a row of the stage that started later")
    assert [each.state for each in detect.findings("stage_spill", "orders") if each.scope == first.scope].count(
        "resolved"
    ) == 0
    app.send_fact("stage_ended", lane="reserved", stage_id=BEFORE, stage_attempt=0, succeeded=True, num_tasks=1_000)
    app.flush()
    detect.wait_for_finding("stage_spill", "orders", lambda each: each.state == "resolved", "the end of the stage")
    of_first = [each for each in detect.findings("stage_spill", "orders") if each.scope == first.scope]

    assert (lost.incomplete_since_ms, lost.completeness < 0.99) == (lost.row_epoch_ms, True)
    assert (whole.incomplete_since_ms, whole.completeness, second.completeness) == (0, 1.0, 1.0)
    assert [each.state for each in of_first] == ["firing"] * (len(of_first) - 1) + ["resolved"]
    assert {each.started_ms for each in of_first} == {first.started_ms}
    assert stored_epochs(store_url, seen, app_id) == [epoch, lost.row_epoch_ms]


def row_of(seen: Seen, app_id: str, stage: int, after_epoch_ms: int) -> LiveRow | None:
    """Return the last row of the stage in an epoch after ``after_epoch_ms``."""
    seen.read()
    rows = [row for row in seen.live if row.app_id == app_id and row.row_epoch_ms > after_epoch_ms]
    return next((row for row in reversed(rows) if row.HasField("stage") and row.stage.stage_id == stage), None)


def stored_epochs(store_url: str, seen: Seen, app_id: str) -> list[int]:
    """Store all rows, the oldest epoch last, and return the epochs of the stored rows."""
    client = connect(empty_database(store_url))
    migrate(client)
    feed = next(feed for feed in FEEDS if feed.table == "live")
    rows = sorted((row for row in seen.live if row.app_id == app_id), key=lambda row: -row.row_epoch_ms)
    values = [row.SerializeToString() for row in rows]
    for name, table in make_batch(feed, Records(0, np.arange(len(values)), values), "topic").tables:
        client.insert_arrow(name, table)
    [run] = queries.runs(client, 10)
    found = client.query(
        "SELECT row_epoch_ms, count() FROM live FINAL GROUP BY row_epoch_ms ORDER BY row_epoch_ms"
    ).result_rows
    distinct = {(row.row_epoch_ms, row.row_seq) for row in rows}

    assert sum(count for _, count in found) == len(distinct)
    assert (run.app_id, run.name) == (app_id, "orders")
    return [each for each, _ in found]
