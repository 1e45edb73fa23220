"""Compute from the key ``inhibits`` of the rules which findings are inhibited while another finding fires."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_rules.rule import Rule

_JOB = ("cluster", "tenant", "job_key")
_STAGE = (*_JOB, "scope")
# The labels that must be equal in the alerts of a cause and its symptom. The view of the cause decides whether the
# labels are those of a stage, a streaming query, a job or a host.
EQUAL: Mapping[str, tuple[str, ...]] = {
    "stage_live": _STAGE,
    "task_live": _STAGE,
    "failure_live": _STAGE,
    "executor_live": _JOB,
    "executor_loss": _JOB,
    "app_live": _JOB,
    "job_live": _JOB,
    "host_live": ("cluster", "host"),
    "streaming_live": _STAGE,
}


def inhibits_where(view: str) -> str:
    """Return where a finding of a rule with this view inhibits its effects, for people."""
    if view == "streaming_live":
        return "of the same streaming query"
    equal = EQUAL[view]
    return "in the same stage" if equal == _STAGE else "in the same job" if equal == _JOB else "on the same host"


@dataclass(frozen=True)
class Inhibition:
    """While ``cause`` fires, the rules in ``silences`` are inhibited if the labels in ``equal`` are the same.

    If ``pages`` is true, the cause may become critical, and a critical cause also inhibits critical findings. If
    ``only_pages`` is true, the cause inhibits findings only while the cause is critical.
    """

    cause: str
    silences: tuple[str, ...]
    equal: tuple[str, ...]
    pages: bool
    only_pages: bool


def inhibitions(rules: Iterable[Rule]) -> tuple[Inhibition, ...]:
    """Return the inhibitions of all rules, ordered by the id of the cause."""
    return tuple(
        Inhibition(
            rule.id,
            tuple(sorted(rule.inhibits)),
            EQUAL[rule.view],
            "critical" in rule.severity,
            rule.view == "app_live",
        )
        for rule in sorted(rules, key=lambda rule: rule.id)
        if rule.inhibits
    )


def as_data(found: Iterable[Inhibition]) -> list[dict[str, Any]]:
    """Return the inhibitions as JSON values, for readers without the catalog."""
    return [
        {
            "cause": each.cause,
            "silences": list(each.silences),
            "equal": list(each.equal),
            "pages": each.pages,
            "only_pages": each.only_pages,
        }
        for each in found
    ]


def from_data(content: Iterable[Mapping[str, Any]]) -> tuple[Inhibition, ...]:
    """Return the inhibitions from the JSON values that ``as_data`` returned."""
    return tuple(
        Inhibition(each["cause"], tuple(each["silences"]), tuple(each["equal"]), each["pages"], each["only_pages"])
        for each in content
    )
