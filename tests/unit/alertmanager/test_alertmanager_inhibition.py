"""Tests the inhibition of alerts: when inhibited alerts end, and the generated configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkfuse_alertmanager.alert import Alert
from sparkfuse_alertmanager.generate import PATH, with_inhibitions
from sparkfuse_alertmanager.inhibition import WAITS_FOR, align_ends, inhibit_rules
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.catalog_inhibitions import catalog_inhibitions, related_rules, rules_with_host_label
from sparkfuse_rules.inhibition import as_data, from_data, inhibitions

NOW_MS = 1_795_000_000_000
LATER_MS = NOW_MS + 240_000


def alert(rule: str, severity: str = "warning", ends_ms: int = LATER_MS, **labels: str) -> Alert:
    of = {"rule": rule, "severity": severity, "finding_id": rule, "cluster": "eu", "tenant": "t", "job_key": "nightly"}
    return Alert({**of, "scope": "stage:1", **labels}, {}, NOW_MS - 60_000, ends_ms, "")


def resolved(of: Alert) -> Alert:
    return replace(of, ends_ms=NOW_MS - 1)


SKEW, SLOW = alert("stage_skew"), alert("stage_slow")


def test_generated_inhibitions_are_up_to_date() -> None:
    """The inhibition rules in Alertmanager's configuration equal the output of the generator."""
    configuration = PATH.read_text()

    assert with_inhibitions(configuration) == configuration
    assert from_data(as_data(catalog_inhibitions())) == inhibitions(load_catalog().values())
    assert len(list(inhibit_rules(catalog_inhibitions()))) >= len(catalog_inhibitions())


def test_inhibited_symptom_ends_with_its_cause() -> None:
    """An inhibited symptom ends together with its cause.

    Otherwise Alertmanager would report neither the end of the symptom nor the symptom of the next run.
    """
    (aligned,) = align_ends([resolved(SLOW)], [SKEW, SLOW], NOW_MS)

    assert (aligned.ends_ms, aligned.annotations[WAITS_FOR]) == (LATER_MS, "stage_skew")


def test_cause_and_waiting_symptom_end_together() -> None:
    """If a cause ends, the symptom whose end was delayed because of this cause ends too."""
    waiting = replace(SLOW, annotations={WAITS_FOR: "stage_skew"})

    aligned = align_ends([resolved(SKEW)], [SKEW, waiting], NOW_MS)

    assert {each.labels["rule"]: each.ends_ms for each in aligned} == {
        "stage_skew": NOW_MS - 1,
        "stage_slow": NOW_MS - 1,
    }


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(resolved(SKEW), id="resolved too"),
        pytest.param(alert("stage_skew", scope="stage:2"), id="of another stage"),
        pytest.param(alert("stage_skew", job_key="other"), id="of another job"),
        pytest.param(alert("stage_spill", severity="info"), id="info only"),
        pytest.param(alert("tiny_tasks"), id="a rule that inhibits nothing"),
        pytest.param(alert("application_slow", scope="application"), id="an application's warning"),
    ],
)
def test_symptom_without_inhibition_ends_at_once(cause: Alert) -> None:
    """The end of a symptom that no cause inhibits is posted without delay."""
    assert align_ends([resolved(SLOW)], [cause, SLOW], NOW_MS) == [resolved(SLOW)]


def test_critical_application_inhibits_its_stages() -> None:
    """A critical finding of an application inhibits findings of its stages.

    A warning about an application inhibits nothing, because findings of stages are more specific.
    """
    page = alert("application_slow", severity="critical", scope="application")

    assert align_ends([resolved(SLOW)], [page], NOW_MS)[0].ends_ms == LATER_MS


def test_bad_node_inhibits_stragglers_of_all_jobs() -> None:
    """A finding about a host inhibits stragglers with the same label `host`, whatever their other labels are."""
    node = alert("node_bad", job_key="host w3", tenant="", scope="host:w3", host="w3")
    here, there = (resolved(alert("task_straggler", host=host, finding_id=host)) for host in ("w3", "w4"))

    assert [each.ends_ms > NOW_MS for each in align_ends([here, there], [node], NOW_MS)] == [True, False]
    assert {"node_bad", "task_straggler"} <= rules_with_host_label() <= related_rules()


def test_warning_does_not_inhibit_critical() -> None:
    """A warning never inhibits a critical alert, so a critical alert always causes a notification."""
    page = resolved(alert("stage_slow", severity="critical"))

    assert align_ends([page], [SKEW], NOW_MS) == [page]
