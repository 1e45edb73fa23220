"""Tests `sparkfuse canary` on a real broker; tests/e2e sends a probe through a whole stack."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from confluent_kafka import Consumer, Producer
from prometheus_client import CollectorRegistry
from typer.testing import CliRunner

from sparkfuse.canary import FOUND, MISSED, Canary
from sparkfuse.canary_metrics import CanaryMetrics
from sparkfuse.commands.application import application
from sparkfuse.stack.errors import MISSING, StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.wire import to_json
from tests.kafka import settings_of


@contextmanager
def canary_of(bootstrap: str, prefix: str, stop: threading.Event | None = None) -> Iterator[Canary]:
    settings = settings_of(bootstrap, prefix)
    ensure_topics(settings)
    canary = Canary(settings, "prod-eu", "sales", stop or threading.Event())
    try:
        yield canary
    finally:
        canary.close()


def facts(bootstrap: str, prefix: str, wanted: int) -> list[Fact]:
    """Return the first facts of the topic."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test", "auto.offset.reset": "earliest"})
    consumer.subscribe([f"{prefix}.facts"])
    try:
        found: list[Fact] = []
        while len(found) < wanted:
            message = consumer.poll(30)
            assert message is not None, f"only {len(found)} facts arrived"
            assert message.error() is None
            found.append(Fact.FromString(message.value() or b""))
        return found
    finally:
        consumer.close()


def finding(rule: str, app_id: str, stage_id: int) -> bytes:
    return to_json(Finding(finding_id="f1", rule=rule, runs=[FindingRun(app_id=app_id, stage_id=stage_id)]))


def test_probe_without_a_pipeline_is_missed(kafka_bootstrap: str, topic_prefix: str) -> None:
    """If nothing reads the facts, no finding arrives; the facts of the application are complete and in order."""
    with canary_of(kafka_bootstrap, topic_prefix) as canary:
        answer = canary.probe(patience_seconds=0.1)
    sent = facts(kafka_bootstrap, topic_prefix, wanted=6)
    kinds = [fact.WhichOneof("kind") for fact in sent]

    assert (answer.outcome, answer.delay_seconds) == (MISSED, None)
    assert kinds[0] == "application_started"
    assert kinds[-1] == "application_ended"
    assert {(fact.cluster, fact.tenant) for fact in sent} == {("prod-eu", "sales")}
    assert len({fact.app_id for fact in sent}) == 1


def test_delay_is_measured_to_the_finding_of_the_probe(kafka_bootstrap: str, topic_prefix: str) -> None:
    """Only a finding of the probe's own stage ends the probe; findings of other rules, runs and stages do not."""
    stop, seen = threading.Event(), threading.Event()

    def detect() -> None:
        fact = facts(kafka_bootstrap, topic_prefix, wanted=1)[0]
        producer = Producer({"bootstrap.servers": kafka_bootstrap})
        others = [
            b"not a finding",
            finding("stage_retried", fact.app_id, 7),
            finding("stage_retried", "app-of-a-job", 0),
            finding("stage_slow", fact.app_id, 0),
        ]
        for value in [*others, finding("stage_retried", fact.app_id, 0)]:
            producer.produce(f"{topic_prefix}.findings", value, partition=0)
            assert producer.flush(60) == 0
        seen.set()

    with canary_of(kafka_bootstrap, topic_prefix, stop) as canary:
        pipeline = threading.Thread(target=detect)
        pipeline.start()
        answer = canary.probe(patience_seconds=60)
        pipeline.join()

    assert answer.outcome == FOUND, answer
    assert seen.is_set()
    assert answer.delay_seconds is not None
    assert 0 <= answer.delay_seconds < 60


def test_applications_change_after_some_probes(
    kafka_bootstrap: str, topic_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An application ends after its last probe, and the next one has another key, for other partitions."""
    monkeypatch.setattr("sparkfuse.canary.PROBES_OF_APPLICATION", 2)
    with canary_of(kafka_bootstrap, topic_prefix) as canary:
        for _ in range(3):
            assert canary.probe(patience_seconds=0).outcome == MISSED
    sent = facts(kafka_bootstrap, topic_prefix, wanted=3 * 4 + 4)

    assert len({fact.app_id for fact in sent}) == 2


def test_command_names_missing_topics(kafka_bootstrap: str, topic_prefix: str) -> None:
    """Missing topics are one sentence and exit code 3."""
    environment = {"SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap, "SPARKFUSE_TOPIC_PREFIX": topic_prefix}
    done = CliRunner(env=environment).invoke(application, ["canary"])

    assert isinstance(done.exception, StartError)
    assert done.exception.exit_code == MISSING
    assert f"has no topic {topic_prefix}.facts, {topic_prefix}.findings" in str(done.exception)


@pytest.mark.parametrize(("delay", "outcome"), [(3.0, FOUND), (None, MISSED)])
def test_results_are_metrics(delay: float | None, outcome: str) -> None:
    """Each outcome has a series from the start, and the delay is counted for findings that arrived."""
    from sparkfuse.canary import Answer

    registry = CollectorRegistry()
    CanaryMetrics(registry).count(Answer(outcome, delay))

    values = {each: registry.get_sample_value("sparkfuse_canary_probes_total", {"outcome": each})
              for each in ("found", "missed", "failed")}  # fmt: skip
    assert values == {**dict.fromkeys(values, 0.0), outcome: 1.0}
    assert registry.get_sample_value("sparkfuse_canary_delay_seconds_count") == (0.0 if delay is None else 1.0)
