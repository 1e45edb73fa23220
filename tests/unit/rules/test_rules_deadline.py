"""Tests the setting spark.sparkfuse.deadline: valid forms and errors."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_contracts.generate.shared import read_shared
from sparkfuse_rules.knowledge.deadline import DeadlineError, deadline_ms

START = "2026-11-21T02:00:00+00:00"
CASES = read_shared()["deadlines"]["cases"]


def at(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['text']!a} from {case['start']}")
def test_shared_case_has_its_deadline(case: dict[str, str]):
    """Detection reads a deadline as the hook does: the first such time of day after the start, or a duration after it.

    A deadline follows the wall clock of its time zone, even if a day does not have 24 hours.
    """
    if case["deadline"] == "none":
        with pytest.raises(DeadlineError):
            deadline_ms(case["text"], at(case["start"]))
    else:
        assert deadline_ms(case["text"], at(case["start"])) == at(case["deadline"])


@pytest.mark.parametrize(
    "text",
    ["06:30", "tomorrow", "06:30 ../../etc/passwd", "x" * 10_000, "06:30Z\n!", "06:30+99:00", "99999999999999999999h"],
)
def test_invalid_text_is_rejected_with_valid_forms(text: str):
    """The error for an invalid deadline contains its value and examples of valid ones."""
    with pytest.raises(DeadlineError, match=r"spark\.sparkfuse\.deadline=.* is ignored: it must") as refused:
        deadline_ms(text, at(START))

    assert "06:30 Europe/Berlin" in str(refused.value) or "after the application's start" in str(refused.value)
    assert len(str(refused.value)) < 500
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["2000-01-01T00:00Z", "0h", "367d", "2026-11-21T02:00Z"])
def test_past_or_distant_deadline_is_rejected(text: str):
    """A deadline must be after the start of the application and within a year."""
    with pytest.raises(DeadlineError, match="must be after the application's start"):
        deadline_ms(text, at(START))


@given(st.integers(0, 23), st.integers(0, 59), st.integers(0, 4_000_000_000_000))
def test_time_of_day_is_within_a_day_of_the_start(hour: int, minute: int, start: int):
    """In UTC, a time of day gives a deadline at that time of day, at most 24 hours after the start."""
    found = deadline_ms(f"{hour:02}:{minute:02}Z", start)

    assert 0 < found - start <= 86_400_000
    assert datetime.fromtimestamp(found / 1000, UTC).strftime("%H:%M:%S") == f"{hour:02}:{minute:02}:00"


@given(st.text(max_size=60), st.integers(-(2**63), 2**63))
def test_any_text_gives_a_deadline_or_an_error(text: str, start: int):
    """For any text and any start, the result is a deadline or the documented error."""
    try:
        assert deadline_ms(text, start) > start
    except DeadlineError as refused:
        assert "spark.sparkfuse.deadline" in str(refused)  # noqa: PT017
