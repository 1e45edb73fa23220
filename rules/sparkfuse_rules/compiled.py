"""The catalog compiled for analyses offline, ready made: parsing rules takes longer than reading a log.

``python -m sparkfuse_rules.generate`` writes ``generated/offline.json``; it is used while the catalog it was made from
is the one that is there, and nobody has overrides; otherwise the rules are compiled on the spot, to the same answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sparkfuse_contracts.assets import AssetMissingError, asset


@dataclass(frozen=True)
class CompiledRule:
    """A rule as DataFusion asks it offline.

    ``severity_sql`` gives the worst severity that holds, or NULL; ``evidence`` are the columns that the rule mentions;
    ``undecidable`` the columns that it needs and that no event log has, in which case it cannot be asked; ``inhibits``
    the rules that are its symptoms.
    """

    id: str
    view: str
    summary: str
    description: str
    runbook: str
    severity_sql: str
    evidence: tuple[str, ...]
    undecidable: tuple[str, ...]
    inhibits: tuple[str, ...] = ()


def rules_offline(config_file: Path | None = None) -> tuple[CompiledRule, ...]:
    """The rules in the order of their ids, with the overrides of a sparkfuse.yaml.

    Raises RuleError when the catalog or the overrides cannot be used.
    """
    ready = _ready_made() if config_file is None else None
    if ready is not None and ready["source_hash"] == source_hash():
        return tuple(_rule(each) for each in ready["rules"])
    return compile_offline(config_file)


def as_data(rules: Iterable[CompiledRule]) -> Mapping[str, Any]:
    """What ``generated/offline.json`` holds."""
    return {"source_hash": source_hash(), "rules": [asdict(rule) for rule in rules]}


def source_hash() -> str:
    """Hash of all that the compiled rules follow from: the catalog's files and the columns of the views."""
    digest = hashlib.sha256()
    for path in sorted(asset("sparkfuse_rules", "catalog").glob("*.yaml")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    digest.update(asset("sparkfuse_contracts", "generated", "views.json").read_bytes())
    return digest.hexdigest()


def compile_offline(config_file: Path | None = None) -> tuple[CompiledRule, ...]:
    """Load the catalog with its overrides and compile each rule for DataFusion. Raises RuleError."""
    from sparkfuse_contracts.columns import VIEWS
    from sparkfuse_rules.catalog import load_catalog
    from sparkfuse_rules.compiler import columns, severity_sql, undecidable_columns
    from sparkfuse_rules.describe import placeholders
    from sparkfuse_rules.runbooks import without_queries

    rules = []
    for rule in load_catalog(overrides=config_file).values():
        mentioned = {*columns(rule), *(name for name, _ in placeholders(rule.description))}
        rules.append(
            CompiledRule(
                id=rule.id,
                view=rule.view,
                summary=rule.summary,
                description=rule.description,
                runbook=without_queries(rule.runbook),
                severity_sql=severity_sql(rule, "datafusion"),
                evidence=tuple(name for name in VIEWS[rule.view] if name in mentioned),
                undecidable=undecidable_columns(rule, "rest"),
                inhibits=rule.inhibits,
            )
        )
    return tuple(rules)


def _ready_made() -> Any:
    try:
        return json.loads(asset("sparkfuse_rules", "generated", "offline.json").read_text(encoding="utf-8"))
    except AssetMissingError:
        return None


def _rule(entry: Mapping[str, Any]) -> CompiledRule:
    lists = {name: tuple(entry[name]) for name in ("evidence", "undecidable", "inhibits")}
    return CompiledRule(**{**entry, **lists})
