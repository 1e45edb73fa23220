"""The data types of a rule: the content of one file of the catalog."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from sparkfuse_rules.knowledge.precision import DEFAULT_TARGET

SEVERITIES = ("critical", "warning", "info")
QUIET = "quiet"
MODES = ("off", "shadow", "warn", "act")
# The actions of the fuse, narrowest first. The hook carries out all actions but the last. The external actuator carries
# out the last action: it ends the application through the cluster manager.
WARN, EXTERNAL_STOP = "warn", "external_stop"
ACTIONS = (WARN, "kill_task", "cancel_query", "cancel_stage", "cancel_jobs", "stop_application", EXTERNAL_STOP)
Value = int | float | str | bool | None


@dataclass(frozen=True)
class Param:
    """A threshold with its unit and reason; ``value`` is in effect, ``default`` is the catalog's value."""

    default: int | float
    unit: str
    why: str
    value: int | float


@dataclass(frozen=True)
class Case:
    """One test case: a row of the view (absent columns are NULL) and the expected severity, or quiet."""

    name: str
    given: Mapping[str, Value]
    expect: str
    params: Mapping[str, int | float]


@dataclass(frozen=True)
class Condition:
    """One comparison of a counter with a number, in the form that the hook evaluates."""

    column: str
    operator: str
    threshold: float


@dataclass(frozen=True)
class FuseCase:
    """Counters of a hook, and whether they satisfy all ``needs`` of the policy. Absent counters are not known."""

    name: str
    counters: Mapping[str, int]
    act: bool


@dataclass(frozen=True)
class FusePolicy:
    """The actions that the fuse may carry out for a rule, and their conditions.

    ``actions`` are ordered from narrowest to widest, and act on the target of the rule's view: a task, a stage, a query
    or the application. The actions are allowed under four conditions: the target has run for ``after_ms``; the finding
    has at least ``severity``; ``when`` is true for the row of the view; all ``needs`` are true for the hook's counters.
    If the counters of a running task are older than ``max_counter_age_ms``, the hook cannot verify the needs and does
    not act. If ``approval`` is true, each act needs the approval of a person. If ``shared_driver`` is true, the fuse
    may cancel one query of a driver that several users share. ``excludes`` describes for people what the policy never
    acts on.
    """

    actions: tuple[str, ...]
    after_ms: int
    needs: tuple[str, ...]
    max_counter_age_ms: int = 20_000
    severity: str = "critical"
    when: str = "TRUE"
    approval: bool = False
    shared_driver: bool = False
    excludes: str = ""
    cases: tuple[FuseCase, ...] = ()
    mode: str | None = None  # off, shadow, warn or act; None if sparkfuse.yaml does not set the mode for this rule

    @property
    def stops(self) -> tuple[str, ...]:
        """The actions that stop work, of the hook or of the external actuator."""
        return tuple(action for action in self.actions if action != WARN)


@dataclass(frozen=True)
class Rule:
    """One rule; ``when`` and the conditions of ``severity`` are SQL over the columns of ``view``, with :params."""

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
    # The ids of the rules that are symptoms of this rule. These rules are inhibited while this rule fires for the same
    # scope.
    inhibits: tuple[str, ...] = ()
    # Whether the rule detects that something is absent. If true, incomplete evidence does not lower the rule's
    # severity.
    absence: bool = False
    # The variants of the rule for jobs whose key matches a pattern of * and ?. None disables the rule for these jobs.
    # The first matching pattern is used.
    variants: tuple[tuple[str, Rule | None], ...] = ()
    enabled: bool = True
    # The share of useful findings, by people's verdicts, below which notifications of the rule are demoted to info, and
    # the reason for a target other than the default.
    precision_target: float = DEFAULT_TARGET
    precision_why: str = ""

    def for_job(self, job_key: str) -> Rule | None:
        """Return the rule with the overrides for one job; None if the rule is disabled for this job."""
        for pattern, variant in self.variants:
            if fnmatchcase(job_key, pattern):
                return variant
        return self if self.enabled else None

    def with_params(self, values: Mapping[str, int | float]) -> Rule:
        """Return a copy of the rule with other values for some params. The params must exist."""
        changed = {name: replace(self.params[name], value=value) for name, value in values.items()}
        return replace(self, params={**self.params, **changed})
