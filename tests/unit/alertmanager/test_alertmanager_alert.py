"""Tests the conversion of findings to alerts."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_alertmanager.alert import (
    ANNOTATION_LIMITS,
    FIRING_MS,
    TOTAL,
    Alert,
    InvalidFindingError,
    alert_of,
    alerts_to_post,
    expired,
)
from sparkfuse_alertmanager.links import Links
from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.wire import to_json
from sparkfuse_rules.alert_labels import alert_name

CONSOLE = "https://sparkfuse.example"
LINKS = Links(CONSOLE, "https://grafana.example")
STEPS = {"task_stuck": "Look at the stack of the thread."}
NOW_MS = 1_795_226_470_000


def finding(**fields) -> Finding:
    base: dict[str, Any] = {
        "finding_id": "5be0c7a91d3f2208",
        "rule": "stage_skew",
        "severity": "warning",
        "state": "firing",
        "job_key": "nightly_orders",
        "scope": "stage:9d2c",
        "started_ms": NOW_MS - 5000,
        "updated_ms": NOW_MS - 1000,
    }
    return Finding(**(base | fields))


def alert(**fields) -> Alert:
    return alert_of(finding(**fields), NOW_MS, LINKS)


def test_example_finding_gives_the_expected_alert():
    """The firing example of the contract has exactly these labels and annotations."""
    actual = alert_of(examples_of(Finding)["firing"], 1_795_226_461_000, LINKS, STEPS).to_json()

    link = (
        "https://grafana.example/d/sparkfuse-running-job?var-app_id=app-20261121020000-0042&from=1795226400000&to=now"
    )
    assert actual == {
        "labels": {
            "alertname": "SparkfuseTaskStuck",
            "rule": "task_stuck",
            "severity": "critical",
            "finding_id": "5be0c7a91d3f2208",
            "job_key": "prod-eu/orders/nightly_orders",
            "scope": "stage:9d2c1e0fa8b34455",
            "cluster": "prod-eu",
            "tenant": "orders",
            "team": "orders",
        },
        "annotations": {
            "summary": "A running task has stood still",
            "description": "Task 31 of stage 7 (q2: staged ⋈ customers → lake/orders) has read nothing for 48 s "
            "and used 20 ms of CPU.",
            "where": "q2: staged ⋈ customers → lake/orders (stage 7.0), task 1055, executor 3",
            "cost": "Estimated cost so far: 12.50 USD; the rest of the run would cost 80.25 USD.",
            "owner": "orders-oncall@example.com",
            "run": "app-20261121020000-0042/1795226400000/1",
            "app_id": "app-20261121020000-0042",
            "completeness": "100.0%",
            "evidence_time": "2026-11-21T02:01:00.000Z",
            "evidence": "activity=idle, cpu_since_progress_ms=20, stalled_ms=48000",
            "first_step": "Look at the stack of the thread.",
            "runbook_url": "https://docs.sparkfuse.example/rules/task_stuck.md#runbook",
            "finding_url": f"{CONSOLE}/findings/5be0c7a91d3f2208",
            "dashboard_url": link,
        },
        "startsAt": "2026-11-21T02:01:00.000Z",
        "endsAt": "2026-11-21T02:05:00.250Z",
        "generatorURL": f"{CONSOLE}/findings/5be0c7a91d3f2208",
    }


@pytest.mark.parametrize("case", sorted(examples_of(Finding)))
def test_every_example_gives_an_alert(case):
    """Each example of the contract is converted and read back unchanged."""
    original = alert_of(examples_of(Finding)[case], NOW_MS, LINKS)

    assert Alert.from_json(original.to_json()) == original


@pytest.mark.parametrize(
    ("rule", "name"), [("task_stuck", "SparkfuseTaskStuck"), ("stage_slow_2", "SparkfuseStageSlow2")]
)
def test_alert_name_is_derived_from_the_rule(rule, name):
    """The name of an alert is the id of the rule in camel case with the prefix Sparkfuse."""
    assert alert_name(rule) == name


def test_two_runs_of_a_job_have_the_same_labels():
    """The alerts of two runs of a job have the same labels: no label depends on the run."""
    first = alert(runs=[FindingRun(app_id="app-1", run_key="r1", stage_id=3, state="firing", started_ms=1)])
    second = alert(runs=[FindingRun(app_id="app-2", run_key="r2", stage_id=8, state="firing", started_ms=2)])

    assert first.labels == second.labels
    assert first.annotations["app_id"] != second.annotations["app_id"]


def test_annotations_describe_the_latest_firing_run():
    """The annotations of an alert list at most five applications, newest first."""
    runs = [
        FindingRun(app_id=f"app-{number}", run_key=f"r{number}", started_ms=number, state="firing")
        for number in range(8)
    ]
    runs.append(FindingRun(app_id="app-8", run_key="r8", started_ms=8, state="resolved"))
    annotations = alert(runs=runs).annotations

    assert annotations["run"] == "r7"
    assert annotations["app_id"] == "app-8, app-7, app-6, app-5, app-4 and 4 more"


@pytest.mark.parametrize(
    ("fields", "starts_ms", "ends_ms"),
    [
        pytest.param({}, NOW_MS - 5000, NOW_MS - 1000 + FIRING_MS, id="firing ends four minutes after its update"),
        pytest.param(
            {"state": "resolved", "resolved_ms": NOW_MS - 2000}, NOW_MS - 5000, NOW_MS - 2000, id="resolved ends then"
        ),
        pytest.param({"updated_ms": NOW_MS + 3_600_000}, NOW_MS - 5000, NOW_MS + FIRING_MS, id="clock an hour ahead"),
        pytest.param(
            {"state": "resolved", "resolved_ms": NOW_MS + 3_600_000, "started_ms": NOW_MS + 3_500_000},
            NOW_MS,
            NOW_MS,
            id="resolved by a clock in the future",
        ),
        pytest.param({"started_ms": 0}, NOW_MS - 1000, NOW_MS - 1000 + FIRING_MS, id="start unknown"),
    ],
)
def test_alert_has_start_and_end(fields, starts_ms, ends_ms):
    """Each firing alert has an end time, so it expires if it is not sent again.

    An alert also has an end time if the finding's times are ahead of the local clock.
    """
    actual = alert(**fields)

    assert (actual.starts_ms, actual.ends_ms) == (starts_ms, ends_ms)


@pytest.mark.parametrize(("age_ms", "too_old"), [(FIRING_MS - 1, False), (FIRING_MS, True), (-3_600_000, False)])
def test_old_finding_is_expired(age_ms, too_old):
    """A finding is expired if Alertmanager has already ended its alert."""
    assert expired(finding(updated_ms=NOW_MS - age_ms), NOW_MS) == too_old


@pytest.mark.parametrize(
    "fields",
    [
        {"finding_id": ""},
        {"finding_id": 'x"} or 1'},
        {"rule": ""},
        {"rule": "Stage<Skew>"},
        {"severity": "fatal"},
        {"state": "pending"},
        {"updated_ms": 0},
        {"updated_ms": -5},
        {"started_ms": 2**62},
        {"resolved_ms": 2**62},
    ],
)
def test_invalid_finding_is_rejected(fields):
    """The error for an invalid finding names the invalid field."""
    with pytest.raises(InvalidFindingError) as error:
        alert(**fields)

    assert next(iter(fields)) in str(error.value)


ODD = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=3000)


@given(summary=ODD, description=ODD, job_key=ODD.filter(bool), scope=ODD, app_id=ODD, value=ODD, url=ODD)
def test_any_text_gives_a_bounded_alert(summary, description, job_key, scope, app_id, value, url):
    """For any finding, labels have no markup, annotations have a limited length, and links are http links."""
    runs = [FindingRun(app_id=app_id, run_key=value, evidence={"stack": value, "note": description}, state="firing")]
    actual = alert(
        summary=summary, description=description, job_key=job_key, scope=scope, runbook_url=url, tenant=value, runs=runs
    )

    assert not any(mark in text for text in actual.labels.values() for mark in "<>&\n\x00\u202e")
    assert max(map(len, actual.labels.values())) <= 200
    texts = {name: text for name, text in actual.annotations.items() if name in ANNOTATION_LIMITS}
    assert all(len(text) <= ANNOTATION_LIMITS[name] for name, text in texts.items())
    assert sum(map(len, texts.values())) <= TOTAL
    assert actual.annotations.get("runbook_url", "http").startswith("http")
    assert len(str(actual.to_json()).encode()) < 32_000


WARNING, CRITICAL, INFO = (alert(severity=severity) for severity in ("warning", "critical", "info"))
OVER = alert(state="resolved", resolved_ms=NOW_MS - 1)
CRITICAL_OVER = alert(severity="critical", state="resolved", resolved_ms=NOW_MS - 1)


@pytest.mark.parametrize(
    ("new", "held", "ends"),
    [
        pytest.param(WARNING, [], {"warning": "later"}, id="nothing held"),
        pytest.param(WARNING, [WARNING], {"warning": "later"}, id="the same held: repeated"),
        pytest.param(
            CRITICAL, [WARNING], {"critical": "later", "warning": "later"}, id="worse: warning stays, inhibited"
        ),
        pytest.param(
            CRITICAL, [INFO], {"critical": "later", "info": "now"}, id="worse: info is not inhibited and ends"
        ),
        pytest.param(WARNING, [CRITICAL], {"warning": "later", "critical": "now"}, id="better: critical ends"),
        pytest.param(
            CRITICAL_OVER, [CRITICAL, WARNING], {"critical": "now", "warning": "now"}, id="resolved: both end"
        ),
        pytest.param(
            OVER, [CRITICAL], {"critical": "now"}, id="resolved with another severity: only the held one ends"
        ),
        pytest.param(OVER, [], {"warning": "now"}, id="resolved and none held: the end is posted"),
        pytest.param(
            WARNING, [replace(CRITICAL, labels={"finding_id": "other"})], {"warning": "later"}, id="another finding"
        ),
    ],
)
def test_changed_severity_leaves_one_alert(new, held, ends):
    """If the severity of a finding changes, exactly one of its alerts keeps firing."""
    posted = alerts_to_post([new], held, NOW_MS)

    assert {each.labels["severity"]: "later" if each.ends_ms > NOW_MS else "now" for each in posted} == ends


def failed(failure: str, host: str = "", kind: str = "infrastructure", **fields) -> Finding:
    evidence = {"failure": failure, "failure_kind": kind, "host": host}
    runs = [FindingRun(app_id="app-1", run_key="r1", state="firing", evidence=evidence)]
    return finding(**{"rule": "job_failed", "scope": "application", "runs": runs, **fields})


def test_failures_of_the_infrastructure_have_their_cause_as_label():
    """Failures of many jobs with one cause in the infrastructure share a label; a failure of the code has no cause."""
    assert alert_of(failed("throttled"), NOW_MS, LINKS).labels["cause"] == "throttled"
    assert "cause" not in alert_of(failed("exception", kind="user_code"), NOW_MS, LINKS).labels


@pytest.mark.parametrize("state", ["firing", "resolved"])
def test_finding_that_moves_to_another_host_keeps_its_alert(state):
    """While an alert fires, its finding keeps the labels, so a moving host causes no second notification."""
    stuck = {"rule": "task_stuck", "scope": "stage:1"}
    held = alert_of(failed("", "node-1", **stuck), NOW_MS, LINKS)
    moved = alert_of(failed("", "node-2", state=state, resolved_ms=NOW_MS, **stuck), NOW_MS, LINKS)

    (posted,) = alerts_to_post([moved], [held], NOW_MS)

    assert (held.labels["host"], moved.labels["host"]) == ("node-1", "node-2")
    assert posted == replace(moved, labels=held.labels)


def test_finding_that_fires_again_elsewhere_has_a_new_alert():
    """After an alert has ended, the finding's next alert has the labels of the new run."""
    over = replace(alert_of(failed("", "node-1", rule="task_stuck"), NOW_MS, LINKS), ends_ms=NOW_MS - 1)

    posted = alerts_to_post([alert_of(failed("", "node-2", rule="task_stuck"), NOW_MS, LINKS)], [over], NOW_MS)

    assert [each.labels["host"] for each in posted if each.ends_ms > NOW_MS] == ["node-2"]


@pytest.mark.parametrize(
    ("fields", "page", "without_grafana"),
    [
        pytest.param(
            {"runs": [FindingRun(app_id="app/1", run_key="r", app_start_ms=7, state="firing")]},
            "https://grafana.example/d/sparkfuse-running-job?var-app_id=app%2F1&from=7&to=now",
            f"{CONSOLE}/runs/app%2F1",
            id="application",
        ),
        pytest.param(
            {"scope": "host:node-1", "runs": [FindingRun(app_id="host/node-1", evidence={"host": "node-1"})]},
            f"{CONSOLE}/hosts/node-1",
            f"{CONSOLE}/hosts/node-1",
            id="host",
        ),
        pytest.param({"job_key": "a/b c"}, f"{CONSOLE}/jobs/a%2Fb%20c", f"{CONSOLE}/jobs/a%2Fb%20c", id="job"),
    ],
)
def test_link_leads_to_the_page_of_the_scope(fields, page, without_grafana):
    """The link leads to the application, the host or the job; without Grafana, to the console."""
    for links, expected in ((LINKS, page), (Links(CONSOLE), without_grafana)):
        assert alert_of(finding(**fields), NOW_MS, links).annotations["dashboard_url"] == expected


def test_finding_can_be_serialized():
    """The finding that these tests use is valid JSON according to the contract."""
    assert to_json(finding()).startswith(b'{"finding_id":')
