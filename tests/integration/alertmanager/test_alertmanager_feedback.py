"""Tests that people's verdicts demote the notifications of a rule, with the real broker, sender and Alertmanager."""

from __future__ import annotations

import signal

import pytest
import requests

from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.wire import record_key, to_json
from tests.integration.alertmanager.conftest import Alertmanager, Findings
from tests.integration.alertmanager.findings import finding, now_ms, summarize
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)
NOTIFICATION_SECONDS = 120


def judge(findings: Findings, finding_id: str, verdict: str, person: str = "ada") -> None:
    """Write a verdict as the command does, and an invalid record that the sender must skip."""
    record = Feedback(
        finding_id=finding_id, person=person, verdict=verdict, at_ms=now_ms(), rule="stage_skew", team="orders"
    )
    topic = f"{findings.prefix}.feedback"
    findings.producer.produce(topic, b"{no JSON", key=b"broken")
    findings.producer.produce(topic, to_json(record), key=record_key("feedback", record))
    assert findings.producer.flush(60) == 0


def held(alertmanager: Alertmanager, finding_id: str) -> dict[str, str]:
    """Return the severity and the reason of the firing alert of a finding; empty if there is none."""
    answer = requests.get(f"{alertmanager.url}/api/v2/alerts", {"filter": f'finding_id="{finding_id}"'}, timeout=5)
    return {alert["labels"]["severity"]: alert["annotations"].get("demoted", "") for alert in answer.json()}


def of_orders(scope: str, **fields) -> Finding:
    return finding(scope, team="orders", **fields)


def test_verdicts_demote_and_restore_a_rule(alertmanager, receiver, findings, sender):
    """Verdicts from before the start demote a rule for a team; nobody is notified, and other teams still are.

    As soon as people say useful again, the firing finding is notified. A restart of the sender changes nothing.
    """
    for number in range(6):
        judge(findings, f"old-{number}", "not-useful")
    running = sender(alertmanager.url)
    findings.publish(of_orders("stage:1"), finding("stage:2", team="billing", job_key="invoices"))
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the notification of the other team")
    demoted = held(alertmanager, "id-stage_skew-stage-1")
    for number in range(3):
        judge(findings, f"old-{number}", "useful")
    assert running.kill(signal.SIGTERM) == 0
    sender(alertmanager.url)
    findings.publish(of_orders("stage:1"))
    wait_for(lambda: len(receiver.deliveries) > 1, NOTIFICATION_SECONDS, "the notification after the restart")

    assert demoted == {
        "info": "Demoted to info: 0 of 6 judged findings of stage_skew in team orders were useful"
        " (at most 39%, target 40%)."
    }
    assert summarize(receiver.deliveries) == [("critical stage:2 firing",), ("critical stage:1 firing",)]


def test_verdict_demotes_a_running_sender(alertmanager, receiver, findings, sender):
    """A verdict that arrives while the sender runs demotes the next repetition, and ends the alert that pages."""
    sender(alertmanager.url)
    for number in range(5):
        judge(findings, f"old-{number}", "not-useful")
    findings.publish(of_orders("stage:1"))
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the notification before the last verdict")
    judge(findings, "id-stage_skew-stage-1", "not-useful")

    def repeated() -> bool:
        findings.publish(of_orders("stage:1"))
        return "info" in held(alertmanager, "id-stage_skew-stage-1")

    wait_for(repeated, NOTIFICATION_SECONDS, "the demoted alert")
    wait_for(lambda: len(receiver.deliveries) > 1, NOTIFICATION_SECONDS, "the end of the page")

    assert summarize(receiver.deliveries) == [("critical stage:1 firing",), ("critical stage:1 resolved",)]
    assert receiver.deliveries[1].payload["alerts"][0]["annotations"]["became"] == "info"
