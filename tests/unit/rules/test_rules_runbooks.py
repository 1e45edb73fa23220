"""Tests the addresses and queries of runbooks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkfuse_contracts.columns import view_specs
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiled import compile_offline
from sparkfuse_rules.runbooks import first_step, queries, rule_runbook_url, runbook_page_url, without_queries

CATALOG = load_catalog()


@pytest.mark.parametrize("rule_id", list(CATALOG))
def test_rule_runbook_url_leads_to_its_page(rule_id: str, repository: Path) -> None:
    """The runbook address of a rule names an existing file below docs and a heading of this file."""
    path, _, heading = rule_runbook_url("docs/", rule_id).partition("#")

    assert f"\n## {heading.capitalize()}\n" in (repository / path).read_text(encoding="utf-8")


def test_pipeline_runbook_url_leads_to_its_section(repository: Path) -> None:
    """The runbook address of a pipeline alert names an existing file below docs and one of its headings.

    The heading is in lower case, as in rendered Markdown.
    """
    path, _, heading = runbook_page_url("docs", "pipeline", "SparkfuseProcessDown").partition("#")
    headings = [
        line[3:].lower() for line in (repository / path).read_text(encoding="utf-8").splitlines() if "## " in line
    ]

    assert heading in headings


def test_queries_are_read_from_a_runbook() -> None:
    """Each fenced SQL block of a runbook is one query; the text of the runbook is returned without these blocks."""
    runbook = "1. Look:\n   ```sql\n   SELECT 1\n   ```\n2. Or:\n```sql\nSELECT 2\n```"

    assert [query.strip() for query in queries(runbook)] == ["SELECT 1", "SELECT 2"]
    assert without_queries(runbook) == "1. Look:\n2. Or:"


def test_offline_runbooks_have_no_queries() -> None:
    """An analysis of event logs has no store, so its runbooks contain no SQL."""
    assert not [rule.id for rule in compile_offline() if "SELECT" in rule.runbook or "```" in rule.runbook]


def test_every_runbook_has_a_first_step() -> None:
    """The first step of each rule's runbook is one line of text without a query, and ends before the second step."""
    for rule in load_catalog().values():
        step = first_step(rule.runbook)
        assert len(step) > 20, rule.id
        assert "\n" not in step
        assert "SELECT" not in step
        assert " 2. " not in step
    assert first_step("no steps") == ""
    assert first_step("1. Look.\n   The rows:\n   ```sql\n   SELECT 1\n   ```\n2. Then") == "Look."


def columns_without_writer() -> set[str]:
    """Return the columns of the table live that only the detect job computes; it does not store them."""
    computed = {"job_live", "executor_loss", "host_live"}
    return {
        f"{view.row}_{column.name}"
        for view in view_specs().values()
        for column in view.columns.values()
        if view.name in computed or {"detect", "offline only"} & {*column.tags}
    }


def test_runbook_queries_read_no_column_that_is_always_null(repository: Path) -> None:
    """A query of a runbook reads no column of live that nobody writes, because it would show nothing."""
    texts = {rule.id: rule.runbook for rule in CATALOG.values()}
    texts |= {page.name: page.read_text(encoding="utf-8") for page in (repository / "docs/runbooks").glob("*.md")}
    found = {
        (name, column)
        for name, text in texts.items()
        for query in queries(text)
        for column in columns_without_writer() & {*re.findall(r"\w+", query)}
        if "live" in re.findall(r"\w+", query)
    }

    assert found == set()
    assert "stage_stage_name" in columns_without_writer()
