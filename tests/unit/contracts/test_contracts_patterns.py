"""Tests that patterns of contracts/shared are composed of named parts, and match the same texts in Java and Python."""

from __future__ import annotations

import pytest

from sparkfuse_contracts.generate.patterns import composed
from sparkfuse_contracts.schema import SchemaError


def pattern(text: str, **parts: object) -> str:
    content = composed({"parts": parts, "steps": [{"name": "one", "pattern": text}]})
    (step,) = content["steps"]
    return str(step["pattern"])


def test_parts_replace_their_names() -> None:
    """The name of a part is replaced by the part's text, which may contain other parts or repeat a text for each word.

    Quantifiers of the pattern stay unchanged.
    """
    words = {"each": "(?<!{word})", "words": "a b"}

    assert pattern("{whole}{0,3}", whole="[{digit}]{words}", digit="0-9", words=words) == "[0-9](?<!a)(?<!b){0,3}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("{other}", "unknown part {other}", id="unknown part"),
        pytest.param(r"a\b", r"do not agree on \b", id="word boundary"),
        pytest.param(r"a\Z", r"do not agree on \Z", id="end of text"),
        pytest.param("a$", "do not agree on $", id="end of line"),
        pytest.param("(a", "is not valid", id="not closed"),
    ],
)
def test_other_patterns_are_rejected(text: str, reason: str) -> None:
    """The generator rejects invalid patterns, and patterns that Java and Python interpret differently."""
    with pytest.raises(SchemaError) as refused:
        pattern(text)

    assert reason in str(refused.value)


def test_escaped_signs_and_classes_are_accepted() -> None:
    """The generator accepts anchor signs after a backslash or in a character class.

    In these places anchor signs are ordinary characters.
    """
    assert pattern(r"[^$\]^]\$\\[b]") == r"[^$\]^]\$\\[b]"
