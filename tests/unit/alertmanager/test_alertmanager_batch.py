"""Tests the conversion of records to a batch of alerts."""

from typing import Any

import pytest

from sparkfuse_alertmanager.feedback import Verdicts
from sparkfuse_alertmanager.inbox import Record
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.sender import make_batch
from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.wire import RecordError, to_json
from sparkfuse_rules.knowledge.precision import MAX_AHEAD_MS

NOW_MS = 1_795_226_470_000
LINKS = Links("http://127.0.0.1:19080")


def record(offset: int, **fields) -> Record:
    base: dict[str, Any] = {
        "finding_id": "f1",
        "rule": "stage_skew",
        "severity": "warning",
        "state": "firing",
        "job_key": "orders",
        "updated_ms": NOW_MS,
        "evidence_ms": NOW_MS - 2000,
    }
    return Record(to_json(Finding(**(base | fields))), 0, offset)


def test_latest_record_of_a_finding_is_used():
    """Several queued records of one finding give one alert with the newest state.

    The older states of the finding cause no notification.
    """
    batch = make_batch([record(0), record(1, severity="critical"), record(2, finding_id="f2")], NOW_MS, LINKS)

    assert [(alert.finding_id, alert.labels["severity"]) for alert in batch.alerts] == [
        ("f1", "critical"),
        ("f2", "warning"),
    ]
    assert (batch.replaced, batch.expired) == (1, 0)


def test_expired_findings_are_skipped_and_counted():
    """An expired record of a finding is skipped, is counted, and never replaces a newer record."""
    batch = make_batch(
        [record(0, updated_ms=NOW_MS - 300_000), record(1, finding_id="f2", updated_ms=NOW_MS - 300_000), record(2)],
        NOW_MS,
        LINKS,
    )

    assert [alert.finding_id for alert in batch.alerts] == ["f1"]
    assert (batch.replaced, batch.expired) == (1, 1)


def test_invalid_records_become_dead_letters():
    """Invalid bytes, other JSON and invalid findings become dead letters with a reason; valid records are sent."""
    invalid = [
        Record(b"", 0, 0),
        Record(b"\xff\xfe", 0, 1),
        Record(b"[]", 0, 2),
        Record(b'{"finding_id": 7}', 0, 3),
        Record(b'{"severity": "\\ud800"}', 0, 4),
        Record(b'{"updated_ms": 1e400}', 0, 5),
        Record(b'{"runs": [' + b"[" * 5000, 0, 6),
        record(7, state="pending"),
    ]
    batch = make_batch([*invalid, record(8)], NOW_MS, LINKS)

    assert [each.offset for each, _reason in batch.invalid] == list(range(8))
    assert all(reason for _each, reason in batch.invalid)
    assert [alert.finding_id for alert in batch.alerts] == ["f1"]


def test_only_firing_findings_measure_the_delay():
    """The metric of the delay includes only firing findings.

    A finding that is resolved minutes after its evidence would distort the metric.
    """
    batch = make_batch([record(0), record(1, finding_id="f2", state="resolved", resolved_ms=NOW_MS)], NOW_MS, LINKS)

    assert batch.evidence_ms == (NOW_MS - 2000,)


def test_canary_has_no_alert():
    """A finding of the canary application is counted and not posted; an invalid one still becomes a dead letter."""
    of_canary = record(0, job_key="sparkfuse-canary")
    invalid = record(1, job_key="sparkfuse-canary", state="pending")
    batch = make_batch([of_canary, invalid, record(2, finding_id="f2")], NOW_MS, LINKS)

    assert [alert.finding_id for alert in batch.alerts] == ["f2"]
    assert (batch.canary, batch.expired, len(batch.invalid)) == (1, 0, 1)


def feedback(finding_id: str, verdict: str = "not-useful", **fields) -> bytes:
    base: dict[str, Any] = {"person": "ada", "at_ms": NOW_MS - 1000, "rule": "stage_skew", "team": "orders"}
    return to_json(Feedback(finding_id=finding_id, verdict=verdict, **(base | fields)))


def test_demoted_finding_is_info_with_a_reason():
    """If people judge too few findings as useful, the alert is info and names the figures; other findings stay."""
    verdicts = Verdicts()
    for number in range(6):
        verdicts.add(feedback(f"old-{number}"))
    records = [
        record(0, severity="critical", team="orders"),
        record(1, finding_id="f2", severity="info", team="orders"),
        record(2, finding_id="f3", team="billing"),
        record(3, finding_id="f4", team="orders", precision_target=0.0),
    ]
    batch = make_batch(records, NOW_MS, LINKS, demotion=verdicts.demotion)
    reasons = [alert.annotations.get("demoted", "") for alert in batch.alerts]

    assert [alert.labels["severity"] for alert in batch.alerts] == ["info", "info", "warning", "warning"]
    assert reasons[0].startswith("Demoted to info: 0 of 6 judged findings of stage_skew in team orders were useful")
    assert reasons[1:] == ["", "", ""]
    assert batch.demoted == 1


def test_late_verdict_does_not_replace_a_newer_one():
    """Records that arrive in another order than they were given have the same result."""
    verdicts = Verdicts()
    for number in range(6):
        verdicts.add(feedback(f"old-{number}"))
    verdicts.add(feedback("old-0", "useful", at_ms=NOW_MS - 1))
    verdicts.add(feedback("old-0"))
    batch = make_batch([record(0, team="orders")], NOW_MS, LINKS, demotion=verdicts.demotion)

    assert [alert.labels["severity"] for alert in batch.alerts] == ["warning"]


def test_verdict_from_the_future_is_an_error():
    """A verdict that would replace all later ones is refused; a clock that is five minutes fast is accepted."""
    verdicts = Verdicts()
    verdicts.add(feedback("old-0", at_ms=NOW_MS + MAX_AHEAD_MS), NOW_MS)

    with pytest.raises(RecordError, match="at_ms is more than 5 minutes in the future"):
        verdicts.add(feedback("old-0", at_ms=NOW_MS + MAX_AHEAD_MS + 1), NOW_MS)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"finding_id": 7}',
        to_json(Feedback(finding_id="f1", verdict="useful", at_ms=1, rule="r")),
    ],
)
def test_invalid_feedback_is_an_error(content):
    """Invalid bytes, other JSON and a verdict without a person raise RecordError, which the follower logs."""
    with pytest.raises(RecordError):
        Verdicts().add(content)
