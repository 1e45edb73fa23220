"""A rule as data: what one file of the catalog says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

SEVERITIES = ("critical", "warning", "info")
QUIET = "quiet"
MODES = ("off", "shadow", "warn", "act")
ACTIONS = ("warn", "cancel_stage", "cancel_jobs", "stop_application")
# What the hook in the driver counts itself, so that a signal's predicate can be checked where it acts.
HOOK_COLUMNS = (
    "disk_spilled_bytes", "elapsed_ms", "failed_tasks", "finished_tasks", "killed_tasks", "memory_spilled_bytes",
    "num_tasks", "running_age_max_ms", "running_disk_spilled_bytes", "running_stalled_max_ms", "running_tasks",
    "since_finish_ms", "succeeded_tasks", "work_bytes", "work_records",
)  # fmt: skip
Value = int | float | str | bool | None


@dataclass(frozen=True)
class Param:
    """A threshold with its unit and the reason for it. ``value`` is what holds, ``default`` what the catalog says."""

    default: int | float
    unit: str
    why: str
    value: int | float


@dataclass(frozen=True)
class Case:
    """One example: a row of the view (absent columns are NULL), and the severity it must give, or quiet."""

    name: str
    given: Mapping[str, Value]
    expect: str
    params: Mapping[str, int | float]


@dataclass(frozen=True)
class Condition:
    """One comparison of a counter with a number, as the signal carries it."""

    column: str
    operator: str
    threshold: float


@dataclass(frozen=True)
class FusePolicy:
    """What the fuse may do: ``action``, not before the stage ran for ``after_ms``, and only while ``needs`` hold."""

    action: str
    after_ms: int
    needs: tuple[str, ...]
    mode: str | None = None  # off, shadow, warn or act, when sparkfuse.yaml says so for this rule


@dataclass(frozen=True)
class Rule:
    """One rule. ``when`` and the conditions of ``severity`` are SQL over the columns of ``view`` with :params."""

    id: str
    file: str
    summary: str
    view: str
    severity: Mapping[str, str]
    params: Mapping[str, Param]
    when: str
    for_ms: int
    keep_firing_ms: int
    description: str
    runbook: str
    fuse: FusePolicy | None
    cases: tuple[Case, ...]
    # Rules that are symptoms of this one: while it fires for the same thing, they are silent.
    inhibits: tuple[str, ...] = ()
    # Its evidence is that something is not there, so that gaps in the evidence speak for it and never against it.
    absence: bool = False
    # What holds instead for jobs whose key fits a pattern (shell style, * and ?); None: the rule is off there.
    # The first that fits counts.
    variants: tuple[tuple[str, Rule | None], ...] = ()
    enabled: bool = True

    def for_job(self, job_key: str) -> Rule | None:
        """The rule as it holds for a job; None where it is off."""
        for pattern, variant in self.variants:
            if fnmatchcase(job_key, pattern):
                return variant
        return self if self.enabled else None

    def with_params(self, values: Mapping[str, int | float]) -> Rule:
        """The same rule with other values of some params; the names are known."""
        changed = {name: replace(self.params[name], value=value) for name, value in values.items()}
        return replace(self, params={**self.params, **changed})
