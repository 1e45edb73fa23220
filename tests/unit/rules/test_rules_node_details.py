"""A node of a plan is identified by its table, path or keys, and never by a literal."""

from __future__ import annotations

import json
import time

import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.knowledge.node_details import node_detail

CASES = json.loads(asset("sparkfuse_contracts", "generated", "shared", "node_details.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case) -> None:
    """Each shared case gives its detail."""
    assert node_detail(case["node"], case["text"], {"Location": case["location"]}) == case["detail"]


@pytest.mark.parametrize("text", ["(" * 100_000, "[" * 100_000, "a#1," * 50_000, "`a`." * 50_000, "[a=" * 50_000])
@pytest.mark.parametrize("node", ["Exchange", "Scan parquet ", "SortMergeJoin", "AppendData", "MapInPandas", "Window"])
def test_hostile_text_takes_no_time(node, text) -> None:
    """Texts that no Spark writes are read in milliseconds, and the detail stays within its bound."""
    started = time.monotonic()
    detail = node_detail(node, f"{node} hashpartitioning{text}", {"Location": text})

    assert len(detail) <= 200
    assert time.monotonic() - started < 1
