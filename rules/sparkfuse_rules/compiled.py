"""The rule catalog, compiled for offline analyses.

Compiling the catalog at run time takes longer than reading a small log. So ``python -m sparkfuse_rules.generate``
writes the compiled rules to ``generated/offline.json``. If the catalog has changed since then, or if there are
overrides, the rules are compiled at run time.
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
    """A rule that DataFusion evaluates offline.

    ``severity_sql`` returns the highest severity, or NULL. ``evidence`` lists the columns that the rule mentions.
    ``undecidable`` lists the required columns that no event log contains; if the list is not empty, the rule is not
    evaluated. ``inhibits`` lists the rules that are symptoms of this rule.
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
    """Return the rules ordered by id, with the overrides of the sparkfuse.yaml at ``config_file``.

    Raises RuleError if the catalog or the overrides are invalid.
    """
    generated = _generated() if config_file is None else None
    if generated is not None and generated["source_hash"] == source_hash():
        return tuple(_rule(each) for each in generated["rules"])
    return compile_offline(config_file)


def as_data(rules: Iterable[CompiledRule]) -> Mapping[str, Any]:
    """Return the content of ``generated/offline.json``."""
    return {"source_hash": source_hash(), "rules": [asdict(rule) for rule in rules]}


def source_hash() -> str:
    """Return the hash of the sources of the compiled rules: the catalog and the columns of the views."""
    digest = hashlib.sha256()
    for path in sorted(asset("sparkfuse_rules", "catalog").glob("*.yaml")):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    digest.update(asset("sparkfuse_contracts", "generated", "views.json").read_bytes())
    return digest.hexdigest()


def compile_offline(config_file: Path | None = None) -> tuple[CompiledRule, ...]:
    """Compile each rule of the catalog, with its overrides, for DataFusion. Raises RuleError."""
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
                undecidable=undecidable_columns(rule, "offline"),
                inhibits=rule.inhibits,
            )
        )
    return tuple(rules)


def _generated() -> Any:
    try:
        return json.loads(asset("sparkfuse_rules", "generated", "offline.json").read_text(encoding="utf-8"))
    except AssetMissingError:
        return None


def _rule(entry: Mapping[str, Any]) -> CompiledRule:
    lists = {name: tuple(entry[name]) for name in ("evidence", "undecidable", "inhibits")}
    return CompiledRule(**{**entry, **lists})
