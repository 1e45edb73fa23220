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
    ],
)
def test_a_template_becomes_a_sentence(template, row, expected):
    """Numbers get units, what is absent reads unknown, and a user's text is never parsed."""
    assert render(template, row) == expected


@pytest.mark.parametrize(
    "template", ["{x:>9999999}", "{x!r}{", "{x.__class__}", "{0}", "{x:s}", "{x:{y}}", "{x:a=}", "{x:a=b|}", "{x:=b}"]
)
def test_a_broken_template_is_refused(template):
    """Formats that could blow up, or reach into objects, are refused before the first row."""
    with pytest.raises(RuleError):
        placeholders(template)


def test_params_are_bound_and_columns_stay():
    """A budget is written once; braces in the text survive."""
    bound = bind("{{a}} {spilled:bytes} of {budget:bytes}", {"budget": 2048})

    assert bound == "{{a}} {spilled:bytes} of 2.0 KiB"
    assert render(bound, {"spilled": 1024}) == "{a} 1.0 KiB of 2.0 KiB"


@given(st.integers(min_value=-(2**63), max_value=2**63))
def test_any_number_can_be_read(number):
    """No size and no duration breaks the sentence, and it stays short."""
    assert len(readable_bytes(number)) < 20
    assert len(readable_duration(number)) < 32


@given(st.dictionaries(st.sampled_from(["a", "b"]), st.one_of(st.none(), st.text(), st.floats(), st.integers())))
def test_rendering_never_fails(row):
    """Whatever a row holds, a finding gets its sentence."""
    assert "x" in render("x {a:bytes} {a:duration} {b:.1f} {b}", row)
