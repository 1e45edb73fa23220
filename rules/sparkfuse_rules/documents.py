"""Build docs/identity.md and docs/failures.md from their text and their data files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from sparkfuse_rules.knowledge.failures import failure_patterns

_RULES = Path(__file__).parents[1]
_DOCS = Path(__file__).parents[2] / "docs"
IDENTITY_PATH = _DOCS / "identity.md"
FAILURES_PATH = _DOCS / "failures.md"
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
    """Return docs/failures.md as Markdown."""
    return (_RULES / "failures_page.md").read_text(encoding="utf-8") + "".join(f"{row}\n" for row in _failure_rows())


def _identity_rows() -> Iterator[str]:
    for case in identity_cases():
        settings = "<br>".join(f"`{key}={value}`" for key, value in case["properties"].items()) or "none"
        names = ", ".join(f"`{case[key]}`" for key in ("name", "user") if case[key]) or "none"
        tags = ", ".join(f"`{case[key]}`" for key in ("owner", "team") if case.get(key)) or "none"
        yield f"| {case['case']}: {case['how']} | {settings} | {names} | `{case['job_key']}` | {tags} |"


def _failure_rows() -> Iterator[str]:
    for entry in failure_patterns():
        text = " ".join(entry.examples[0].split()).replace("|", "\\|").replace("`", "'")
        example = text if len(text) <= _LONGEST_EXAMPLE else f"{text[: _LONGEST_EXAMPLE - 1]}…"
        failure = entry.failure
        yield f"| `{failure.reason}` | {failure.kind} | {failure.retry} | {entry.source} | `{example}` |"
