"""Tests in which order the fuse controller reads its topics, with a real broker."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.fuse_controller.kafka import FIRST, LOOKBACK_MS, MOST_RECORDS, Inputs
from tests.unit.fuse_controller.scene import finding, hold, live_row
from tests.waiting import wait_for


@pytest.mark.timeout(180)
def test_audit_log_is_read_before_the_receipts_about_it(bus, keys):
    """At the start, the audit log and the controls are read to their ends before any other topic."""
    records = [AuditRecord(sequence=number, epoch=1, step="probed") for number in range(1, 3 * MOST_RECORDS)]
    bus.put("receipts", ("app-1", to_json(Receipt(signal_id="s-1", app_id="app-1", outcome="would_act"))))
    bus.put("live", ("app-1", live_row().SerializeToString()))
    bus.put("findings", ("f", to_json(finding())))
    bus.put("approvals", ("d", b"{}"))
    bus.put("controls", ("hold-1", to_json(hold())))
    bus.put("audit", *(("app-1", to_json(record)) for record in records))
    inputs = Inputs(bus.settings, lambda error: None)
    order: list[str] = []

    def read_all() -> bool:
        order.extend(topic for topic, messages in inputs.read(0.5).items() for _ in messages)
        inputs.check()
        return inputs.caught_up() and set(order) == set(LOOKBACK_MS)

    try:
        wait_for(read_all, 120, "the ends of all topics")
    finally:
        inputs.close()
    last_of_first = max(place for place, topic in enumerate(order) if topic in FIRST)

    assert order.count("audit") == len(records)
    assert set(order[: last_of_first + 1]) == set(FIRST)


@pytest.mark.timeout(180)
def test_one_failed_answer_of_the_broker_pauses_only_until_the_next_one(bus, keys, monkeypatch):
    """If the broker does not report the end of the controls once, nothing is stopped until it answers again."""
    bus.put("controls", ("hold-1", to_json(hold())))
    inputs = Inputs(bus.settings, lambda error: None)

    def read() -> bool:
        inputs.read(0.2)
        inputs.check()
        return inputs.caught_up()

    def fail(*_: object) -> tuple[int, int]:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))

    try:
        wait_for(read, 60, "the ends of all topics")
        with monkeypatch.context() as broken:
            broken.setattr(inputs, "_range", fail)
            inputs.ask_ends("controls")
        assert inputs.unread() == "the broker does not answer"
        wait_for(lambda: read() and not inputs.unread(), 60, "the next answer")
        inputs.ask_ends("controls")
        assert inputs.unread() == ""
    finally:
        inputs.close()
