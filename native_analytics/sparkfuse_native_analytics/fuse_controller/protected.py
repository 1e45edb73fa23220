"""Reads the protected jobs from sparkfuse.yaml: no act on them is possible in any mode or with any arming."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError

PATTERNS = ("job", "team", "tenant", "user", "cluster")


@dataclass(frozen=True)
class JobOwner:
    """The properties of an application that select its protection; ``user`` is None if the user is not known."""

    job: str
    team: str
    tenant: str
    cluster: str
    user: str | None


@dataclass(frozen=True)
class Protected:
    """Protects each application that matches all patterns (shell style, * and ?); at least one pattern is set.

    An application whose user is not known matches every user pattern, so a missing user never prevents protection.
    """

    reason: str
    job: str = "*"
    team: str = "*"
    tenant: str = "*"
    user: str = "*"
    cluster: str = "*"

    def covers(self, of: JobOwner) -> bool:
        """Whether the application is protected."""
        known = {"job": of.job, "team": of.team, "tenant": of.tenant, "cluster": of.cluster}
        fits = all(matches(getattr(self, name), value) for name, value in known.items())
        return fits and (of.user is None or matches(self.user, of.user))


def protection(entries: Iterable[Protected], of: JobOwner) -> str | None:
    """Return why an application is protected; None if it is not."""
    found = next((entry for entry in entries if entry.covers(of)), None)
    if found is None:
        return None
    doubt = ""
    if of.user is None and found.user != "*":
        doubt = f"; its user is not known, so it counts as {found.user}"
    return f"protected by sparkfuse.yaml: {found.reason}{doubt}"


def read_protected(place: str, entry: object) -> Protected:
    """Return one entry of ``fuse.protected``. Raises a RuleError that names the place and the key."""
    content = strict_yaml.mapping(place, entry, ("reason", *PATTERNS))
    patterns = {name: strict_yaml.text(f"{place}.{name}", content[name]) for name in PATTERNS if name in content}
    if not patterns:
        raise RuleError(f"{place}: needs at least one of {', '.join(PATTERNS)}; to protect every job, set job: '*'")
    return Protected(strict_yaml.text(f"{place}.reason", content.get("reason")), **patterns)
