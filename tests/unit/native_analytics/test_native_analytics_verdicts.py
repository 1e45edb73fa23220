"""Tests the record of a person's verdict on a finding, and its limits."""

import pytest

from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_native_analytics.queries import Finding
from sparkfuse_native_analytics.verdicts import NOTE_CHARACTERS, PERSON_CHARACTERS, VerdictError, verdict_on

AT_MS = 1_795_226_470_000
FINDING = Finding(
    finding_id="f1", rule="stage_skew", severity="warning", state="firing", job_key="orders", scope="stage:1",
    summary=None, description=None, runbook_url=None, cluster="prod", tenant=None, started_ms=1, updated_ms=2,
    resolved_ms=None, evidence_ms=None, completeness=None, owner=None, team="billing", currency=None, runs=[],
)  # fmt: skip


def test_verdict_has_the_fields_of_its_finding() -> None:
    """The record copies the fields that precision needs; absent fields and an empty note stay absent."""
    record = verdict_on(FINDING, "useful", "", "ada", AT_MS)

    assert record == Feedback(
        finding_id="f1", person="ada", verdict="useful", at_ms=AT_MS, rule="stage_skew", job_key="orders",
        cluster="prod", team="billing",
    )  # fmt: skip


def test_texts_of_exactly_the_limits_are_recorded() -> None:
    """The limits are the largest lengths that are allowed."""
    record = verdict_on(FINDING, "useful", "n" * NOTE_CHARACTERS, "p" * PERSON_CHARACTERS, AT_MS)

    assert (len(record.note), len(record.person)) == (NOTE_CHARACTERS, PERSON_CHARACTERS)


@pytest.mark.parametrize(
    ("verdict", "note", "person", "message"),
    [
        ("great", "", "ada", "must be one of useful, not-useful, fixed, accepted, but is 'great'"),
        ("", "", "ada", "must be one of"),
        ("useful", "n" * (NOTE_CHARACTERS + 1), "ada", "a note has at most 1000 characters, but this note has 1001"),
        ("useful", "", "p" * (PERSON_CHARACTERS + 1), "at most 200 characters, but has 201"),
    ],
    ids=["unknown verdict", "no verdict", "long note", "long name"],
)
def test_verdict_outside_the_limits_is_refused(verdict: str, note: str, person: str, message: str) -> None:
    """Every caller gets the same sentence for a verdict that is unknown and for a text that is too long."""
    with pytest.raises(VerdictError, match=message):
        verdict_on(FINDING, verdict, note, person, AT_MS)
