"""Tests that the vocabulary check finds words that the project has replaced, and ignores terms that contain them."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def vocabulary(repository: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("vocabulary", repository / "build_support/vocabulary.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("The user is told of it.", "told"),
        ("def _tell_python(row):", "tell"),
        ("Rows are read at rest.", "at rest"),
        ("The breaker decides.", "breaker"),
        ("CircuitBreaker checks the fuse.", None),
        ("The driver retells nothing unusual.", None),
        ("It reports the failure.", None),
    ],
)
def test_replaced_words_are_found(vocabulary: ModuleType, line: str, found: str | None) -> None:
    """Replaced words are found in prose and identifiers, but not inside other words."""
    words = [word for _number, word, _instead in vocabulary.find("docs/page.md", line, vocabulary.read_words())]

    assert words == ([found] if found else [])


def test_word_is_allowed_in_its_files(vocabulary: ModuleType) -> None:
    """The word breaker is a replaced word, but it is allowed in job code because of the class CircuitBreaker."""
    assert list(vocabulary.find("docs/job-code.md", "breaker.check()", vocabulary.read_words())) == []
