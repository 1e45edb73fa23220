"""Tests with the real Alertmanager which alert inhibits which other alert, over all pairs of rules."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import requests

from sparkfuse.stack.layout import free_ports
from sparkfuse_alertmanager.processes import alertmanager_command
from sparkfuse_alertmanager.render import Destinations, write_alertmanager
from sparkfuse_rules.alert_labels import alert_name
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.catalog_inhibitions import HOST
from tests.integration.alertmanager.conftest import Part
from tests.waiting import wait_for

RULES = sorted(load_catalog())
BY_RULE = load_catalog()
LEVELS = ("critical", "warning")
Labels = Mapping[str, str]


@pytest.fixture(scope="module")
def alertmanager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start an Alertmanager that notifies nobody; its inhibitions are those of the configuration."""
    folder: Path = tmp_path_factory.mktemp("matrix")
    (port,) = free_ports(1)
    command = alertmanager_command(write_alertmanager(folder, Destinations()), folder / "data", port)
    part = Part("alertmanager", command, f"http://127.0.0.1:{port}/-/ready", folder / "log").start()
    yield f"http://127.0.0.1:{port}"
    part.kill()


def alert(rule: str, severity: str, **labels: str) -> dict[str, str]:
    """Return the labels of a finding's alert in a job; the alerts of one pair have a cluster of their own."""
    found = f"{rule}-{severity}-{labels.get('scope', '')}-{labels['cluster']}"
    return {
        "alertname": alert_name(rule), "rule": rule, "severity": severity, "finding_id": found, "job_key": "nightly",
        "tenant": "t", "scope": "stage:1", "host": "node-1", **labels,
    }  # fmt: skip


def inhibited(address: str, alerts: list[dict[str, str]]) -> list[bool]:
    """Post the alerts, and return for each of them whether it is inhibited."""
    ends = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    begins = datetime.now(UTC).isoformat()
    content = [{"labels": labels, "startsAt": begins, "endsAt": ends} for labels in alerts]
    assert requests.post(f"{address}/api/v2/alerts", json=content, timeout=60).ok

    def states() -> Mapping[frozenset[tuple[str, str]], bool] | None:
        answer = requests.get(f"{address}/api/v2/alerts", timeout=60).json()
        known = {frozenset(each["labels"].items()): bool(each["status"]["inhibitedBy"]) for each in answer}
        return known if all(frozenset(labels.items()) in known for labels in alerts) else None

    known = wait_for(states, 60, "the alerts")
    return [known[frozenset(labels.items())] for labels in alerts]


def declared(cause: str, cause_level: str, symptom: str, symptom_level: str) -> bool:
    """Return whether the rules declare that the cause inhibits the symptom."""
    if symptom not in BY_RULE[cause].inhibits:
        return False
    return cause_level == "critical" if symptom_level == "critical" else True


def test_only_causes_inhibit_their_symptoms(alertmanager: str) -> None:
    """Of all pairs of rules and severities in one stage, exactly those are inhibited that the rules declare."""
    pairs = [
        (cause, level, symptom, of)
        for cause, symptom in itertools.permutations(RULES, 2)
        for level, of in itertools.product(LEVELS, LEVELS)
        if level in BY_RULE[cause].severity and of in BY_RULE[symptom].severity
    ]
    alerts = [
        each
        for number, (cause, level, symptom, of) in enumerate(pairs)
        for each in (alert(cause, level, cluster=f"c{number}"), alert(symptom, of, cluster=f"c{number}"))
    ]

    found = inhibited(alertmanager, alerts)

    symptoms = dict(zip(pairs, found[1::2], strict=True))
    assert len(pairs) > 1000
    assert {pair for pair, is_inhibited in symptoms.items() if is_inhibited} == {
        pair for pair in pairs if declared(*pair)
    }
    # A rule never inhibits what inhibits it, so no two alerts hide one another.
    assert not [pair for pair in pairs if declared(*pair) and declared(*pair[2:], *pair[:2])]


@pytest.mark.parametrize(
    ("differs", "also_inhibited"),
    [
        pytest.param({"job_key": "other"}, {HOST}, id="of another job"),
        pytest.param({"scope": "stage:2"}, {HOST, "job"}, id="of another stage"),
        pytest.param({"host": "node-2"}, {"stage", "job"}, id="on another host"),
        pytest.param({"tenant": "other"}, {HOST}, id="of another tenant"),
    ],
)
def test_symptom_elsewhere_is_not_inhibited(alertmanager: str, differs: Labels, also_inhibited: set[str]) -> None:
    """A cause inhibits only symptoms of its own stage, job or host."""
    pairs = [(cause, symptom) for cause in RULES for symptom in BY_RULE[cause].inhibits]
    alerts = []
    for number, (cause, symptom) in enumerate(pairs):
        cluster = f"{differs}{number}"
        level = "critical" if "critical" in BY_RULE[cause].severity else "warning"
        of = "warning" if "warning" in BY_RULE[symptom].severity else "critical"
        alerts += [alert(cause, level, cluster=cluster), alert(symptom, of, cluster=cluster, **differs)]

    found = inhibited(alertmanager, alerts)

    kinds = {"host_live": HOST} | dict.fromkeys(("stage_live", "task_live", "failure_live", "streaming_live"), "stage")
    for (cause, symptom), is_inhibited in zip(pairs, found[1::2], strict=True):
        assert is_inhibited == (kinds.get(BY_RULE[cause].view, "job") in also_inhibited), (cause, symptom)


def test_other_teams_are_not_inhibited_and_inhibit_nothing(alertmanager: str) -> None:
    """Alerts of other teams with the same labels inhibit none of ours, and ours inhibit none of theirs."""
    theirs = {
        "alertname": "JobFailed",
        "rule": "executor_lost",
        "cluster": "shared",
        "tenant": "t",
        "job_key": "nightly",
    }
    bare = {"alertname": "DiskFull"}
    alerts = [
        alert("stage_skew", "warning", cluster="shared"),
        alert("executor_lost", "critical", cluster="shared", job_key="else"),
        *({**labels, "severity": severity} for labels in (theirs, bare) for severity in LEVELS),
        {"alertname": "SparkfuseProcessDown", "severity": "critical"},
        {"alertname": "SparkfuseFactsLost", "severity": "warning"},
    ]

    assert not any(inhibited(alertmanager, alerts))


def test_warning_is_inhibited_by_its_own_critical_alert_only(alertmanager: str) -> None:
    """A finding that became critical inhibits its warning, and no other warning of the stage."""
    critical = alert("stage_skew", "critical", cluster="same", scope="stage:7")
    became = {**critical, "severity": "warning"}
    other = alert("stage_retried", "warning", cluster="same", scope="stage:7")

    assert inhibited(alertmanager, [critical, became, other]) == [False, True, False]
