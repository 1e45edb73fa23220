"""One cause, one page: what the rules' inhibitions make of alerts and of Alertmanager's configuration."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sparkfuse_alertmanager.alert import Alert
from sparkfuse_alertmanager.causes import concerned, hosted, known
from sparkfuse_alertmanager.generate import PATH, made
from sparkfuse_alertmanager.inhibition import WAITS_FOR, inhibit_rules, together
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.inhibition import as_data, from_data, inhibitions

NOW_MS = 1_795_000_000_000
LATER_MS = NOW_MS + 240_000


def alert(rule: str, severity: str = "warning", ends_ms: int = LATER_MS, **labels: str) -> Alert:
    of = {"rule": rule, "severity": severity, "finding_id": rule, "cluster": "eu", "tenant": "t", "job_key": "nightly"}
    return Alert({**of, "scope": "stage:1", **labels}, {}, NOW_MS - 60_000, ends_ms, "")


def over(of: Alert) -> Alert:
    return replace(of, ends_ms=NOW_MS - 1)


SKEW, SLOW = alert("stage_skew"), alert("stage_slow")


def test_the_configuration_has_what_the_catalog_says() -> None:
    """Nobody edits it by hand, and what was generated once is read back the same."""
    configuration = PATH.read_text()

    assert made(configuration) == configuration
    assert from_data(as_data(known())) == inhibitions(load_catalog().values())
    assert len(list(inhibit_rules(known()))) >= len(known())


def test_a_symptom_that_ends_under_its_cause_waits_for_it() -> None:
    """Alertmanager would never say that it resolved, and would keep the next run's to itself."""
    (told,) = together([over(SLOW)], [SKEW, SLOW], NOW_MS)

    assert (told.ends_ms, told.annotations[WAITS_FOR]) == (LATER_MS, "stage_skew")


def test_both_resolve_together() -> None:
    """When the cause ends, so does what waited for it."""
    waiting = replace(SLOW, annotations={WAITS_FOR: "stage_skew"})

    told = together([over(SKEW)], [SKEW, waiting], NOW_MS)

    assert {each.labels["rule"]: each.ends_ms for each in told} == {"stage_skew": NOW_MS - 1, "stage_slow": NOW_MS - 1}


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(over(SKEW), id="it is over too"),
        pytest.param(alert("stage_skew", scope="stage:2"), id="of another stage"),
        pytest.param(alert("stage_skew", job_key="other"), id="of another job"),
        pytest.param(alert("stage_spill", severity="info"), id="only advice"),
        pytest.param(alert("tiny_tasks"), id="a rule that silences nothing"),
        pytest.param(alert("application_slow", scope="application"), id="an application's warning"),
    ],
)
def test_what_is_not_muted_ends_at_once(cause: Alert) -> None:
    """An end is told when it happens."""
    assert together([over(SLOW)], [cause, SLOW], NOW_MS) == [over(SLOW)]


def test_a_page_of_the_application_silences_its_stages() -> None:
    """As a warning it does not: the stage says more."""
    page = alert("application_slow", severity="critical", scope="application")

    assert together([over(SLOW)], [page], NOW_MS)[0].ends_ms == LATER_MS


def test_a_bad_node_silences_its_stragglers_of_all_jobs() -> None:
    """By the host and nothing else."""
    node = alert("node_bad", job_key="host w3", tenant="", scope="host:w3", host="w3")
    here, there = (over(alert("task_straggler", host=host, finding_id=host)) for host in ("w3", "w4"))

    assert [each.ends_ms > NOW_MS for each in together([here, there], [node], NOW_MS)] == [True, False]
    assert {"node_bad", "task_straggler"} <= hosted() <= concerned()


def test_a_warning_silences_no_page() -> None:
    """Whoever must be woken is woken."""
    page = over(alert("stage_slow", severity="critical"))

    assert together([page], [SKEW], NOW_MS) == [page]
