"""Writes the columns of the views that rules can use, as plain data and as Python types of their rows."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_contracts.schema import Field, Message, Schema


def as_data(schema: Schema) -> Mapping[str, object]:
    """Return the columns of the envelope and of each view."""
    row = schema["LiveRow"]
    envelope = [_column(field) for field in row.fields if not field.kind_of]
    views = {
        schema[field.type].view: _view(field, schema[field.type]) for field in row.fields if schema_view(field, schema)
    }
    return {"envelope": envelope, "views": views}


_PYTHON_TYPES = {
    "string": "str", "bytes": "bytes", "int32": "int", "int64": "int", "double": "float", "bool": "bool",
}  # fmt: skip


def python_types(schema: Schema) -> str:
    """Return a Python module with a TypedDict for each view; a row may lack columns, and a column may be None."""
    messages = [schema[field.type] for field in schema["LiveRow"].fields if schema_view(field, schema)]
    head = '"""Rows of the views as types, generated from contracts/messages/live.proto; do not edit."""'
    classes = (_python_type(message) for message in messages)
    return "\n\n\n".join((f"{head}\n\nfrom typing import TypedDict", *classes)) + "\n"


def _python_type(message: Message) -> str:
    name = "".join(word.capitalize() for word in (message.view or "").split("_"))
    columns = (f"    {field.name}: {_PYTHON_TYPES[field.type]} | None" for field in message.fields)
    return "\n".join(
        (f"class {name}Row(TypedDict, total=False):", f'    """One row of {message.view}."""', "", *columns)
    )


def schema_view(field: Field, schema: Schema) -> str | None:
    """Return the name of the view that a field of LiveRow contains; None if the field contains no view."""
    return schema[field.type].view if field.kind_of else None


def _view(field: Field, message: Message) -> Mapping[str, object]:
    return {"row": field.name, "message": message.name, "columns": [_column(each) for each in message.fields]}


def _column(field: Field) -> Mapping[str, object]:
    return {
        "name": field.name,
        "type": field.type,
        "unit": field.unit,
        "description": field.description,
        "tags": list(field.tags),
    }
