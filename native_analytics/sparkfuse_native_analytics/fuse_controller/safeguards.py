"""Limits on what the fuse controller may do: budgets, cool-down times and holds, from sparkfuse.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.overrides import read_list, read_section

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Budget:
    """Largest number of acts in an hour. Spark does not count kills as failures, so only a budget limits them."""

    job_per_hour: int = 3
    tenant_per_hour: int = 10
    team_per_hour: int = 10
    rule_per_hour: int = 10
    global_per_hour: int = 20


@dataclass(frozen=True)
class BigPicture:
    """The limit of affected applications of a cluster, beyond which nothing is stopped.

    The limit is exceeded by more than ``share`` of the running applications, and at least ``applications``. An
    application is affected if a rule matches now, or if the fuse acted on it in the last 15 minutes. If the limit is
    exceeded, the likely cause is the platform or Sparkfuse. Machine health checks of Kubernetes have such a limit for
    the same reason.
    """

    share: float = 0.1
    applications: int = 3


@dataclass(frozen=True)
class Hold:
    """Prevents acts where all patterns match (shell style, * and ?), until ``until_ms`` if it is set."""

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
    """The number of distinct healthy runs that must have been probed without a false one before a rule may stop jobs.

    With 300 runs and no false probe, the share of false probes is below 1 % with 95 % confidence (rule of three).
    """

    probes: int = 300


@dataclass(frozen=True)
class Safeguards:
    """All limits of the fuse controller."""

    budget: Budget = field(default_factory=Budget)
    times: Times = field(default_factory=Times)
    big_picture: BigPicture = field(default_factory=BigPicture)
    arming: Arming = field(default_factory=Arming)
    holds: tuple[Hold, ...] = ()


def read_safeguards(path: Path | None) -> Safeguards:
    """Read the keys ``fuse`` and ``holds`` of a sparkfuse.yaml; defaults if ``path`` is None. Raises RuleError."""
    if path is None:
        return Safeguards()
    place = f"{path}: fuse"
    keys = ("budget", "cool_down", "quiet", "big_picture", "arming")
    content = strict_yaml.mapping(place, read_section(path, "fuse"), keys)
    times = Times()
    return Safeguards(
        budget=_budget(f"{place}.budget", content.get("budget") or {}),
        times=Times(
            _duration(f"{place}.cool_down", content.get("cool_down"), times.cool_down_ms),
            _duration(f"{place}.quiet", content.get("quiet"), times.quiet_ms),
        ),
        big_picture=_big_picture(f"{place}.big_picture", content.get("big_picture") or {}),
        arming=_arming(f"{place}.arming", content.get("arming") or {}),
        holds=tuple(_hold(f"{path}: holds[{number}]", entry) for number, entry in enumerate(read_list(path, "holds"))),
    )


def _duration(place: str, value: object, default: int) -> int:
    return default if value is None else strict_yaml.duration_ms(place, value)


def _budget(place: str, value: object) -> Budget:
    content = strict_yaml.mapping(place, value, tuple(each.name for each in fields(Budget)))
    return Budget(**{name: _count(f"{place}.{name}", each) for name, each in content.items()})


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
    content = strict_yaml.mapping(place, value, ("probes",))
    return Arming(_count(f"{place}.probes", content.get("probes", Arming().probes)))


def _hold(place: str, value: object) -> Hold:
    content: Mapping[str, Any] = strict_yaml.mapping(place, value, ("reason", "rule", "job", "app", "until"))
    patterns = {
        name: strict_yaml.text(f"{place}.{name}", content[name]) for name in ("rule", "job", "app") if name in content
    }
    until_ms = _until(f"{place}.until", content["until"]) if content.get("until") is not None else None
    return Hold(strict_yaml.text(f"{place}.reason", content.get("reason")), **patterns, until_ms=until_ms)


def _until(place: str, value: object) -> int:
    """Convert a date (to its end) or a time to ms since the epoch; a time without a zone is UTC."""
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
