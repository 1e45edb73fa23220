"""Tests the budget of pages with the real broker, sender and Alertmanager."""

from __future__ import annotations

import signal
import threading

import pytest
import requests
from prometheus_client import CollectorRegistry

from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_alertmanager.page_budget import PageBudget
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.settings import Settings
from tests.integration.alertmanager.findings import finding
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)
NOTIFICATION_SECONDS = 120


def costly(number: int, **fields) -> Finding:
    """Return a critical finding of its own job; a larger number is more expensive."""
    made = finding(f"stage:{number}", f"app-{number}", job_key=f"job-{number}", team="orders", **fields)
    made.started_ms = 1_795_226_400_000 + number
    made.runs[0].cost = number
    return made


def severities(url: str) -> dict[str, str]:
    """Return the severity of the firing alert of each job, and of the list under the name of its rule."""
    found = requests.get(f"{url}/api/v2/alerts", timeout=5).json()
    return {alert["labels"].get("job_key", alert["labels"]["rule"]): alert["labels"]["severity"] for alert in found}


def test_at_most_the_limit_pages_and_a_restart_keeps_it(alertmanager, receiver, findings, sender):
    """Of five critical findings the two most expensive page; the others are warnings and are listed once.

    A killed sender that reads the batch again, and a repetition, page nobody again.
    """
    running = sender(alertmanager.url, pages_per_day=2)
    findings.publish(*map(costly, range(1, 6)), costly(9, rule="deadline_at_risk"))
    expected = {
        "job-5": "critical", "job-4": "critical", "job-3": "warning", "job-2": "warning", "job-1": "warning",
        "job-9": "critical", "pages_held_back": "warning",
    }  # fmt: skip
    wait_for(lambda: severities(alertmanager.url) == expected, NOTIFICATION_SECONDS, "the alerts")
    assert running.kill(signal.SIGKILL) == -signal.SIGKILL
    sender(alertmanager.url, pages_per_day=2)
    findings.publish(*map(costly, range(1, 6)), costly(6))
    wait_for(lambda: "job-6" in severities(alertmanager.url), NOTIFICATION_SECONDS, "the later finding")
    wait_for(lambda: _notified(receiver, "SparkfusePagesHeldBack"), NOTIFICATION_SECONDS, "the list")
    [held] = _notified(receiver, "SparkfusePagesHeldBack")

    assert severities(alertmanager.url) == {**expected, "job-6": "warning"}
    assert "critical findings of team orders did not page today" in held["annotations"]["summary"]
    assert {"stage_skew in job-1", "stage_skew in job-3"} <= set(_listed(held))
    assert not {"stage_skew in job-4", "stage_skew in job-5"} & set(_listed(held))


def test_concurrent_senders_share_one_budget(findings, kafka_bootstrap):
    """Two senders that decide at the same time about different and equal findings exceed the limit together never."""
    settings = Settings.from_environment(
        {
            "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": findings.prefix,
            "SPARKFUSE_PAGES_PER_DAY": "7",
        }
    )
    metrics = Metrics(CollectorRegistry())
    budgets = [PageBudget(settings, metrics) for _ in range(3)]
    shares = [range(20), range(10, 30), range(25, 40)]

    def work(budget: PageBudget, share: range) -> None:
        for number in share:
            budget.decide([costly(number)])

    threads = [threading.Thread(target=work, args=pair) for pair in zip(budgets, shares, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    restarted = PageBudget(settings, metrics)
    decisions = {number: restarted.decisions.decision(costly(number)) for number in range(40)}
    agreed = [
        budget.decisions.decision(costly(number)) == decisions[number]
        for budget, share in zip(budgets, shares, strict=True)
        for number in share
    ]
    for each in (*budgets, restarted):
        each.close()

    assert sum(bool(each) for each in decisions.values()) == 7
    assert None not in decisions.values()
    assert all(agreed)


def _notified(receiver, name: str) -> list[dict]:
    alerts = [alert for each in receiver.deliveries for alert in each.payload["alerts"]]
    return [alert for alert in alerts if alert["labels"]["alertname"] == name]


def _listed(alert: dict) -> list[str]:
    return alert["annotations"]["description"].partition("Not paged: ")[2].rstrip(".").split(", ")
