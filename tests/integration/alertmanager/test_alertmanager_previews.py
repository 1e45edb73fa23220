"""Tests what each receiver gets from the real Alertmanager, and writes it to docs/notifications.md.

With SPARKFUSE_WRITE_GOLDEN=1 the test writes the page and the payloads of PagerDuty instead of comparing them.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from sparkfuse_alertmanager.alert import Alert, alert_of
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.page_alerts import digests, held_back
from sparkfuse_alertmanager.page_decisions import PageDecisions, claims
from sparkfuse_alertmanager.processes import alertmanager_command
from sparkfuse_alertmanager.receiver import PAGER, SLACK, Receiver
from sparkfuse_alertmanager.render import Destinations, Mail, write_alertmanager
from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.runbooks import first_step
from tests.integration.alertmanager.findings import now_ms
from tests.integration.alertmanager.mail_server import mail_server
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)
WRITE = os.environ.get("SPARKFUSE_WRITE_GOLDEN") == "1"
PAGER_GOLDEN = Path(__file__).parent / "golden" / "pager.json"
CONSOLE, ALERTMANAGER = "http://console.example", "http://alertmanager.example"
SECONDS = 120
HEAD = """<!-- Generated from notifications of the real Alertmanager by tests/integration/alertmanager; do not edit. -->

# Notifications

This page shows what each receiver gets, for an example finding.
[alerting.md](alerting.md) describes when it is sent.
"""
# The heading of each message, by its order: the title of the message, and what it is about.
CASES = {
    "[FIRING:1] SparkfuseTaskStuck in nightly_orders": "A critical finding",
    "[RESOLVED] SparkfuseTaskStuck in nightly_orders": "A critical finding that resolved",
    "[FIRING:1] SparkfuseTaskStuck in nightly_returns": "A critical finding beyond the page budget",
    "[FIRING:1] SparkfusePagesHeldBack": "The list of findings beyond the page budget",
}


def example(job_key: str) -> Finding:
    """Return the example of a finding in the contract, as it would be sent now."""
    found = Finding()
    found.CopyFrom(examples_of(Finding)["firing"])
    found.finding_id, found.job_key, found.updated_ms = f"example-{job_key}", job_key, now_ms()
    return found


def made_alerts() -> Sequence[Alert]:
    """Return the alerts as the sender makes them: one that pages, one that is held back, and the list."""
    links, decisions = Links(CONSOLE), PageDecisions(1)
    steps = {rule.id: first_step(rule.runbook) for rule in load_catalog().values()}
    page, later = example("nightly_orders"), example("nightly_returns")
    for each in (page, later):
        for claim in claims([each], decisions):
            decisions.add(claim, now_ms())
    made = [alert_of(each, now_ms(), links, steps) for each in (page, later)]
    reasons = {later.finding_id: decisions.reason(later)}
    return [*held_back(made, reasons), *digests([later], decisions, now_ms(), links)]


def configure(folder: Path, receiver: Receiver, mail: str) -> Path:
    """Return a configuration whose Slack, PagerDuty and mail server are those of this test."""
    (folder / "slack_url").write_text(receiver.slack_url)
    (folder / "pager_key").write_text("key")
    destinations = Destinations(
        slack_url_file=folder / "slack_url",
        pager_key_file=folder / "pager_key",
        mail=Mail("oncall@example.com", "sparkfuse@example.com", mail, tls=False),
    )
    path = write_alertmanager(folder / "out", destinations)
    content = yaml.safe_load(path.read_text())
    for each in content["receivers"]:
        for pager in each.get("pagerduty_configs", []):
            pager["url"] = receiver.address + PAGER
    path.write_text(yaml.safe_dump(content))
    return path


def test_notifications_are_those_of_the_documentation(part, receiver, free_port, tmp_path, repository):
    """The messages for Slack, PagerDuty and mail equal the page and the golden payloads; both have every link."""
    alerts = made_alerts()
    with mail_server() as server:
        configuration = configure(tmp_path, receiver, server.address)
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        command = alertmanager_command(configuration, tmp_path / "data", port)
        part("alertmanager", command, f"{url}/-/ready").start()
        post(url, alerts)
        wait_for(lambda: len(receiver.received(SLACK)) == 3, SECONDS, "the messages to Slack")
        wait_for(lambda: len(server.messages) == 3, SECONDS, "the mails")
        post(url, [dataclasses.replace(alerts[0], ends_ms=now_ms())])
        wait_for(lambda: len(receiver.received(SLACK)) == 4, SECONDS, "the end in Slack")
        wait_for(lambda: len(receiver.received(PAGER)) == 2, SECONDS, "the end at the pager")
        wait_for(lambda: len(server.messages) == 4, SECONDS, "the last mail")
        pages = [normal(each.payload, url) for each in receiver.received(PAGER)]
        slack = [normal(each.payload["attachments"][0], url) for each in receiver.received(SLACK)]
        mails = {str(each["Subject"]): normal(body(each), url) for each in server.messages}

    text = "\n".join([HEAD, *page_lines(slack, pages, mails)])
    payloads = json.dumps(pages, indent=2, ensure_ascii=False) + "\n"
    file = repository / "docs" / "notifications.md"
    if WRITE:
        PAGER_GOLDEN.parent.mkdir(exist_ok=True)
        PAGER_GOLDEN.write_text(payloads)
        file.write_text(text)

    assert [each["event_action"] for each in pages] == ["trigger", "resolve"]
    assert {each["title"] for each in slack} == set(CASES) == set(mails)
    assert payloads == PAGER_GOLDEN.read_text()
    assert text == file.read_text()


def post(url: str, alerts: Sequence[Alert]) -> None:
    answer = requests.post(f"{url}/api/v2/alerts", json=[each.to_json() for each in alerts], timeout=30)
    assert answer.ok, answer.text


def body(message: EmailMessage) -> str:
    """Return the HTML of a mail."""
    part = message.get_body(("html",))
    assert part is not None
    return str(part.get_content())


def normal(content: Any, url: str) -> Any:
    """Return a payload with a fixed address of Alertmanager."""
    return json.loads(json.dumps(content).replace(url, ALERTMANAGER))


def page_lines(
    slack: Sequence[Mapping[str, Any]], pages: Sequence[Mapping[str, Any]], mails: Mapping[str, str]
) -> Iterator[str]:
    """Yield the sections of the page: for each case the message to Slack, the event of PagerDuty, and the mail."""
    messages = {each["title"]: each for each in slack}
    events = {each["payload"]["summary"]: each for each in pages}
    for title, heading in CASES.items():
        message = messages[title]
        yield from (
            f"## {heading}",
            "",
            "Slack:",
            "",
            "```text",
            title,
            *clean(message["text"]),
            "",
            f"[{message['footer']}, {message['color']}]",
        )
        yield from (f"{action['text']}: {action['url']}" for action in message["actions"])
        yield from ("```", "")
        if title in events:
            event = events[title]
            yield from ("PagerDuty:", "", "```json", json.dumps(event, indent=2, ensure_ascii=False), "```", "")
        else:
            yield from ("PagerDuty gets nothing.", "")
        yield from ("E-mail:", "", "```html", *clean(mails[title]), "```", "")


def clean(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.strip().splitlines() if line.strip())
