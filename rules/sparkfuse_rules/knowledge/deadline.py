"""Parse the setting ``spark.sparkfuse.deadline``: the time by which an application must end."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

SETTING = "spark.sparkfuse.deadline"
# The valid forms of a deadline, for the error message.
VALID_FORMS = (
    "a time of day with its zone (06:30 Europe/Berlin, 06:30Z), a date and time with its zone (2026-11-21T06:30+01:00) "
    "or a duration after the start (2h, 90min, PT2H)"
)
MOST_CHARS = 100
MOST_AHEAD = timedelta(days=366)
_TIME_OF_DAY = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*(\S.*)?", re.ASCII)
_DATE_AND_TIME = re.compile(r"(\d{4}-?\d{2}-?\d{2})[T ](\d{2}:?\d{2}(?::?\d{2}(?:[.,]\d{1,6})?)?)\s*(\S.*)?", re.ASCII)
_OFFSET = re.compile(r"(?:UTC|GMT)?([+-])(\d{2}):?(\d{2})?", re.ASCII)
_ISO_DURATION = re.compile(
    r"P(?:(?P<d>\d+(?:\.\d+)?)D)?(?:T(?:(?P<h>\d+(?:\.\d+)?)H)?(?:(?P<m>\d+(?:\.\d+)?)M)?(?:(?P<s>\d+(?:\.\d+)?)S)?)?",
    re.ASCII | re.IGNORECASE,
)
_DURATION = re.compile(
    r"(?:(?P<d>\d+(?:\.\d+)?)\s*d(?:ays?)?)?\s*(?:(?P<h>\d+(?:\.\d+)?)\s*h(?:ours?)?)?\s*"
    r"(?:(?P<m>\d+(?:\.\d+)?)\s*m(?:in(?:utes?)?)?)?\s*(?:(?P<s>\d+(?:\.\d+)?)\s*s(?:ec(?:onds?)?)?)?",
    re.ASCII | re.IGNORECASE,
)


class DeadlineError(ValueError):
    """The setting is not a valid deadline; the message lists the valid forms for the job's owner."""


def deadline_ms(text: str, started_ms: int) -> int:
    """Return the deadline, in ms since the epoch, of an application that started at ``started_ms`` (same unit).

    A time of day means its first occurrence after the start. Raises DeadlineError if the text has none of the three
    forms, or if the deadline is not within a year after the start.
    """
    value = text.strip()
    if not value or len(value) > MOST_CHARS:
        raise _invalid(value)
    try:
        started = datetime.fromtimestamp(started_ms / 1000, UTC)
        at = _duration_after(value, started) or _time_of_day_after(value, started) or _date_and_time(value)
    except (ValueError, OverflowError, OSError, KeyError) as error:
        raise _invalid(value) from error
    if at is None:
        raise _invalid(value)
    if not timedelta() < at - started <= MOST_AHEAD:
        raise DeadlineError(
            f"{SETTING}={value!r} is ignored: it must be after the application's start ({started:%Y-%m-%dT%H:%MZ}) "
            f"and at most {MOST_AHEAD.days} days later"
        )
    return round(at.timestamp() * 1000)


def _invalid(value: str) -> DeadlineError:
    return DeadlineError(f"{SETTING}={value[:MOST_CHARS]!r} is ignored: it must be {VALID_FORMS}")


def _duration_after(value: str, started: datetime) -> datetime | None:
    found = _ISO_DURATION.fullmatch(value) or _DURATION.fullmatch(value)
    if found is None or not any(found.groups()):
        return None
    days, hours, minutes, seconds = (float(found[part] or 0) for part in "dhms")
    return started + timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)


def _time_of_day_after(value: str, started: datetime) -> datetime | None:
    found = _TIME_OF_DAY.fullmatch(value)
    if found is None:
        return None
    zone = _zone(found[4])
    of_day = time(int(found[1]), int(found[2]), int(found[3] or 0))
    today = started.astimezone(zone).date()
    # Because of daylight saving time, a time of day may occur twice on one day or not at all. The first occurrence
    # after the start is used.
    moments = (
        datetime.combine(today + timedelta(days=days), of_day, zone).replace(fold=fold).astimezone(UTC)
        for days in (-1, 0, 1, 2)
        for fold in (0, 1)
    )
    return min(moment for moment in moments if moment > started)


def _date_and_time(value: str) -> datetime | None:
    found = _DATE_AND_TIME.fullmatch(value)
    if found is None:
        return None
    return datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=_zone(found[3])).astimezone(UTC)


def _zone(value: str | None) -> tzinfo:
    """Return the time zone of an offset or an IANA name. Raises ValueError or KeyError for anything else."""
    if value is None:
        raise ValueError("a time without a zone is ambiguous")
    if value in {"Z", "z"}:
        return UTC
    if offset := _OFFSET.fullmatch(value):
        ahead = timedelta(hours=int(offset[2]), minutes=int(offset[3] or 0))
        return timezone(-ahead if offset[1] == "-" else ahead)
    return ZoneInfo(value)
