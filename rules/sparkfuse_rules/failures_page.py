"""docs/failures.md, from the table of failure classes."""

from __future__ import annotations

from pathlib import Path

from sparkfuse_rules.knowledge.failures import known_failures

PATH = Path(__file__).parents[2] / "docs" / "failures.md"
HEAD = Path(__file__).parents[1] / "failures_page.md"


def page() -> str:
    """The page as Markdown."""
    rows = []
    for known in known_failures():
        first = " ".join(known.examples[0].split()).replace("|", "\\|").replace("`", "'")
        example = first if len(first) <= 160 else f"{first[:159]}…"
        failure = known.failure
        rows.append(f"| `{failure.reason}` | {failure.kind} | {failure.retry} | {known.source} | `{example}` |\n")
    return HEAD.read_text(encoding="utf-8") + "".join(rows)
