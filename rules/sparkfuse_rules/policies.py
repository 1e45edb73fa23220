"""The fuse policies as the hook reads them: one line of JSON per rule, identified by the hash of the line."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable

from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.rule import Rule


def policy_line(rule: Rule) -> str:
    """Return the policy of a rule that has a fuse, as one line of JSON without the line end.

    Keys: rule, view, actions (narrowest first), conditions (column, operator, threshold), after_ms,
    max_counter_age_ms, requires_approval, shared_driver. Raises RuleError if a condition is not supported.
    """
    policy = rule.fuse
    if policy is None:
        raise ValueError(f"{rule.id} has no fuse")
    conditions = [
        {"column": each.column, "operator": each.operator, "threshold": each.threshold}
        for each in signal_conditions(rule)
    ]
    content = {
        "rule": rule.id,
        "view": rule.view,
        "actions": list(policy.actions),
        "conditions": conditions,
        "after_ms": policy.after_ms,
        "max_counter_age_ms": policy.max_counter_age_ms,
        "requires_approval": policy.approval,
        "shared_driver": policy.shared_driver,
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def policy_hash(line: str) -> str:
    """Return the SHA-256 of a policy line in hexadecimal digits; a signal contains this hash to identify the policy."""
    return hashlib.sha256(line.encode()).hexdigest()


def policy_file(rules: Iterable[Rule]) -> str:
    """Return the content of a policy file: one line for each rule that has a fuse."""
    return "".join(f"{policy_line(rule)}\n" for rule in rules if rule.fuse is not None)
