"""Output of the commands: a table for people, one JSON document for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparkfuse.analysis.terminal_text import printable

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of a table.")]
# Columns up to this width are never folded; wider columns may be folded down to this width.
LEAST_FOLDED = 20
# Per column: a border and a space on either side.
_BORDERS = 3


def print_json(document: object) -> None:
    """Print a document as JSON on standard output; dates are printed as text."""
    typer.echo(json.dumps(document, indent=2, ensure_ascii=False, default=str))


def print_table(title: str, headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; an absent value is a dash, and text of users is never interpreted as markup.

    On a terminal, long values are folded; if the terminal is too narrow for that, each row is a block of lines. Without
    a terminal each row is one line.
    """
    cells = [["-" if value is None else printable(str(value)) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(headings, *cells, strict=True)]
    out = Console()
    if not out.is_terminal:
        out.width = max(out.width, _table_width(widths))
    if _table_width([min(width, LEAST_FOLDED) for width in widths]) <= out.width:
        out.print(_table(title, headings, widths, cells))
        return
    out.print(Text(title, style="italic"))
    for row in cells:
        out.print(_block(headings, row), "")


def _table_width(widths: Sequence[int]) -> int:
    return sum(widths) + _BORDERS * len(widths) + 1


def _table(title: str, headings: Sequence[str], widths: Sequence[int], cells: Sequence[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left")
    for heading, width in zip(headings, widths, strict=True):
        table.add_column(heading, overflow="fold", no_wrap=width <= LEAST_FOLDED)
    for row in cells:
        table.add_row(*map(Text, row))
    return table


def _block(headings: Sequence[str], row: Sequence[str]) -> Table:
    block = Table(box=None, show_header=False, pad_edge=False)
    block.add_column(no_wrap=True, style="bold")
    block.add_column(overflow="fold")
    for heading, cell in zip(headings, row, strict=True):
        block.add_row(heading, Text(cell))
    return block
