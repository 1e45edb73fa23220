"""Limits on what the fuse controller may do, from sparkfuse.yaml: budgets, cool-down times, holds, protected jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_native_analytics.fuse_controller.protected import Protected, read_protected
from sparkfuse_native_analytics.fuse_controller.working_hours import KEYS as HOURS_KEYS
from sparkfuse_native_analytics.fuse_controller.working_hours import WorkingHours, read_working_hours
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.overrides import read_list, read_section

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Budget:
    """Largest number of acts in an hour. Only a budget limits kills, because Spark does not count kills as failures."""

    job_per_hour: int = 3
    tenant_per_hour: int = 10
    team_per_hour: int = 10
    rule_per_hour: int = 10
    global_per_hour: int = 20


@dataclass(frozen=True)
class BigPicture:
    """The limit of affected applications of a cluster; if it is exceeded, nothing is stopped.

    The limit is exceeded if more than ``share`` of the running applications and at least ``applications`` are affected.
    An application is affected if a rule matches now, or if the fuse acted on it in the last 15 minutes. If the limit is
    exceeded, the likely cause is the platform or Sparkfuse. Machine health checks of Kubernetes have a limit of this
    kind for the same reason.
    """

    share: float = 0.1
    applications: int = 3


@dataclass(frozen=True)
class Hold:
    """Prevents acts for which all patterns match (shell style, * and ?), until ``until_ms`` if that is set."""

    reason: str
    rule: str = "*"
    job: str = "*"
    app: str = "*"
    until_ms: int | None = None

    def covers(self, rule: str, job_key: str, app_id: str, now_ms: int) -> bool:
        """Whether the hold applies to this rule and application now."""
        expired = self.until_ms is not None and now_ms >= self.until_ms
        fits = matches(self.rule, rule) and matches(self.job, job_key) and matches(self.app, app_id)
        return fits and not expired


@dataclass(frozen=True)
class Arming:
    """How many distinct healthy runs must have been probed, without a false probe, before a rule may stop jobs.

    With 300 runs and no false probe, the share of false probes is below 1 % with 95 % confidence (rule of three).
    At most ``replayed`` of these runs may be stored runs that the arming's replay evaluated instead of the hook.
    """

    probes: int = 300
    replayed: int = 0


@dataclass(frozen=True)
class Safeguards:
    """All limits of the fuse controller."""

    budget: Budget = field(default_factory=Budget)
    times: Times = field(default_factory=Times)
    big_picture: BigPicture = field(default_factory=BigPicture)
    arming: Arming = field(default_factory=Arming)
    holds: tuple[Hold, ...] = ()
    protected: tuple[Protected, ...] = ()
    working_hours: WorkingHours | None = None
    budget_outside: Budget | None = None

    def budget_at(self, now_ms: int) -> Budget:
        """Return the budget that applies now; outside of the working hours, another budget may apply."""
        if self.working_hours is None or self.budget_outside is None or self.working_hours.contain(now_ms):
            return self.budget
        return self.budget_outside


def read_safeguards(path: Path | None) -> Safeguards:
    """Read the keys ``fuse`` and ``holds`` of a sparkfuse.yaml; defaults if ``path`` is None. Raises RuleError."""
    if path is None:
        return Safeguards()
    place = f"{path}: fuse"
    keys = ("budget", "cool_down", "quiet", "big_picture", "arming", "protected", "working_hours")
    content = strict_yaml.mapping(place, read_section(path, "fuse"), keys)
    times = Times()
    budget = _budget(f"{place}.budget", content.get("budget") or {}, Budget())
    hours, outside = _hours(f"{place}.working_hours", content.get("working_hours"), budget)
    return Safeguards(
        budget=budget,
        times=Times(
            _duration(f"{place}.cool_down", content.get("cool_down"), times.cool_down_ms),
            _duration(f"{place}.quiet", content.get("quiet"), times.quiet_ms),
        ),
        big_picture=_big_picture(f"{place}.big_picture", content.get("big_picture") or {}),
        arming=_arming(f"{place}.arming", content.get("arming") or {}),
        holds=tuple(_hold(f"{path}: holds[{number}]", entry) for number, entry in enumerate(read_list(path, "holds"))),
        protected=_protected(f"{place}.protected", content.get("protected") or []),
        working_hours=hours,
        budget_outside=outside,
    )


def _duration(place: str, value: object, default: int) -> int:
    return default if value is None else strict_yaml.duration_ms(place, value)


def _budget(place: str, value: object, default: Budget) -> Budget:
    content = strict_yaml.mapping(place, value, tuple(each.name for each in fields(Budget)))
    return replace(default, **{name: _count(f"{place}.{name}", each) for name, each in content.items()})


def _hours(place: str, value: object, budget: Budget) -> tuple[WorkingHours | None, Budget | None]:
    """Return the working hours and the budget outside of these hours; None if the section is absent."""
    if value is None:
        return None, None
    content = strict_yaml.mapping(place, value, HOURS_KEYS)
    if not content.get("outside"):
        raise RuleError(
            f"{place}.outside: must contain the budgets outside of these hours, such as {{global_per_hour: 0}}"
        )
    return read_working_hours(place, content), _budget(f"{place}.outside", content["outside"], budget)


def _protected(place: str, value: object) -> tuple[Protected, ...]:
    if not isinstance(value, list):
        raise RuleError(f"{place}: must be a list, but is {value!r}")
    return tuple(read_protected(f"{place}[{number}]", entry) for number, entry in enumerate(value))


def _count(place: str, value: object) -> int:
    found = strict_yaml.number(place, value)
    if not isinstance(found, int) or found < 0:
        raise RuleError(f"{place}: must be a whole number, 0 or more, but is {value!r}")
    return found


def _big_picture(place: str, value: object) -> BigPicture:
    content = strict_yaml.mapping(place, value, ("share", "applications"))
    default = BigPicture()
    share = float(strict_yaml.number(f"{place}.share", content.get("share", default.share)))
    if not 0 < share <= 1:
        raise RuleError(f"{place}.share: must be above 0 and at most 1, but is {share!r}")
    return BigPicture(share, _count(f"{place}.applications", content.get("applications", default.applications)))


def _arming(place: str, value: object) -> Arming:
    content = strict_yaml.mapping(place, value, ("probes", "replayed"))
    probes = _count(f"{place}.probes", content.get("probes", Arming().probes))
    replayed = _count(f"{place}.replayed", content.get("replayed", Arming().replayed))
    if 2 * replayed > probes:
        raise RuleError(f"{place}.replayed: must be at most half of probes ({probes}), but is {replayed}")
    return Arming(probes, replayed)


def _hold(place: str, value: object) -> Hold:
    content: Mapping[str, Any] = strict_yaml.mapping(place, value, ("reason", "rule", "job", "app", "until"))
    patterns = {
        name: strict_yaml.text(f"{place}.{name}", content[name]) for name in ("rule", "job", "app") if name in content
    }
    until_ms = _until(f"{place}.until", content["until"]) if content.get("until") is not None else None
    return Hold(strict_yaml.text(f"{place}.reason", content.get("reason")), **patterns, until_ms=until_ms)


def _until(place: str, value: object) -> int:
    """Convert a time, or the end of a date, to ms since the epoch; a time without a zone is UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise RuleError(f"{place}: must be a date or time like 2026-11-30T06:00Z, but is {value!r}") from error
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time.max)
    if not isinstance(value, datetime):
        raise RuleError(f"{place}: must be a date or time like 2026-11-30T06:00Z, but is {value!r}")
    return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000)
