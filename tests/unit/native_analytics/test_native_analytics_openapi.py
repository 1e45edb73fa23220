"""Tests the contract of the questions: the checked-in document, and that every parameter and answer is described."""

from __future__ import annotations

import json
import re

import pytest

from sparkfuse_native_analytics.queries.cursor import CursorError, decode, encode
from sparkfuse_native_analytics.queries.openapi import FILE, openapi, text
from sparkfuse_native_analytics.queries.questions import QUESTIONS


def test_document_is_current():
    """The checked-in document is the one of the code; `make generate` writes it."""
    assert FILE.read_text(encoding="utf-8") == text()


def test_every_reference_resolves():
    """Each reference of the document leads to a schema of the document."""
    references = set(re.findall(r'"\$ref": "#/components/schemas/([^"]+)"', text()))

    assert references == set(openapi()["components"]["schemas"])


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_parameters_are_described(question):
    """Each parameter has a description and a limit, and each answer a description with the meaning of its values."""
    operation = openapi()["paths"][f"/api/v1{question.path}"]["get"]
    schema = operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]

    assert openapi()["components"]["schemas"][schema]["description"]
    for each in operation["parameters"]:
        assert each["description"], each["name"]
        assert {"maxLength", "maximum", "enum"} & set(each["schema"]), each["name"]
    assert re.findall(r"{(\w+)}", question.path) == [
        each["name"] for each in operation["parameters"] if each["in"] == "path"
    ]


@pytest.mark.parametrize("values", [(1, "a", 2), (-1, "数\u202e", 0), (1 << 61, "", 1)])
def test_cursor_returns_its_values(values):
    """A cursor has the values that it was made of, in characters that need no escaping in an address."""
    made = encode("runs", values)

    assert re.fullmatch(r"[\w-]+", made)
    assert decode(made, "runs", (int, str, int)) == values


@pytest.mark.parametrize("values", [[1, "a"], ["1", "a", 2], [1, "a", True], [1, "a", 2.0], [1, "a", None]])
def test_cursor_with_other_types_is_refused(values):
    """A cursor whose values have other types is refused, also booleans, which Python counts as numbers."""
    with pytest.raises(CursorError):
        decode(encode("runs", values), "runs", (int, str, int))


def test_deep_cursor_is_refused():
    """A cursor of nested lists is refused without a stack overflow."""
    import base64

    deep = base64.urlsafe_b64encode(b"[" * 700).decode()

    with pytest.raises(CursorError):
        decode(deep, "runs", (int,))
    assert json.loads(text())["openapi"] == "3.1.0"
