"""docs/identity.md: its head, and the cases of identity that the tests run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

HEAD = Path(__file__).parents[1] / "identity_page.md"
CASES = Path(__file__).parents[1] / "identity_cases.yaml"
PATH = Path(__file__).parents[2] / "docs" / "identity.md"


def cases() -> list[Mapping[str, Any]]:
    """The cases: case, how, properties, name, user, job_key, and owner and team where they are said."""
    content: list[Mapping[str, Any]] = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    return content


def page() -> str:
    """The page as Markdown."""
    return HEAD.read_text(encoding="utf-8") + "".join(f"{row}\n" for row in _rows())


def _rows() -> Iterator[str]:
    for case in cases():
        settings = "<br>".join(f"`{key}={value}`" for key, value in case["properties"].items()) or "none"
        called = ", ".join(f"`{case[key]}`" for key in ("name", "user") if case[key]) or "none"
        tags = ", ".join(f"`{case[key]}`" for key in ("owner", "team") if case.get(key)) or "none"
        yield f"| {case['case']}: {case['how']} | {settings} | {called} | `{case['job_key']}` | {tags} |"
