"""Writes the columns of the views that rules can use as plain data."""

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
