"""Build docs/identity.md, docs/failures.md and docs/fuse_policies.md from their text and their data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from sparkfuse_contracts.generated import hook_counters
from sparkfuse_rules.conditions import scope_of_view, signal_conditions
from sparkfuse_rules.failure_accuracy import accuracy_section
from sparkfuse_rules.knowledge.failures import failure_patterns
from sparkfuse_rules.rule import Condition, FusePolicy, Rule

_RULES = Path(__file__).parents[1]
_DOCS = Path(__file__).parents[2] / "docs"
IDENTITY_PATH = _DOCS / "identity.md"
FAILURES_PATH = _DOCS / "failures.md"
FUSE_POLICIES_PATH = _DOCS / "fuse_policies.md"
_LONGEST_EXAMPLE = 160


def identity_cases() -> list[Mapping[str, Any]]:
    """Return the cases of identity_cases.yaml.

    Each case has the keys case, how, properties, name, user and job_key. A case may also have the keys owner and team.
    """
    content: list[Mapping[str, Any]] = yaml.safe_load((_RULES / "identity_cases.yaml").read_text(encoding="utf-8"))
    return content


def identity_page() -> str:
    """Return docs/identity.md as Markdown."""
    return (_RULES / "identity_page.md").read_text(encoding="utf-8") + "".join(f"{row}\n" for row in _identity_rows())


def failures_page() -> str:
    """Return docs/failures.md as Markdown: the patterns, and their accuracy on texts of real failures."""
    pages = [(_RULES / name).read_text(encoding="utf-8") for name in ("failures_page.md", "failure_accuracy_page.md")]
    parts = zip(pages, (_failure_rows(), accuracy_section()), strict=True)
    return "".join(page + "".join(f"{line}\n" for line in lines) for page, lines in parts)


def fuse_policies_page(rules: Iterable[Rule]) -> str:
    """Return docs/fuse_policies.md as Markdown: the policies of the rules, and the counters of the hook."""
    head = (_RULES / "fuse_policies_page.md").read_text(encoding="utf-8")
    lines = [*_policy_rows(rules), "", *_counter_rows()]
    return head + "".join(f"{line}\n" for line in lines)


def _policy_rows(rules: Iterable[Rule]) -> Iterator[str]:
    yield "## Policies"
    yield ""
    yield "| rule | target | evidence | counters of the hook | actions, narrowest first | never acts on | where an act would be wrong |"  # noqa: E501  (one row of the table)
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for rule in rules:
        if policy := rule.fuse:
            cells = (
                f"[{rule.id}](rules/{rule.id}.md)",
                scope_of_view(rule.view) or "",
                f"{rule.summary}; {policy.severity}" + (f", `{policy.when}`" if policy.when != "TRUE" else ""),
                "<br>".join(f"`{_condition(each)}`" for each in signal_conditions(rule)),
                ", ".join(f"`{action}`" for action in policy.actions)
                + (" (needs an approval)" if policy.approval else ""),
                policy.excludes,
                "; ".join(_wrong_cases(policy)),
            )
            yield f"| {' | '.join(' '.join(cell.split()).replace('|', '&#124;') for cell in cells)} |"


def _condition(condition: Condition) -> str:
    return f"{condition.column} {condition.operator} {condition.threshold:,.15g}"


def _wrong_cases(policy: FusePolicy) -> Iterator[str]:
    return (case.name for case in policy.cases if not case.act)


def _counter_rows() -> Iterator[str]:
    yield from ("## Counters of the hook", "")
    yield "The driver counts these values itself, from its events and from the progress that its executors report."
    yield "A policy can use the counters of its own target and of everything that contains it."
    yield from ("", "| counter | of one | unit | meaning |", "| --- | --- | --- | --- |")
    for each in hook_counters.COUNTERS:
        yield f"| `{each.name}` | {each.scope} | {each.unit} | {each.meaning} |"


def _identity_rows() -> Iterator[str]:
    for case in identity_cases():
        settings = "<br>".join(f"`{key}={value}`" for key, value in case["properties"].items()) or "none"
        names = ", ".join(f"`{case[key]}`" for key in ("name", "user") if case[key]) or "none"
        tags = ", ".join(f"`{case[key]}`" for key in ("owner", "team") if case.get(key)) or "none"
        yield f"| {case['case']}: {case['how']} | {settings} | {names} | `{case['job_key']}` | {tags} |"


def _failure_rows() -> Iterator[str]:
    yield from ("| reason | kind | retry | source | example |", "| --- | --- | --- | --- | --- |")
    for entry in failure_patterns():
        text = " ".join(entry.examples[0].split()).replace("|", "\\|").replace("`", "'")
        example = text if len(text) <= _LONGEST_EXAMPLE else f"{text[: _LONGEST_EXAMPLE - 1]}…"
        failure = entry.failure
        yield f"| `{failure.reason}` | {failure.kind} | {failure.retry} | {entry.source} | `{example}` |"
