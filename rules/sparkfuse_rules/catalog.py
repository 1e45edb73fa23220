"""Load the rules, one per file; each error names the file, the key and the nearest known name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.columns import VIEWS
from sparkfuse_contracts.schema import UNITS
from sparkfuse_rules import compiler, describe, strict_yaml
from sparkfuse_rules.errors import RuleError, unknown_name
from sparkfuse_rules.fuse_section import check_fuse_cases, override_fuse, read_fuse
from sparkfuse_rules.knowledge.precision import DEFAULT_TARGET
from sparkfuse_rules.overrides import Override, read_condition, read_job_overrides, read_overrides, read_share
from sparkfuse_rules.predicate import NUMERIC_TYPES
from sparkfuse_rules.rule import QUIET, SEVERITIES, Case, Param, Rule, Value

_REQUIRED = ("summary", "view", "severity", "when", "for", "description", "runbook", "fuse", "cases")
_OPTIONAL = ("params", "keep_firing_for", "inhibits", "evidence", "precision")


@dataclass(frozen=True)
class Catalog(Mapping[str, Rule]):
    """The rules of the product by rule id, ordered by id."""

    rules: Mapping[str, Rule]

    def __getitem__(self, rule_id: str) -> Rule:
        return self.rules[rule_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    def of_view(self, view: str) -> tuple[Rule, ...]:
        """Return the rules that evaluate ``view``."""
        return tuple(rule for rule in self.rules.values() if rule.view == view)

    def with_fuse(self) -> tuple[Rule, ...]:
        """Return the rules that have a fuse policy."""
        return tuple(rule for rule in self.rules.values() if rule.fuse is not None)


def load_catalog(directory: Path | None = None, overrides: Mapping[str, Any] | Path | None = None) -> Catalog:
    """Load and validate all rules of ``directory``, by default the catalog of the product.

    ``overrides`` is the path of a sparkfuse.yaml, or the content of its key ``rules`` by rule id.
    Raises RuleError for an unknown name or a predicate that does not compile.
    """
    folder = asset("sparkfuse_rules", "catalog") if directory is None else directory
    rules = {path.stem: load_rule(path) for path in sorted(folder.glob("*.yaml"))}
    _check_inhibitions(rules)
    overridden, of_jobs = read_overrides(overrides), read_job_overrides(overrides)
    for overrides_by_rule in (overridden, *(for_jobs for _, for_jobs in of_jobs)):
        for rule_id, override in overrides_by_rule.items():
            if rule_id not in rules:
                raise unknown_name(override.place, "rule", rule_id, rules)
    loaded = {}
    for rule_id, rule in rules.items():
        variants = [(pattern, for_jobs[rule_id]) for pattern, for_jobs in of_jobs if rule_id in for_jobs]
        if found := _with_overrides(rule, overridden.get(rule_id), variants):
            loaded[rule_id] = found
    return Catalog(MappingProxyType(loaded))


def _with_overrides(rule: Rule, override: Override | None, variants: Sequence[tuple[str, Override]]) -> Rule | None:
    """Return the rule with the overrides of sparkfuse.yaml; None if the overrides disable the rule for all jobs."""
    base = _overridden(rule, override)
    # The overrides for one job pattern are applied after the overrides for all jobs. So a pattern may enable a rule
    # that is disabled for all other jobs.
    below = base or _overridden(rule, replace(override, enabled=True) if override else None)
    if below is None:
        return None
    some = tuple(
        (pattern, _checked(changed, rule) if (changed := _overridden(below, each)) else None)
        for pattern, each in variants
    )
    if base is None and not any(changed for _, changed in some):
        return None
    return replace(_checked(below, rule), variants=some, enabled=base is not None)


def load_rule(path: Path) -> Rule:
    """Load and validate one rule file without overrides. Raises RuleError."""
    file = path.name
    content = strict_yaml.mapping(file, strict_yaml.read_mapping(path), (*_REQUIRED, *_OPTIONAL))
    for key in _REQUIRED:
        if key not in content:
            raise RuleError(f"{file}: key {key!r} is missing")
    view = strict_yaml.text(f"{file}: view", content["view"])
    if view not in VIEWS:
        raise unknown_name(f"{file}: view", "view", view, VIEWS)
    params = _params(file, content.get("params"))
    target, why = _precision(file, content.get("precision"))
    rule = Rule(
        id=path.stem,
        file=file,
        summary=strict_yaml.text(f"{file}: summary", content["summary"]),
        view=view,
        severity=_severity(file, content["severity"]),
        params=params,
        when=strict_yaml.text(f"{file}: when", content["when"]),
        for_ms=strict_yaml.duration_ms(f"{file}: for", content["for"]),
        keep_firing_ms=strict_yaml.duration_ms(f"{file}: keep_firing_for", content.get("keep_firing_for", "0s")),
        description=strict_yaml.text(f"{file}: description", content["description"]),
        runbook=strict_yaml.text(f"{file}: runbook", content["runbook"]),
        fuse=read_fuse(file, view, content["fuse"]),
        cases=_cases(file, content["cases"], view, params),
        inhibits=_inhibits(file, content.get("inhibits")),
        absence=_absence(file, content.get("evidence")),
        precision_target=target,
        precision_why=why,
    )
    _check_predicates(rule)
    return rule


def _inhibits(file: str, value: object) -> tuple[str, ...]:
    place = f"{file}: inhibits"
    if value is None:
        return ()
    if not isinstance(value, list):
        raise RuleError(f"{place}: must list the rules that are inhibited while this one fires, but is {value!r}")
    return tuple(strict_yaml.text(place, each) for each in value)


def _check_inhibitions(rules: Mapping[str, Rule]) -> None:
    """Check that inhibited rules exist, and that no two rules inhibit each other, because then both would be hidden."""
    for rule in rules.values():
        for inhibited in rule.inhibits:
            if inhibited not in rules:
                raise unknown_name(f"{rule.file}: inhibits", "rule", inhibited, rules)
            if inhibited == rule.id or rule.id in rules[inhibited].inhibits:
                raise RuleError(f"{rule.file}: inhibits: {rule.id} and {inhibited} would inhibit each other")


def _absence(file: str, value: object) -> bool:
    if value not in (None, "presence", "absence"):
        raise RuleError(f"{file}: evidence: must be presence or absence, but is {value!r}")
    return value == "absence"


def _precision(file: str, value: object) -> tuple[float, str]:
    if value is None:
        return DEFAULT_TARGET, ""
    entry = strict_yaml.mapping(f"{file}: precision", value, ("target", "why"))
    for key in ("target", "why"):
        if key not in entry:
            raise RuleError(f"{file}: precision: key {key!r} is missing; it needs a target and a reason (why)")
    target = read_share(f"{file}: precision.target", entry["target"])
    return target, strict_yaml.text(f"{file}: precision.why", entry["why"])


def _overridden(rule: Rule, override: Override | None) -> Rule | None:
    if override is None:
        return rule
    for name in override.params:
        if name not in rule.params:
            raise unknown_name(f"{override.place}.params", "param", name, rule.params)
    severity = {**rule.severity, **override.severity}
    changed = replace(
        rule.with_params(override.params),
        severity={level: text for level, text in severity.items() if text is not None},
        fuse=override_fuse(f"{override.place}.fuse", rule, override.fuse),
        precision_target=rule.precision_target if override.precision_target is None else override.precision_target,
        file=rule.file if not override.severity else f"{override.place} over {rule.file}",
    )
    return changed if override.enabled and changed.severity else None


def _checked(rule: Rule, loaded: Rule) -> Rule:
    """Validate the values that overrides may have changed; return the rule with its params in the description."""
    if rule is not loaded:
        _check_predicates(rule)
    _check_description(rule)
    values = {name: param.value for name, param in rule.params.items()}
    return replace(rule, description=describe.bind(rule.description, values))


def _check_predicates(rule: Rule) -> None:
    compiler.severity_sql(rule, "datafusion")
    compiler.fuse_when_sql(rule, "datafusion")
    check_fuse_cases(rule)


def _check_description(rule: Rule) -> None:
    known = {**VIEWS[rule.view], **rule.params}
    try:
        used = describe.placeholders(rule.description)
    except RuleError as error:
        raise RuleError(f"{rule.file}: description: {error}") from error
    for name, _ in used:
        if name not in known:
            raise unknown_name(f"{rule.file}: description", "column or param", name, known)


def _severity(file: str, value: object) -> Mapping[str, str]:
    place = f"{file}: severity"
    if isinstance(value, str) and value in SEVERITIES:
        return {value: "TRUE"}
    levels = strict_yaml.mapping(place, value, SEVERITIES)
    if not levels:
        raise RuleError(f"{place}: must name at least one of {', '.join(SEVERITIES)}")
    return {level: read_condition(f"{place}.{level}", text) for level, text in levels.items()}


def _params(file: str, value: object) -> Mapping[str, Param]:
    entries = strict_yaml.mapping(f"{file}: params", {} if value is None else value)
    return {name: _param(f"{file}: params.{name}", entry) for name, entry in entries.items()}


def _param(place: str, value: object) -> Param:
    entry = strict_yaml.mapping(place, value, ("default", "unit", "why"))
    for key in ("default", "unit", "why"):
        if key not in entry:
            raise RuleError(f"{place}: key {key!r} is missing; a threshold needs a default, a unit and a reason (why)")
    unit = strict_yaml.text(f"{place}.unit", entry["unit"])
    if unit not in UNITS:
        raise unknown_name(f"{place}.unit", "unit", unit, UNITS)
    default = strict_yaml.number(f"{place}.default", entry["default"])
    return Param(default, unit, strict_yaml.text(f"{place}.why", entry["why"]), default)


def _cases(file: str, value: object, view: str, params: Mapping[str, Param]) -> tuple[Case, ...]:
    if not isinstance(value, list) or not value:
        raise RuleError(
            f"{file}: cases: a rule needs cases: quiet, just below, exactly at and far above the threshold, "
            "and empty evidence"
        )
    cases = tuple(_case(f"{file}: cases[{place}]", entry, view, params) for place, entry in enumerate(value))
    names = [case.name for case in cases]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise RuleError(f"{file}: cases: duplicate name {twice!r}")
    return cases


def _case(place: str, value: object, view: str, params: Mapping[str, Param]) -> Case:
    entry = strict_yaml.mapping(place, value, ("name", "given", "expect", "params"))
    for key in ("name", "given", "expect"):
        if key not in entry:
            raise RuleError(f"{place}: key {key!r} is missing")
    if entry["expect"] not in (QUIET, *SEVERITIES):
        raise unknown_name(f"{place}.expect", "severity", entry["expect"], (QUIET, *SEVERITIES))
    given = strict_yaml.mapping(f"{place}.given", entry["given"])
    for name in given:
        if name not in VIEWS[view]:
            raise unknown_name(f"{place}.given", "column", name, VIEWS[view])
    changed = strict_yaml.mapping(f"{place}.params", entry.get("params") or {})
    for name in changed:
        if name not in params:
            raise unknown_name(f"{place}.params", "param", name, params)
    return Case(
        name=strict_yaml.text(f"{place}.name", entry["name"]),
        given={name: _given(f"{place}.given.{name}", VIEWS[view][name].type, each) for name, each in given.items()},
        expect=entry["expect"],
        params={name: strict_yaml.number(f"{place}.params.{name}", each) for name, each in changed.items()},
    )


def _given(place: str, kind: str, value: object) -> Value:
    if value is None:
        return None
    if kind in NUMERIC_TYPES:
        found = strict_yaml.number(place, value)
        if kind == "double":
            return float(found)
        if isinstance(found, int):
            return found
        raise RuleError(f"{place}: must be a whole number, but is {value!r}")
    if (kind == "bool") != isinstance(value, bool) or not isinstance(value, bool | str):
        raise RuleError(f"{place}: must be {'true or false' if kind == 'bool' else 'a string'}, but is {value!r}")
    return value
