"""Tests the rendering of descriptions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.describe import bind, placeholders, readable_bytes, readable_duration, render
from sparkfuse_rules.errors import RuleError


@pytest.mark.parametrize(
    ("template", "row", "expected"),
    [
        ("read {x:bytes}", {"x": 1536}, "read 1.5 KiB"),
        ("read {x:bytes}", {"x": 0}, "read 0 B"),
        ("took {x:duration}", {"x": 850}, "took 850 ms"),
        ("took {x:duration}", {"x": 200_000}, "took 3 min 20 s"),
        ("took {x:duration}", {"x": 59_999}, "took 1 min 0 s"),
        ("took {x:duration}", {"x": 7_500_000}, "took 2 h 5 min"),
        ("{x:.0f}x", {"x": 37.46}, "37x"),
        ("{x:,}", {"x": 1234567}, "1,234,567"),
        ("{x}", {}, "unknown"),
        ("{x:bytes}", {"x": None}, "unknown"),
        ("{x:.1f}", {"x": "text"}, "unknown"),
        ("{x:duration}", {"x": float("nan")}, "unknown"),
        ("{name}", {"name": "{x} %s {0}"}, "{x} %s {0}"),
        ("{{literal}}", {}, "{literal}"),
        ("{x:wall=It waits: alone|both=a = b}.", {"x": "wall"}, "It waits: alone."),
        ("{x:wall=It waits|both=a = b}.", {"x": "both"}, "a = b."),
        ("{x:wall=It waits}.", {"x": "cpu"}, "unknown."),
        ("{x:wall=It waits}.", {}, "unknown."),
        ("{x:count running task}", {"x": 1}, "1 running task"),
        ("{x:count task}", {"x": 12345}, "12,345 tasks"),
        ("{x:count task}", {}, "unknown"),
        ("took 5 s{x:?, limit {x:bytes}}", {"x": 2048}, "took 5 s, limit 2.0 KiB"),
        ("took 5 s{x:?, limit {x:bytes}}", {}, "took 5 s"),
        ("read{x:?+ {x:bytes}}", {"x": 0}, "read"),
        ("read{x:?+ {x:bytes}}", {"x": 1024}, "read 1.0 KiB"),
        ("read{x:?+ {x:bytes}}", {"x": "text"}, "read"),
        ("{x:?a{y:? b {z}}}", {"x": 1, "y": 2, "z": 3}, "a b 3"),
        ("Stage {stage_name} runs", {"stage_name": "q7: scan a", "stage_id": 4}, "Stage q7: scan a runs"),
        ("Stage {stage_name} runs", {"stage_id": 4}, "Stage 4 runs"),
        ("Stage {stage_name} runs", {"stage_name": "", "stage_id": 4}, "Stage 4 runs"),
        ("Stage {stage_name} runs", {}, "Stage unknown runs"),
        ("stage {stage_name:id}", {"stage_name": "q7: scan a", "stage_id": 4}, "stage q7: scan a (id 4)"),
        ("stage {stage_name:id}", {"stage_name": None, "stage_id": 4}, "stage 4"),
    ],
)
def test_template_is_rendered(template, row, expected):
    """In a rendered description, numbers have units and absent values are unknown or omitted.

    A user's text is never parsed as a template.
    """
    assert render(template, row) == expected


@pytest.mark.parametrize(
    "template",
    [
        "{x:>9999999}", "{x!r}{", "{x.__class__}", "{0}", "{x:s}", "{x:{y}}", "{x:a=}", "{x:a=b|}", "{x:=b}", "{x:?}",
        "{x:?+}",
        "{x:?a {0}}", "{x:?a {y:>99}}", "{x:id}", "{x:count}", "{x:count }",
    ],
)  # fmt: skip
def test_malformed_template_is_rejected(template):
    """Formats that need unbounded memory or access attributes are rejected before the first row is evaluated."""
    with pytest.raises(RuleError):
        placeholders(template)


def test_stage_name_requires_the_stage_id():
    """A stage without a name is shown by its id, so a description with the stage's name also requires its id."""
    assert placeholders("{x:?{stage_name}}") == (("x", "?{stage_name}"), ("stage_name", ""), ("stage_id", ""))


def test_params_are_bound_and_columns_stay():
    """Params in a template are replaced by their values, even within an optional text; columns and braces stay."""
    optional = bind("{x:? of {budget:bytes} {{}}}", {"budget": 2048})

    assert render(optional, {"x": 1}) == " of 2.0 KiB {}"
    assert render(optional, {}) == ""

    bound = bind("{{a}} {spilled:bytes} of {budget:bytes}", {"budget": 2048})

    assert bound == "{{a}} {spilled:bytes} of 2.0 KiB"
    assert render(bound, {"spilled": 1024}) == "{a} 1.0 KiB of 2.0 KiB"


@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_any_number_is_rendered_short(number):
    """Every size and duration has a short text."""
    assert len(readable_bytes(number)) < 20
    assert len(readable_duration(number)) < 32


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.text(), st.floats(), st.integers())))
def test_rendering_never_fails(row):
    """For any values in a row, the description is rendered without an error."""
    assert "x" in render("x {a:bytes} {a:duration} {b:.1f} {b}", row)
