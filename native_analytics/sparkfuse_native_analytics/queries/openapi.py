"""Writes the contract of the questions: an OpenAPI document with a JSON Schema of each answer.

``python -m sparkfuse_native_analytics.queries.openapi`` writes it to docs/openapi.json of a checkout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from sparkfuse_contracts.assets import asset
from sparkfuse_native_analytics.queries.questions import QUESTIONS, Question

Schema = dict[str, Any]
VERSION = "1"
PREFIX = "/api/v1"
FILE = Path(__file__).parents[3] / "docs" / "openapi.json"
COMPARISON = "Comparison"
_ERRORS = {
    "400": "A parameter or the cursor is wrong; detail names it.",
    "404": "The thing does not exist.",
    "429": "Too many requests; Retry-After has the seconds to wait.",
    "503": "The store does not answer, or has no tables yet.",
}
_PROBLEM = {
    "type": "object",
    "description": "An error (RFC 9457).",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Always about:blank."},
        "title": {"type": "string", "description": "The name of the status."},
        "status": {"type": "integer", "description": "The status of the reply."},
        "detail": {"type": "string", "description": "One sentence: what is wrong, and what to do."},
    },
}


@cache
def openapi() -> Mapping[str, Any]:
    """Return the OpenAPI 3.1 document of the REST API."""
    schemas: dict[str, Schema] = {"Problem": _PROBLEM}
    paths: dict[str, Schema] = {}
    for question in QUESTIONS:
        name = _add_answer(schemas, question)
        paths[f"{PREFIX}{question.path}"] = {"get": _operation(question, name)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Sparkfuse",
            "version": VERSION,
            "description": "Reads runs, findings, baselines and steps of the fuse. New versions may add fields.",
        },
        "paths": paths,
        "components": {"schemas": dict(sorted(schemas.items()))},
    }


def parameter_schema(question: Question) -> Schema:
    """Return the JSON Schema of the parameters of a question, without references."""
    found = TypeAdapter(question.parameters).json_schema(mode="validation")
    for each in found["properties"].values():
        each.pop("title", None)
    return {key: found[key] for key in ("type", "properties", "required", "additionalProperties") if key in found}


def _operation(question: Question, answer: str) -> Schema:
    schema = parameter_schema(question)
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{answer}"}}}
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    errors = {code: text for code, text in _ERRORS.items() if code != "404" or question.missing}
    return {
        "operationId": question.name,
        "summary": question.summary,
        "parameters": [_parameter(question, name, each, schema) for name, each in schema["properties"].items()],
        "responses": {
            "200": {"description": "The answer.", "content": content},
            **{code: {"description": text, "content": problem} for code, text in errors.items()},
        },
    }


def _parameter(question: Question, name: str, schema: Schema, of: Schema) -> Schema:
    return {
        "name": name,
        "in": "path" if f"{{{name}}}" in question.path else "query",
        "required": name in of.get("required", ()),
        "description": schema.get("description", ""),
        "schema": {key: value for key, value in schema.items() if key != "description"},
    }


def _add_answer(schemas: dict[str, Schema], question: Question) -> str:
    """Add the schemas of an answer, and return the name of the answer's schema."""
    if question.answer is dict:
        contract = json.loads(asset("sparkfuse_contracts", "generated", "json_schema", "comparison.json").read_text())
        nested, name = contract.pop("$defs", {}), COMPARISON
        found = {key: value for key, value in contract.items() if not key.startswith("$")}
        schemas |= {key: _moved(value) for key, value in nested.items()}
    else:
        template = "#/components/schemas/{model}"
        found = TypeAdapter(question.answer).json_schema(mode="serialization", ref_template=template)
        schemas |= found.pop("$defs", {})
        name = question.answer.__name__
    schemas[name] = _moved(found)
    return name


def _moved(schema: Any) -> Any:
    """Return a schema whose references lead to the components of the document."""
    if isinstance(schema, dict):
        return {key: _moved(value) for key, value in schema.items()}
    if isinstance(schema, list):
        return [_moved(each) for each in schema]
    return schema.replace("#/$defs/", "#/components/schemas/") if isinstance(schema, str) else schema


def text() -> str:
    """Return the document as it is checked in."""
    return json.dumps(openapi(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
