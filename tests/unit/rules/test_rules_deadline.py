"""Tests the setting spark.sparkfuse.deadline: valid forms and errors."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.deadline import DeadlineError, deadline_ms

START = "2026-11-21T02:00:00+00:00"


def at(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("06:30 Europe/Berlin", "2026-11-21T05:30:00+00:00"),
        ("06:30Z", "2026-11-21T06:30:00+00:00"),
        ("6:30 UTC", "2026-11-21T06:30:00+00:00"),
        ("06:30:15+05:30", "2026-11-22T01:00:15+00:00"),
        ("02:00Z", "2026-11-22T02:00:00+00:00"),
        ("01:59:59Z", "2026-11-22T01:59:59+00:00"),
        ("23:00 America/New_York", "2026-11-21T04:00:00+00:00"),
        ("2026-11-21T06:30+01:00", "2026-11-21T05:30:00+00:00"),
        ("2026-11-21 06:30:00Z", "2026-11-21T06:30:00+00:00"),
        ("20261121T063000Z", "2026-11-21T06:30:00+00:00"),
        ("2026-11-21T06:30 Europe/Berlin", "2026-11-21T05:30:00+00:00"),
        ("2h", "2026-11-21T04:00:00+00:00"),
        (" 90min ", "2026-11-21T03:30:00+00:00"),
        ("1h 30m", "2026-11-21T03:30:00+00:00"),
        ("1d2h", "2026-11-22T04:00:00+00:00"),
        ("45 seconds", "2026-11-21T02:00:45+00:00"),
        ("PT2H", "2026-11-21T04:00:00+00:00"),
        ("P1DT12H30M", "2026-11-22T14:30:00+00:00"),
        ("pt0.5h", "2026-11-21T02:30:00+00:00"),
    ],
)
def test_valid_forms_give_a_deadline(text: str, expected: str):
    """A time of day means its first occurrence after the start of the application; a duration is added to the start."""
    assert deadline_ms(text, at(START)) == at(expected)


@pytest.mark.parametrize(
    "start, text, expected",
    [
        pytest.param(
            "2026-03-29T00:30:00+00:00",
            "02:30 Europe/Berlin",
            "2026-03-29T01:30:00+00:00",
            id="hour that does not exist",
        ),
        pytest.param(
            "2026-10-25T00:45:00+00:00",
            "02:30 Europe/Berlin",
            "2026-10-25T01:30:00+00:00",
            id="hour that exists twice",
        ),
        pytest.param(
            "2026-10-24T12:00:00+00:00",
            "06:30 Europe/Berlin",
            "2026-10-25T05:30:00+00:00",
            id="winter time at the deadline",
        ),
    ],
)
def test_daylight_saving_time_is_respected(start: str, text: str, expected: str):
    """A deadline follows the wall clock of its time zone, even if a day does not have 24 hours."""
    assert deadline_ms(text, at(start)) == at(expected)


@pytest.mark.parametrize(
    "text",
    ["06:30", "2026-11-21T06:30", "tomorrow", "25:00Z", "06:61Z", "06:30 Europe/Atlantis", "06:30 ../../etc/passwd",
     "06:30 Europe", "2", "P", "PT", "-2h", "2h later", "2026-02-30T00:00Z", "x" * 10_000, "06:30Z\n!", "٣h",
     "99999999999999999999h", "06:30+99:00"],
)  # fmt: skip
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
