"""Limits on what the fuse controller may do: budgets, cool-down times and holds, from sparkfuse.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.overrides import read_list, read_section

HOUR_MS = 3_600_000


@dataclass(frozen=True)
class Budget:
    """Largest number of acts in an hour. Spark does not count kills as failures, so only a budget limits them."""

    job_per_hour: int = 3
    tenant_per_hour: int = 10
    global_per_hour: int = 20


@dataclass(frozen=True)
class BigPicture:
    """Nothing is stopped if too many applications match at once: more than ``share`` and at least ``applications``.

    The likely fault is then the platform or Sparkfuse. Machine health checks of Kubernetes stop for the same reason.
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
        fits = fnmatchcase(rule, self.rule) and fnmatchcase(job_key, self.job) and fnmatchcase(app_id, self.app)
        return fits and not expired


@dataclass(frozen=True)
class Safeguards:
    """All limits of the fuse controller."""

    budget: Budget = field(default_factory=Budget)
    times: Times = field(default_factory=Times)
    big_picture: BigPicture = field(default_factory=BigPicture)
    holds: tuple[Hold, ...] = ()


def read_safeguards(path: Path | None) -> Safeguards:
    """Read the keys ``fuse`` and ``holds`` of a sparkfuse.yaml; defaults if ``path`` is None. Raises RuleError."""
    if path is None:
        return Safeguards()
    place = f"{path}: fuse"
    content = strict_yaml.mapping(place, read_section(path, "fuse"), ("budget", "cool_down", "quiet", "big_picture"))
    times = Times()
    return Safeguards(
        budget=_budget(f"{place}.budget", content.get("budget") or {}),
        times=Times(
            _duration(f"{place}.cool_down", content.get("cool_down"), times.cool_down_ms),
            _duration(f"{place}.quiet", content.get("quiet"), times.quiet_ms),
        ),
        big_picture=_big_picture(f"{place}.big_picture", content.get("big_picture") or {}),
        holds=tuple(_hold(f"{path}: holds[{number}]", entry) for number, entry in enumerate(read_list(path, "holds"))),
    )


def _duration(place: str, value: object, default: int) -> int:
    return default if value is None else strict_yaml.duration_ms(place, value)


def _budget(place: str, value: object) -> Budget:
    content = strict_yaml.mapping(place, value, ("job_per_hour", "tenant_per_hour", "global_per_hour"))
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


def _hold(place: str, value: object) -> Hold:
    content: Mapping[str, Any] = strict_yaml.mapping(place, value, ("reason", "rule", "job", "app", "until"))
    patterns = {
        name: strict_yaml.text(f"{place}.{name}", content[name]) for name in ("rule", "job", "app") if name in content
    }
    until_ms = _until(f"{place}.until", content["until"]) if content.get("until") is not None else None
    return Hold(strict_yaml.text(f"{place}.reason", content.get("reason")), **patterns, until_ms=until_ms)


def _until(place: str, value: object) -> int:
    """Convert a date (to its end) or a time to ms since the epoch; without a zone it is UTC."""
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
