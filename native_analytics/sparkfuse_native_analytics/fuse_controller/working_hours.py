"""The hours in which people can react to an act, in a time zone; outside of these hours, other budgets apply."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError, unknown_name

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTES_PER_DAY = 24 * 60
_TIME = re.compile(r"(\d{1,2}):([0-5]\d)")
KEYS = ("zone", "days", "from", "to", "outside")


@dataclass(frozen=True)
class WorkingHours:
    """Working hours: from one minute of the day to another, on some days of the week (0 is Monday), in a time zone."""

    zone: str
    days: frozenset[int]
    from_minute: int
    to_minute: int

    def contain(self, now_ms: int) -> bool:
        """Whether the moment is within the working hours; the last minute is excluded."""
        local = datetime.fromtimestamp(now_ms / 1000, UTC).astimezone(ZoneInfo(self.zone))
        minute = local.hour * 60 + local.minute
        return local.weekday() in self.days and self.from_minute <= minute < self.to_minute


def read_working_hours(place: str, content: Mapping[str, object]) -> WorkingHours:
    """Return the working hours of ``fuse.working_hours``. Raises RuleError, which names place and key."""
    zone = strict_yaml.text(f"{place}.zone", content.get("zone"))
    try:
        ZoneInfo(zone)
    except (KeyError, OSError, ValueError) as error:
        raise RuleError(f"{place}.zone: must be a time zone like Europe/Berlin or UTC, but is {zone!r}") from error
    days = content.get("days", list(DAYS[:5]))
    if not isinstance(days, list) or not days:
        raise RuleError(f"{place}.days: must be a list of days such as [mon, tue], but is {days!r}")
    for day in days:
        if day not in DAYS:
            raise unknown_name(f"{place}.days", "day", day, DAYS)
    begin, end = (_minute(f"{place}.{name}", content.get(name)) for name in ("from", "to"))
    if begin >= end:
        raise RuleError(f"{place}: `from` must be before `to`; night hours are not supported")
    return WorkingHours(zone, frozenset(DAYS.index(day) for day in days), begin, end)


def _minute(place: str, value: object) -> int:
    """Return the minute of the day; YAML reads 17:00 without quotes as the number 1020, which is already in minutes."""
    if isinstance(value, int) and not isinstance(value, bool):
        minute = value
    else:
        found = _TIME.fullmatch(value.strip()) if isinstance(value, str) else None
        minute = int(found[1]) * 60 + int(found[2]) if found else -1
    if not 0 <= minute <= MINUTES_PER_DAY:
        raise RuleError(f"{place}: must be a time from 00:00 to 24:00, but is {value!r}")
    return minute
