"""Tests that the user's line is found in Spark's call sites, among frames of Spark and the JVM."""

from __future__ import annotations

import json
import time

import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_rules.knowledge.call_sites import user_call_site, user_description

CASES = json.loads(asset("sparkfuse_contracts", "generated", "shared", "framework_frames.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_call_site_of_shared_case(case) -> None:
    """The user's call site, parsed from Spark's text, equals the call site of the shared case."""
    assert user_call_site(case["short"], case["long"]) == case["call_site"]


@pytest.mark.parametrize("text", ["a at " * 100_000 + "b:1", "(" * 100_000 + ":1)", ":1" * 100_000, "\n" * 100_000])
def test_hostile_text_takes_no_time(text) -> None:
    """A hostile text, which Spark never writes, is parsed in milliseconds."""
    started = time.monotonic()
    user_call_site(text, text)

    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nightly reconciliation of orders", "nightly reconciliation of orders"),
        ("  load at night  ", "load at night"),
        ("save at NativeMethodAccessorImpl.java:0", None),
        ("$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768", None),
        ("collect at /jobs/orders.py:44\n", None),
        ("Spark Connect - show", None),
        ("", None),
        (None, None),
    ],
)
def test_only_descriptions_of_users_are_kept(text: str | None, expected: str | None) -> None:
    """A job description is kept only if the user wrote it.

    Descriptions that Spark made from a call site or for Spark Connect are dropped.
    """
    assert user_description(text) == expected
