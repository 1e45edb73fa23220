"""Tests in which order the fuse controller reads its topics, with a real broker."""

from __future__ import annotations

import dataclasses

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from prometheus_client import CollectorRegistry

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.wire import from_json, to_json
from sparkfuse_native_analytics.fuse_controller import kafka
from sparkfuse_native_analytics.fuse_controller.controller import FuseController
from sparkfuse_native_analytics.fuse_controller.controller_metrics import ControllerMetrics
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader, read_policies
from sparkfuse_native_analytics.fuse_controller.kafka import FIRST, LOOKBACK_MS, MOST_RECORDS, Inputs
from sparkfuse_native_analytics.fuse_controller.service import FuseControllerService
from sparkfuse_native_analytics.fuse_controller.view import LiveView
from sparkfuse_native_analytics.fuse_operator import orders
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


@pytest.mark.timeout(180)
def test_aborted_transaction_is_not_read(bus, keys):
    """Records of a transaction that was aborted do not exist for the controller."""
    producer = Producer({"bootstrap.servers": bus.settings.kafka_bootstrap, "transactional.id": bus.prefix})
    producer.init_transactions(30)
    for step, end in (("aborted", producer.abort_transaction), ("committed", producer.commit_transaction)):
        producer.begin_transaction()
        producer.produce(f"{bus.prefix}.audit", to_json(AuditRecord(sequence=1, epoch=1, step=step)))
        assert producer.flush(30) == 0
        end(30)
    inputs = Inputs(bus.settings, lambda error: None)
    found: list[bytes] = []

    def read() -> bool:
        found.extend(each.value() for each in inputs.read(0.2).get("audit", ()))
        return bool(found)

    try:
        wait_for(read, 60, "the committed record")
    finally:
        inputs.close()

    assert [from_json(AuditRecord, content).step for content in found] == ["committed"]


@pytest.mark.timeout(180)
def test_partition_that_stays_unread_is_named(bus, keys, monkeypatch):
    """A partition with records that were not read for a while makes the controller report that it is behind."""
    inputs = Inputs(bus.settings, lambda error: None)

    def read() -> bool:
        inputs.read(0.2)
        inputs.check()
        return inputs.caught_up()

    def behind() -> str:
        inputs.read(0.1)
        inputs.check()
        return inputs.behind() if "findings" in inputs.behind() else ""

    try:
        wait_for(read, 60, "the ends of all topics")
        bus.put("findings", *(("f", to_json(finding())) for _ in range(500)))
        # The records arrive one by one, so their partition is unread for longer than the limit.
        monkeypatch.setattr(kafka, "MOST_RECORDS", 1)
        monkeypatch.setattr(kafka, "BEHIND_SECONDS", 1.0)
        monkeypatch.setattr(kafka, "CHECK_SECONDS", 0.2)
        sentence = wait_for(behind, 60, "the partition")
    finally:
        inputs.close()

    assert sentence.endswith("of findings is not read to its end")


@pytest.mark.timeout(180)
def test_refresh_reads_a_hold_that_the_broker_has_stored(bus, keys, key_ring, operator, monkeypatch):
    """Just before an act, the controller reads until it has each stored control, even if a read returns nothing."""
    settings = dataclasses.replace(bus.settings, signing_key_file=None)
    policy = read_policies(settings)
    controller = FuseController(policy, LiveView(policy.watched(), 20_000), key_ring, None, str)
    metrics = ControllerMetrics(CollectorRegistry())
    service = FuseControllerService(settings, controller, PolicyReloader(settings), metrics)
    inputs = service._inputs
    read = inputs.read
    empty: list[dict[str, list[Message]]] = [{}, {}, {}]

    def catch_up() -> bool:
        service._process(read(0.2))
        inputs.check()
        return inputs.caught_up()

    wait_for(catch_up, 60, "the ends of all topics")
    orders.give(bus.settings, operator, orders.hold(orders.Selection(), "now", 2**62))
    monkeypatch.setattr(inputs, "read", lambda seconds: empty.pop() if empty else read(seconds))
    service.refresh()
    inputs.close()

    assert [each.reason for each in controller.controls.in_force(0)] == ["now"]
