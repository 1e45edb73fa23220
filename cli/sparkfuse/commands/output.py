"""How the commands answer: a table for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]


def print_json(document: object) -> None:
    """Print a document on standard output; what JSON does not know (dates) is printed as text."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; an absent value is a dash. Text of users is shown as it is and never as markup."""
    table = Table(title=title, title_justify="left")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text("-" if value is None else str(value)) for value in row))
    Console().print(table)
