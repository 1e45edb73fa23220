"""From a finding on Kafka to a notification: the real broker, sender and Alertmanager, with the room's own files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
import requests
from confluent_kafka import Consumer

from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.wire import from_json
from tests.integration.alertmanager.findings import finding, told
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)

DEAD_PEER = "http://127.0.0.1:9"
NEWS_SECONDS = 120
"""Alertmanager speaks within 20 s, and a killed sender's place is free after 6 s; a busy machine adds its own."""


def test_a_finding_is_told_once_whatever_is_repeated(alertmanager, receiver, findings, sender):
    """Two stages of a job are one message though each is said three times by two runs; its end is one message too.

    A peer that is away does not matter, and the sender may be killed: what it says again, nobody hears again.
    """
    running = sender(DEAD_PEER, alertmanager.url)
    for app_id in ("app-1", "app-1", "app-2"):
        findings.say(finding("stage:1", app_id), finding("stage:2", app_id))
    wait_for(lambda: receiver.deliveries, NEWS_SECONDS, "the first notification")
    assert running.kill(signal.SIGKILL) == -signal.SIGKILL
    sender(DEAD_PEER, alertmanager.url)
    findings.say(finding("stage:1", "app-2"), finding("stage:2", "app-2", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 1, NEWS_SECONDS, "the notification that one stage is over")
    findings.say(finding("stage:1", "app-2", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 2, NEWS_SECONDS, "the notification that all is over")

    assert told(receiver.deliveries) == [
        ("critical stage:1 firing", "critical stage:2 firing"),
        ("critical stage:1 firing", "critical stage:2 resolved"),
        ("critical stage:1 resolved",),
    ]
    [first] = {alert["annotations"]["app_id"] for alert in receiver.deliveries[0].payload["alerts"]}
    assert first in {"app-1", "app-2"}


def test_slack_shows_what_users_wrote_as_text(alertmanager, receiver, findings, sender):
    """Names and descriptions that are commands to Slack arrive as plain text, with links of ours only."""
    sender(alertmanager.url)
    nasty = "<!channel> & <https://evil|x>\u202e\x07"
    findings.say(finding(job_key=nasty, summary=nasty, description=nasty, app_id=nasty, runbook_url="https://evil|x>"))
    wait_for(lambda: receiver.received("/slack"), NEWS_SECONDS, "the message to Slack")

    [delivery] = receiver.received("/slack")
    [message] = delivery.payload["attachments"]
    shown = " ".join(message[part] for part in ("title", "text", "fallback"))
    assert "&lt;!channel&gt; &amp; &lt;https://evil|x&gt;" in message["text"]
    assert not set(shown) & set("<>\u202e\x07")
    assert [action["text"] for action in message["actions"]] == ["Runbook", "Dashboard"]
    assert {urlsplit(action["url"]).hostname for action in message["actions"]} == {"127.0.0.1"}
    assert (message["color"], message["footer"]) == ("danger", "Sparkfuse")


def test_alertmanager_may_lose_all_it_knows(alertmanager, receiver, findings, sender, tmp_path):
    """Killed and restarted empty, Alertmanager has every firing alert back with the next word of detection.

    What was found while it was away is told when it is back, without being found again.
    """
    running = sender(alertmanager.url)
    findings.say(finding("stage:1"))
    wait_for(lambda: receiver.deliveries, NEWS_SECONDS, "the notification before the kill")
    alertmanager.part.kill(signal.SIGKILL)
    shutil.rmtree(tmp_path / "alertmanager")
    findings.say(finding("stage:2", rule="stage_spill"))
    wait_for(lambda: "takes no alerts" in running.log(), NEWS_SECONDS, "the sender to see that Alertmanager is away")
    alertmanager.part.start()
    findings.say(finding("stage:1"))
    wait_for(lambda: len(receiver.deliveries) > 2, NEWS_SECONDS, "both notifications after the restart")

    assert sorted(told(receiver.deliveries[1:])) == [("critical stage:1 firing",), ("critical stage:2 firing",)]
    assert running.kill(signal.SIGTERM) == 0


def test_a_severity_that_changes_leaves_nothing_firing(alertmanager, receiver, findings, sender):
    """A finding that gets worse is told as critical, and both alerts end with it, so the next run's warning is heard.

    One that gets better ends as critical and is told as warning, by two groups of Alertmanager in either order.
    """
    sender(alertmanager.url)
    better = finding("stage:9", rule="stage_slow")
    findings.say(finding(severity="warning"), better)
    wait_for(lambda: len(receiver.deliveries) > 1, NEWS_SECONDS, "the warning, and the critical one of another rule")
    findings.say(finding(severity="critical"))
    findings.say(finding("stage:9", rule="stage_slow", severity="warning"))
    wait_for(lambda: len(receiver.deliveries) > 4, NEWS_SECONDS, "critical beside warning, and warning after critical")
    findings.say(finding(severity="critical", state="resolved"))
    wait_for(lambda: len(receiver.deliveries) > 6, NEWS_SECONDS, "the end of both severities")
    findings.say(finding(severity="warning", app_id="app-next"))
    wait_for(lambda: len(receiver.deliveries) > 7, NEWS_SECONDS, "the warning of the next run")

    history = [each for (each,) in told(receiver.deliveries)]
    better_told = [each for each in history if "stage:9" in each]
    assert better_told[0] == "critical stage:9 firing"
    assert sorted(better_told[1:]) == ["critical stage:9 resolved", "warning stage:9 firing"]
    worse = [each for each in history if "stage:1" in each]
    assert worse[:2] == ["warning stage:1 firing", "critical stage:1 firing"]
    assert sorted(worse[2:4]) == ["critical stage:1 resolved", "warning stage:1 resolved"]
    assert worse[4:] == ["warning stage:1 firing"]


def test_one_cause_is_one_page(alertmanager, receiver, findings, sender):
    """A skewed stage is slow: only the skew is told. A symptom that was told before ends with its cause.

    The next run's symptom is heard again.
    """
    sender(alertmanager.url)
    slow = {"rule": "stage_slow", "severity": "warning"}
    skew = {"rule": "stage_skew", "severity": "warning"}
    findings.say(finding("stage:1", **slow))
    wait_for(lambda: receiver.deliveries, NEWS_SECONDS, "the symptom that came first")
    findings.say(finding("stage:1", **skew), finding("stage:2", **skew))
    wait_for(lambda: len(receiver.deliveries) > 1, NEWS_SECONDS, "the cause, for two stages")
    findings.say(finding("stage:1", state="resolved", **slow), finding("stage:2", **slow))
    findings.say(finding("stage:1", state="resolved", **skew), finding("stage:2", **skew))
    wait_for(lambda: len(receiver.deliveries) > 3, NEWS_SECONDS, "the end of cause and symptom of the first stage")
    findings.say(finding("stage:1", app_id="app-next", **slow))
    wait_for(lambda: len(receiver.deliveries) > 4, NEWS_SECONDS, "the symptom of the next run")

    history = [f"{each['labels']['rule']} {scope}" for each, scope in _alerts(receiver.deliveries)]
    assert history[0] == "stage_slow stage:1 firing"
    assert "stage_slow stage:1 resolved" in history
    assert "stage_skew stage:1 resolved" in history
    assert history[-1] == "stage_slow stage:1 firing"
    assert not [each for each in history if each.startswith("stage_slow stage:2")]


def _alerts(deliveries: list) -> list:
    each_alert = [alert for each in deliveries for alert in each.payload["alerts"]]
    return [(alert, f"{alert['labels']['scope']} {alert['status']}") for alert in each_alert]


def test_junk_is_set_aside(alertmanager, receiver, findings, sender, kafka_bootstrap):
    """A record that is no finding is on the dead letters with reason and origin, counted, and stops nobody."""
    running = sender(alertmanager.url)
    findings.say_bytes(b"\xff not a finding")
    findings.say(finding())
    wait_for(lambda: receiver.deliveries, NEWS_SECONDS, "the notification behind the junk")

    letter = from_json(DeadLetter, _first_value(kafka_bootstrap, f"{findings.prefix}.dead-letters"))
    assert (letter.component, letter.topic) == ("sender", f"{findings.prefix}.findings")
    assert (letter.kafka_offset, letter.payload) == (0, b"\xff not a finding")
    assert "not a Finding" in letter.reason
    exposed = requests.get(running.ready_url, timeout=30).content
    counted = 'sparkfuse_dead_letters_total{component="sender",topic="findings"} 1.0'
    assert counted in exposed.decode()
    checked = subprocess.run(["promtool", "check", "metrics"], input=exposed, capture_output=True, check=False)
    complaints = [line for line in checked.stderr.decode().splitlines() if line.startswith("sparkfuse")]
    assert complaints == []


def test_a_start_that_cannot_work_says_why(findings, kafka_bootstrap):
    """A setting that is wrong is exit code 2, a topic that is missing 3, each with one sentence and no trace."""
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
