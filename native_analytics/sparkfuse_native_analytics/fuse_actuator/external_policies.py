"""The policies that the actuator accepts, by the hash of their lines; so a signal cannot bring conditions of its own.

The conditions of an external stop are about the latest row of the application in `live`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkfuse_rules.conditions import COMPARISONS
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.policies import policy_hash
from sparkfuse_rules.rule import EXTERNAL_STOP, Condition


@dataclass(frozen=True)
class ExternalPolicy:
    """One policy that allows an external stop; see ``policy_line`` for the fields."""

    rule: str
    conditions: tuple[Condition, ...]
    after_ms: int
    max_counter_age_ms: int
    requires_approval: bool


def read_external_policies(path: Path) -> Mapping[str, ExternalPolicy]:
    """Read a file of policies; return those that have an external stop and conditions, by hash.

    A policy without conditions is not accepted, because nothing could be verified. Raises RuleError for a line that is
    not a policy.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RuleError(f"{path}: cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(lines, 1):
        try:
            content = json.loads(line)
            if EXTERNAL_STOP in content["actions"] and content["conditions"]:
                found[policy_hash(line)] = _policy(content)
        except (ValueError, KeyError, TypeError) as error:
            raise RuleError(f"{path}: line {number} is not a policy: {error!r}") from error
    return found


def _policy(content: Mapping[str, Any]) -> ExternalPolicy:
    conditions = tuple(
        Condition(str(each["column"]), str(each["operator"]), float(each["threshold"]))
        for each in content["conditions"]
    )
    if unknown := [each.operator for each in conditions if each.operator not in COMPARISONS]:
        raise ValueError(f"{unknown[0]!r} is not a comparison operator")
    return ExternalPolicy(
        rule=str(content["rule"]),
        conditions=conditions,
        after_ms=int(content["after_ms"]),
        max_counter_age_ms=int(content["max_counter_age_ms"]),
        requires_approval=content["requires_approval"] is not False,
    )
