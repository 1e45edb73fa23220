"""The user's line is found in Spark's call sites, whatever Spark or the JVM puts around it."""

from __future__ import annotations

import json
import time

import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.knowledge.call_sites import user_call_site

CASES = json.loads(asset("sparkfuse_contracts", "generated", "shared", "framework_frames.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case) -> None:
    """Each shared case gives its call site."""
    assert user_call_site(case["short"], case["long"]) == case["call_site"]


@pytest.mark.parametrize("text", ["a at " * 100_000 + "b:1", "(" * 100_000 + ":1)", ":1" * 100_000, "\n" * 100_000])
def test_hostile_text_takes_no_time(text) -> None:
    """Texts that no Spark writes are read in milliseconds."""
    started = time.monotonic()
    user_call_site(text, text)

    assert time.monotonic() - started < 1
