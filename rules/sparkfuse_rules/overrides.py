"""Read the overrides of rules from sparkfuse.yaml."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.rule import SEVERITIES

# All sections of sparkfuse.yaml; each component reads its own.
SECTIONS = ("rules", "jobs", "fuse", "holds", "owners", "prices", "login")
_KEYS = ("enabled", "params", "severity", "fuse", "precision_target")


@dataclass(frozen=True)
class Override:
    """The override of one rule: its params, the conditions of its severities, and keys of its fuse.

    A condition that is None removes the severity. `fuse_section.override_fuse` reads ``fuse``.
    """

    place: str
    enabled: bool
    params: Mapping[str, int | float]
    severity: Mapping[str, str | None]
    fuse: Mapping[str, Any]
    precision_target: float | None = None


def read_overrides(source: Mapping[str, Any] | Path | None) -> Mapping[str, Override]:
    """Return the overrides by rule id, from a sparkfuse.yaml or from the content of its key ``rules``.

    The catalog checks later whether the rules and params exist. Raises RuleError, which names place and key.
    """
    if source is None:
        return {}
    if isinstance(source, Path):
        place, content = f"{source}: rules", read_section(source, "rules")
    else:
        place, content = "rules", strict_yaml.mapping("rules", source)
    return {rule_id: _override(f"{place}.{rule_id}", entry) for rule_id, entry in content.items()}


def read_job_overrides(source: Mapping[str, Any] | Path | None) -> Sequence[tuple[str, Mapping[str, Override]]]:
    """Return the overrides for jobs, in the order of the file: (pattern of job keys, overrides by rule id).

    The source is the list ``jobs`` of sparkfuse.yaml: ``{job: "etl_*", rules: {stage_slow: {...}}}``. Raises RuleError,
    which names place and key.
    """
    if not isinstance(source, Path):
        return ()
    found = []
    for number, entry in enumerate(read_list(source, "jobs")):
        place = f"{source}: jobs[{number}]"
        content = strict_yaml.mapping(place, entry, ("job", "rules"))
        rules = strict_yaml.mapping(f"{place}.rules", content.get("rules") or {})
        overrides = {rule_id: _override(f"{place}.rules.{rule_id}", each) for rule_id, each in rules.items()}
        found.append((_pattern(f"{place}.job", content.get("job")), overrides))
    return found


def _pattern(place: str, value: object) -> str:
    """Return a pattern of plain text, * and ?, which every engine can match in the same way."""
    text = strict_yaml.text(place, value)
    if set(text) & set("[]^\\") or any(not character.isprintable() for character in text):
        raise RuleError(f"{place}: must be plain text with * and ?, without [ ] ^ or a backslash, but is {text!r}")
    return text


def read_section(path: Path, section: str) -> Mapping[str, Any]:
    """Return one section of sparkfuse.yaml, empty if it is absent. Raises RuleError for an unknown section."""
    content = strict_yaml.mapping(str(path), strict_yaml.read_mapping(path), SECTIONS)
    return strict_yaml.mapping(f"{path}: {section}", content.get(section) or {})


def read_list(path: Path, section: str) -> Sequence[Any]:
    """Return one section of sparkfuse.yaml that is a list, empty if it is absent. Raises RuleError."""
    found = strict_yaml.mapping(str(path), strict_yaml.read_mapping(path), SECTIONS).get(section) or []
    if not isinstance(found, list):
        raise RuleError(f"{path}: {section}: must be a list, but is {found!r}")
    return found


def read_condition(place: str, value: object) -> str:
    """Return the condition of a severity: SQL, or true if the severity always applies. Raises RuleError."""
    return "TRUE" if value is True else strict_yaml.text(place, value)


def read_share(place: str, value: object) -> float:
    """Return a number from 0 to 1. Raises RuleError."""
    share = strict_yaml.number(place, value)
    if not 0 <= share <= 1:
        raise RuleError(f"{place}: must be from 0 to 1, but is {share!r}")
    return float(share)


def _override(place: str, entry: object) -> Override:
    content = strict_yaml.mapping(place, entry, _KEYS)
    enabled = content.get("enabled", True)
    if not isinstance(enabled, bool):
        raise RuleError(f"{place}.enabled: must be true or false, but is {enabled!r}")
    params = strict_yaml.mapping(f"{place}.params", content.get("params") or {})
    target = content.get("precision_target")
    severity = strict_yaml.mapping(f"{place}.severity", content.get("severity") or {}, SEVERITIES)
    return Override(
        place=place,
        enabled=enabled,
        params={name: strict_yaml.number(f"{place}.params.{name}", value) for name, value in params.items()},
        severity={level: _condition(f"{place}.severity.{level}", value) for level, value in severity.items()},
        fuse=strict_yaml.mapping(f"{place}.fuse", content.get("fuse") or {}),
        precision_target=None if target is None else read_share(f"{place}.precision_target", target),
    )


def _condition(place: str, value: object) -> str | None:
    return None if value is False or value is None else read_condition(place, value)
