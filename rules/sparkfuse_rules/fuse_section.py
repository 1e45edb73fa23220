"""Read and validate the key ``fuse`` of a rule file and of sparkfuse.yaml: the policy of the fuse for this rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparkfuse_contracts.columns import Column
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.conditions import conditions_hold, evidence_of, scope_of_view, signal_conditions
from sparkfuse_rules.errors import RuleError, unknown_name
from sparkfuse_rules.rule import ACTIONS, EXTERNAL_STOP, MODES, SEVERITIES, WARN, FuseCase, FusePolicy, Rule

_REQUIRED = ("actions", "after", "needs")
_OPTIONAL = ("max_counter_age", "severity", "when", "approval", "shared_driver", "excludes", "cases")
_OVERRIDES = ("mode", "actions", "after", "shared_driver")
CANCEL_QUERY = "cancel_query"
# The actions that have a target, by the scope of the policy. A stage of a query can be cancelled with its query.
_OF_SCOPE: Mapping[str, tuple[str, ...]] = {
    "task": ACTIONS,
    "stage": tuple(action for action in ACTIONS if action != "kill_task"),
    "query": (WARN, CANCEL_QUERY, "cancel_jobs", "stop_application", EXTERNAL_STOP),
    "application": (WARN, "cancel_jobs", "stop_application", EXTERNAL_STOP),
}


def read_fuse(file: str, view: str, value: object) -> FusePolicy | None:
    """Return the policy of a rule over ``view``; None for ``none``. Raises RuleError."""
    place = f"{file}: fuse"
    if value == "none":
        return None
    scope = scope_of_view(view)
    if scope is None:
        raise RuleError(f"{place}: a row of {view} does not belong to a single application, so the fuse has no target")
    entry = strict_yaml.mapping(place, value, (*_REQUIRED, *_OPTIONAL))
    for key in _REQUIRED:
        if key not in entry:
            raise RuleError(f"{place}: key {key!r} is missing; without a fuse write 'fuse: none'")
    actions = _actions(f"{place}.actions", entry["actions"], scope)
    needs = entry["needs"]
    if not isinstance(needs, list) or not needs:
        raise RuleError(
            f"{place}.needs: must list the conditions that the hook checks before it acts, but is {needs!r}"
        )
    default = FusePolicy((), 0, ())
    return FusePolicy(
        actions=actions,
        after_ms=strict_yaml.duration_ms(f"{place}.after", entry["after"]),
        needs=tuple(strict_yaml.text(f"{place}.needs", need) for need in needs),
        max_counter_age_ms=strict_yaml.duration_ms(
            f"{place}.max_counter_age", entry.get("max_counter_age", f"{default.max_counter_age_ms // 1000}s")
        ),
        severity=_one_of(f"{place}.severity", entry.get("severity", default.severity), "severity", SEVERITIES),
        when=strict_yaml.text(f"{place}.when", entry.get("when", default.when)),
        approval=_flag(f"{place}.approval", entry.get("approval", default.approval)),
        shared_driver=_flag(f"{place}.shared_driver", entry.get("shared_driver", default.shared_driver)),
        excludes=strict_yaml.text(f"{place}.excludes", entry["excludes"]) if "excludes" in entry else "",
        cases=_cases(f"{place}.cases", entry["cases"], evidence_of(view, actions)) if "cases" in entry else (),
    )


def override_fuse(place: str, rule: Rule, entry: Mapping[str, Any]) -> FusePolicy | None:
    """Return the policy of a rule with the keys that sparkfuse.yaml changes. Raises RuleError."""
    entry, policy = strict_yaml.mapping(place, entry, _OVERRIDES), rule.fuse
    if policy is None:
        if entry:
            raise RuleError(f"{place}: {rule.id} has no fuse, so nothing can be changed")
        return None
    scope = scope_of_view(rule.view) or ""
    if "mode" in entry:
        mode = "off" if entry["mode"] is False else entry["mode"]  # YAML reads the word off as false
        policy = replace(policy, mode=_one_of(f"{place}.mode", mode, "mode", MODES))
    if "actions" in entry:
        policy = replace(policy, actions=_actions(f"{place}.actions", entry["actions"], scope))
    if "after" in entry:
        policy = replace(policy, after_ms=strict_yaml.duration_ms(f"{place}.after", entry["after"]))
    if "shared_driver" in entry:
        policy = replace(policy, shared_driver=_flag(f"{place}.shared_driver", entry["shared_driver"]))
    if policy.shared_driver and CANCEL_QUERY not in policy.actions:
        raise RuleError(
            f"{place}.shared_driver: on a shared driver only {CANCEL_QUERY} is possible, so add it to actions"
        )
    return policy


def check_fuse_cases(rule: Rule) -> None:
    """Check ``needs``, and that with default thresholds it gives each case's stated ``act``. Raises RuleError."""
    signal_conditions(rule)
    defaults = rule.with_params({name: param.default for name, param in rule.params.items()})
    conditions = signal_conditions(defaults)
    for case in rule.fuse.cases if rule.fuse else ():
        if conditions_hold(conditions, case.counters) is not case.act:
            stated, actual = str(case.act).lower(), "not all" if case.act else "all"
            raise RuleError(
                f"{rule.file}: fuse.cases: {case.name!r}: the case says act: {stated}, "
                f"but the conditions in `needs` are {actual} true"
            )


def _actions(place: str, value: object, scope: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise RuleError(f"{place}: must list the actions that the fuse may take, narrowest first, but is {value!r}")
    actions = tuple(_one_of(place, each, "action", ACTIONS) for each in value)
    if list(actions) != sorted(set(actions), key=ACTIONS.index):
        raise RuleError(
            f"{place}: must be in the order {', '.join(ACTIONS)} without repetition, but is {', '.join(actions)}"
        )
    for action in actions:
        if action not in _OF_SCOPE[scope]:
            raise RuleError(f"{place}: {action} has no target, because the rule is about one {scope}")
    return actions


def _cases(place: str, value: object, evidence: Mapping[str, Column]) -> tuple[FuseCase, ...]:
    if not isinstance(value, list):
        raise RuleError(f"{place}: must be a list of cases with counters, but is {value!r}")
    cases = tuple(_case(f"{place}[{index}]", entry, evidence) for index, entry in enumerate(value))
    if {case.act for case in cases} != {True, False}:
        raise RuleError(f"{place}: needs a case in which the fuse acts and one in which the act would be wrong")
    return cases


def _case(place: str, value: object, evidence: Mapping[str, Column]) -> FuseCase:
    entry = strict_yaml.mapping(place, value, ("name", "counters", "act"))
    for key in ("name", "counters", "act"):
        if key not in entry:
            raise RuleError(f"{place}: key {key!r} is missing")
    counters = strict_yaml.mapping(f"{place}.counters", entry["counters"])
    for name, count in counters.items():
        if name not in evidence:
            raise unknown_name(f"{place}.counters", "counter of the hook", name, evidence)
        if not isinstance(count, int) or isinstance(count, bool):
            raise RuleError(f"{place}.counters.{name}: must be a whole number, but is {count!r}")
    name = strict_yaml.text(f"{place}.name", entry["name"])
    return FuseCase(name, counters, _flag(f"{place}.act", entry["act"]))


def _one_of(place: str, value: object, what: str, known: Sequence[str]) -> str:
    if not isinstance(value, str) or value not in known:
        raise unknown_name(place, what, str(value), known)
    return value


def _flag(place: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise RuleError(f"{place}: must be true or false, but is {value!r}")
    return value
