"""Tests the delivery of a finding from Kafka to a notification, with the real broker, sender and Alertmanager."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest
import requests
from confluent_kafka import Consumer

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.wire import from_json
from tests.integration.alertmanager.findings import finding, summarize
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)

DEAD_PEER = "http://127.0.0.1:9"
# Alertmanager notifies within 20 s and a killed sender is replaced after 6 s; a busy machine needs longer.
NOTIFICATION_SECONDS = 120


def test_repeated_finding_is_notified_once(alertmanager, receiver, findings, sender):
    """Findings about two stages of a job, repeated in two runs, cause one notification.

    The resolution of the findings causes one more notification. An unavailable second Alertmanager or a killed sender
    causes no second notification.
    """
    running = sender(DEAD_PEER, alertmanager.url)
    for app_id in ("app-1", "app-1", "app-2"):
        findings.publish(finding("stage:1", app_id), finding("stage:2", app_id))
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the first notification")
    assert running.kill(signal.SIGKILL) == -signal.SIGKILL
    sender(DEAD_PEER, alertmanager.url)
    findings.publish(finding("stage:1", "app-2"), finding("stage:2", "app-2", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 1, NOTIFICATION_SECONDS, "the notification that one stage resolved")
    findings.publish(finding("stage:1", "app-2", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 2, NOTIFICATION_SECONDS, "the notification that both stages resolved")

    assert summarize(receiver.deliveries) == [
        ("critical stage:1 firing", "critical stage:2 firing"),
        ("critical stage:1 firing", "critical stage:2 resolved"),
        ("critical stage:1 resolved",),
    ]
    [first] = {alert["annotations"]["app_id"] for alert in receiver.deliveries[0].payload["alerts"]}
    assert first in {"app-1", "app-2"}


def test_slack_shows_user_text_without_markup(alertmanager, receiver, findings, sender):
    """Names and descriptions with Slack markup arrive as plain text, and all links lead to Sparkfuse pages."""
    sender(alertmanager.url)
    hostile = "<!channel> & <https://evil|x>\u202e\x07"
    findings.publish(
        finding(job_key=hostile, summary=hostile, description=hostile, app_id=hostile, runbook_url="https://evil|x>")
    )
    wait_for(lambda: receiver.received("/slack"), NOTIFICATION_SECONDS, "the message to Slack")

    [delivery] = receiver.received("/slack")
    [message] = delivery.payload["attachments"]
    shown = " ".join(message[part] for part in ("title", "text", "fallback"))
    assert "&lt;!channel&gt; &amp; &lt;https://evil|x&gt;" in message["text"]
    assert not set(shown) & set("<>\u202e\x07")
    assert [action["text"] for action in message["actions"]] == [
        "Finding",
        "Runbook",
        "Dashboard",
        "Silence",
        "Useful or not?",
    ]
    assert {urlsplit(action["url"]).hostname for action in message["actions"]} == {"127.0.0.1"}
    assert (message["color"], message["footer"]) == ("danger", "Sparkfuse")


def test_outage_of_a_service_is_one_notification(alertmanager, receiver, findings, sender):
    """Jobs that fail because of one service are one message with their number and names; its links are filled in."""
    sender(alertmanager.url)
    evidence = {"failure": "service_unavailable", "failure_kind": "infrastructure"}
    fields = {"rule": "job_failed", "severity": "warning"}
    outage = [
        finding("application", f"app-{number}", finding_id=f"f{number}", job_key=f"job {number}", **fields)
        for number in range(400)
    ]
    for each in outage:
        each.runs[0].evidence.update(evidence)
    findings.publish(*outage, finding("application", "app-x", finding_id="own", job_key="own", **fields))
    wait_for(lambda: len(receiver.received("/slack")) > 1, NOTIFICATION_SECONDS, "both messages to Slack")

    messages = [each.payload["attachments"][0] for each in receiver.received("/slack")]
    [shared] = [each for each in messages if "job 1" in each["text"]]
    assert len(messages) == 2
    assert shared["title"] == "[FIRING:400] SparkfuseJobFailed: service_unavailable"
    assert "400 firing in total, in job 0, job 1" in shared["text"]
    assert shared["text"].count("First step: Read the first cause") == 5
    [silence] = [action["url"] for action in shared["actions"] if action["text"] == "Silence"]
    wanted = 'filter={alertname="SparkfuseJobFailed",cause="service_unavailable"}'
    assert unquote(silence) == f"{alertmanager.url}/#/silences/new?{wanted}"


def test_restarted_alertmanager_gets_all_alerts(alertmanager, receiver, findings, sender, tmp_path):
    """If an Alertmanager has lost its state, the next repetition sends all firing alerts to it.

    Notifications about findings that fired during the outage are sent afterwards.
    """
    running = sender(alertmanager.url)
    findings.publish(finding("stage:1"))
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the notification before the kill")
    alertmanager.part.kill(signal.SIGKILL)
    shutil.rmtree(tmp_path / "alertmanager")
    findings.publish(finding("stage:2", rule="stage_spill"))
    wait_for(
        lambda: "does not accept alerts" in running.log(),
        NOTIFICATION_SECONDS,
        "the sender to log that Alertmanager is unavailable",
    )
    alertmanager.part.start()
    findings.publish(finding("stage:1"))
    wait_for(lambda: len(receiver.deliveries) > 2, NOTIFICATION_SECONDS, "both notifications after the restart")

    assert sorted(summarize(receiver.deliveries[1:])) == [("critical stage:1 firing",), ("critical stage:2 firing",)]
    assert running.kill(signal.SIGTERM) == 0


def test_changed_severity_leaves_no_alert_firing(alertmanager, receiver, findings, sender):
    """If a finding becomes critical, a notification is sent; when it resolves, the alerts of both severities resolve.

    If a critical finding becomes a warning, its critical alert resolves, and a notification about the warning is sent.
    """
    sender(alertmanager.url)
    better_finding = finding("stage:9", rule="stage_slow")
    findings.publish(finding(severity="warning"), better_finding)
    wait_for(
        lambda: len(receiver.deliveries) > 1, NOTIFICATION_SECONDS, "the warning, and the critical one of another rule"
    )
    findings.publish(finding(severity="critical"))
    findings.publish(finding("stage:9", rule="stage_slow", severity="warning"))
    wait_for(
        lambda: len(receiver.deliveries) > 4,
        NOTIFICATION_SECONDS,
        "critical beside warning, and warning after critical",
    )
    findings.publish(finding(severity="critical", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 6, NOTIFICATION_SECONDS, "the end of both severities")
    findings.publish(finding(severity="warning", app_id="app-next"))
    wait_for(lambda: len(receiver.deliveries) > 7, NOTIFICATION_SECONDS, "the warning of the next run")

    history = [each for (each,) in summarize(receiver.deliveries)]
    better = [each for each in history if "stage:9" in each]
    assert better[0] == "critical stage:9 firing"
    assert sorted(better[1:]) == ["critical stage:9 resolved", "warning stage:9 firing"]
    worse = [each for each in history if "stage:1" in each]
    assert worse[:2] == ["warning stage:1 firing", "critical stage:1 firing"]
    assert sorted(worse[2:4]) == ["critical stage:1 resolved", "warning stage:1 resolved"]
    assert worse[4:] == ["warning stage:1 firing"]


def test_symptoms_of_a_cause_are_not_notified(alertmanager, receiver, findings, sender):
    """If a skewed stage is slow, a notification is sent only about the skew.

    If a symptom fired before its cause, both resolve together; the symptom of the next run causes a new notification.
    """
    sender(alertmanager.url)
    slow = {"rule": "stage_slow", "severity": "warning"}
    skew = {"rule": "stage_skew", "severity": "warning"}
    findings.publish(finding("stage:1", **slow))
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the first symptom")
    findings.publish(finding("stage:1", **skew), finding("stage:2", **skew))
    wait_for(lambda: len(receiver.deliveries) > 1, NOTIFICATION_SECONDS, "the cause, for two stages")
    findings.publish(finding("stage:1", state="resolved", **slow), finding("stage:2", **slow))
    findings.publish(finding("stage:1", state="resolved", **skew), finding("stage:2", **skew))
    wait_for(
        lambda: len(receiver.deliveries) > 3, NOTIFICATION_SECONDS, "the end of cause and symptom of the first stage"
    )
    findings.publish(finding("stage:1", app_id="app-next", **slow))
    wait_for(lambda: len(receiver.deliveries) > 4, NOTIFICATION_SECONDS, "the symptom of the next run")

    history = [f"{each['labels']['rule']} {scope}" for each, scope in _alerts(receiver.deliveries)]
    assert history[0] == "stage_slow stage:1 firing"
    assert "stage_slow stage:1 resolved" in history
    assert "stage_skew stage:1 resolved" in history
    assert history[-1] == "stage_slow stage:1 firing"
    assert not [each for each in history if each.startswith("stage_slow stage:2")]


def _alerts(deliveries: list) -> list:
    each_alert = [alert for each in deliveries for alert in each.payload["alerts"]]
    return [(alert, f"{alert['labels']['scope']} {alert['status']}") for alert in each_alert]


def test_invalid_record_becomes_a_dead_letter(alertmanager, receiver, findings, sender, kafka_bootstrap):
    """An invalid record is counted, and stored as a dead letter with reason and origin.

    The sender then continues with the other records.
    """
    running = sender(alertmanager.url)
    findings.publish_bytes(b"\xff not a finding")
    findings.publish(finding())
    wait_for(lambda: receiver.deliveries, NOTIFICATION_SECONDS, "the notification after the invalid record")

    letter = from_json(DeadLetter, _first_value(kafka_bootstrap, f"{findings.prefix}.dead-letters"))
    assert (letter.component, letter.topic) == ("sender", f"{findings.prefix}.findings")
    assert (letter.kafka_offset, letter.payload) == (0, b"\xff not a finding")
    assert "not a Finding" in letter.reason
    exposed = requests.get(running.ready_url, timeout=30).content
    counted = 'sparkfuse_dead_letters_total{component="sender",topic="findings"} 1.0'
    assert counted in exposed.decode()
    checked = subprocess.run(["promtool", "check", "metrics"], input=exposed, capture_output=True, check=False)
    problems = [line for line in checked.stderr.decode().splitlines() if line.startswith("sparkfuse")]
    assert problems == []


def test_failed_start_prints_one_sentence(findings, kafka_bootstrap):
    """The exit code is 2 for an invalid setting and 3 for a missing topic, each with one sentence and no traceback."""
    wrong = _start(SPARKFUSE_ALERTMANAGER_URLS="nowhere")
    missing = _start(SPARKFUSE_KAFKA_BOOTSTRAP=kafka_bootstrap, SPARKFUSE_TOPIC_PREFIX="nobody")

    assert (wrong.returncode, "SPARKFUSE_ALERTMANAGER_URLS='nowhere'" in wrong.stderr) == (2, True)
    assert (missing.returncode, "nobody.findings" in missing.stderr) == (3, True)
    assert [done.stderr.count("\n") for done in (wrong, missing)] == [1, 1]


def _start(**environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "sparkfuse_alertmanager.sender"]
    given = {**os.environ, **environment}
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=150, check=False)


def _first_value(bootstrap: str, topic: str) -> bytes:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    try:
        return wait_for(lambda: _value(consumer), 60, f"a record in {topic}")
    finally:
        consumer.close()


def _value(consumer: Consumer) -> bytes:
    message = consumer.poll(0.2)
    return b"" if message is None or message.error() else message.value()
