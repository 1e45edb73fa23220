"""The rows of one application around an upgrade of the detect job; a finding fires before it and resolves after it."""

from __future__ import annotations

from collections.abc import Iterable

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.topics import topics
from tests.integration.stream_jobs.savepoints import PREFIX
from tests.integration.stream_jobs.upgrade_facts import START_MS
from tests.kafka import in_order
from tests.unit.stream_jobs.detect_rows import Run, tick

JOB = "nightly_orders"
SPILLED_BYTES = 1 << 30
FIRING_MS, AFTER_MS, END_MS = START_MS + 20_000, START_MS + 30_000, START_MS + 35_000


def rows() -> tuple[list[LiveRow], list[LiveRow]]:
    """Return the rows before and after the upgrade."""
    run = Run("orders-1", START_MS, JOB)
    before = [
        run.started(FIRING_MS),
        run.stage_started(FIRING_MS),
        run.stage(FIRING_MS, 20_000, disk_spilled_bytes=SPILLED_BYTES),
        run.application(FIRING_MS),
    ]
    after = [
        run.stage(AFTER_MS, 30_000, disk_spilled_bytes=SPILLED_BYTES),
        run.stage_done(END_MS, 34_000, disk_spilled_bytes=SPILLED_BYTES),
        run.stage_ended(END_MS),
        run.application(END_MS),
    ]
    return before, after


def placeholders(sent: Iterable[LiveRow]) -> list[LiveRow]:
    """Return a tick in the place of each row; a job that starts from a savepoint does not read them."""
    return [LiveRow(app_id=row.app_id, view="tick", window_end_ms=1) for row in sent]


def send(bootstrap: str, sent: Iterable[LiveRow], until_ms: int) -> None:
    """Write rows to the topic live, then a tick of ``until_ms`` to each partition."""
    producer = in_order(bootstrap)
    for row in sent:
        producer.produce(f"{PREFIX}.live", row.SerializeToString(), key=row.app_id)
    for partition in range(topics()["live"].partitions):
        content = tick(until_ms, partition).SerializeToString()
        producer.produce(f"{PREFIX}.live", content, partition=partition)
    assert producer.flush(30) == 0
