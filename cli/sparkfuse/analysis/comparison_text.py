"""Prints a comparison of two runs: the causes of the difference, queries and stages that differ, other changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from sparkfuse.analysis.terminal_text import readable
from sparkfuse_rules.describe import readable_duration

Object = Mapping[str, Any]
MAX_CAUSES = 6
MAX_QUERIES = 5
MAX_STAGES = 8
MAX_PARTS = 3
MAX_PROPERTIES = 10
MAX_NODES = 8


def show(comparison: Object, console: Console | None = None) -> None:
    """Print a comparison; contracts/documents/comparison.proto describes the keys of ``comparison``."""
    out = console or Console(highlight=False, emoji=False, markup=False)
    out.print(_title(comparison))
    for table in (_causes(comparison), _queries(comparison), _stages(comparison), _outside(comparison)):
        if table.row_count:
            out.print(table)
    for line in (*_properties(comparison), *_plan(comparison), *_limits(comparison)):
        out.print(line)


def _title(comparison: Object) -> Text:
    before, after = comparison["before"], comparison["after"]
    difference = comparison["difference_ms"]
    title = Text(readable(after["name"] or after["app_id"] or "unnamed application", 200), style="bold")
    took = f"from {readable_duration(before['elapsed_ms'])} to {readable_duration(after['elapsed_ms'])}: "
    title.append(f"  {took}", style="not bold")
    title.append(_signed(difference), style="bold red" if difference > 0 else "bold green")
    if before["elapsed_ms"]:
        title.append(f" ({difference / before['elapsed_ms']:+.0%})", style="not bold")
    return title


def _causes(comparison: Object) -> Table:
    table = _table("Causes", ("cause", "difference", "meaning"), right=(1,))
    causes = comparison["causes"]
    for each in causes[:MAX_CAUSES]:
        table.add_row(Text(each["cause"], style="bold"), _signed(each["difference_ms"]), each["meaning"])
    if rest := causes[MAX_CAUSES:]:
        names = ", ".join(each["cause"] for each in rest)
        table.add_row("others", _signed(sum(each["difference_ms"] for each in rest)), names)
    return table


def _queries(comparison: Object) -> Table:
    headings = ("query", "before", "after", "difference", "call site")
    table = _table("Queries that differ most", headings, right=(1, 2, 3))
    for query in [each for each in comparison["queries"] if each["difference_ms"]][:MAX_QUERIES]:
        before, after = query["before"], query["after"]
        side = after or before
        table.add_row(
            Text(readable(side["name"], 60)),
            *(_duration(each["elapsed_ms"]) if each else "-" for each in (before, after)),
            _signed(query["difference_ms"]),
            Text(readable(side["call_site"] or "-", 40)),
        )
    return table


def _stages(comparison: Object) -> Table:
    headings = ("stage", "name", "before", "after", "difference", "tasks", "parts")
    table = _table("Stages that differ most", headings, right=(2, 3, 4))
    for stage in [each for each in comparison["stages"] if each["difference_ms"]][:MAX_STAGES]:
        before, after = stage["before"], stage["after"]
        sides = (before, after)
        table.add_row(
            _pair(str(side["stage_id"]) if side else "-" for side in sides),
            Text(readable(stage["stage_name"] or "?", 60)),
            *(readable_duration(side["elapsed_ms"]) if side else "-" for side in sides),
            _signed(stage["difference_ms"]),
            _pair(_tasks(side) if side else "-" for side in sides),
            ", ".join(f"{part['part']} {_signed(part['difference_ms'])}" for part in stage["parts"][:MAX_PARTS]),
        )
    return table


def _outside(comparison: Object) -> Table:
    table = _table("Outside stages", ("time", "before", "after", "difference"), right=(1, 2, 3))
    for each in comparison["outside"]:
        if each["difference_ms"]:
            times = (readable_duration(each["before_ms"]), readable_duration(each["after_ms"]))
            table.add_row(each["kind"].replace("_", " "), *times, _signed(each["difference_ms"]))
    return table


def _properties(comparison: Object) -> Iterator[Text]:
    changes = comparison["configuration"]
    for each in changes[:MAX_PROPERTIES]:
        values = " -> ".join(
            "not set" if value is None else readable(value, 80) for value in (each["before"], each["after"])
        )
        yield Text.assemble(("Configuration: ", "bold"), f"{readable(each['key'], 100)}: {values} ({each['bears_on']})")
    if len(changes) > MAX_PROPERTIES:
        yield Text(f"{len(changes) - MAX_PROPERTIES} more properties differ: --json lists all.")


def _plan(comparison: Object) -> Iterator[Text]:
    nodes = comparison["plan"]
    if nodes:
        shown = ", ".join(
            f"{readable(each['name'], 60)} {each['before']} -> {each['after']}" for each in nodes[:MAX_NODES]
        )
        more = f" and {len(nodes) - MAX_NODES} more" if len(nodes) > MAX_NODES else ""
        yield Text.assemble(("Plan: ", "bold"), shown + more)


def _limits(comparison: Object) -> Iterator[Text]:
    for side in ("before", "after"):
        for sentence in comparison[side]["limits"]:
            yield Text(f"Note on the {'first' if side == 'before' else 'second'} run: {sentence}", style="yellow")


def _table(title: str, headings: Sequence[str], right: Sequence[int]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for place, heading in enumerate(headings):
        justify: Literal["left", "right"] = "right" if place in right else "left"
        table.add_column(heading, justify=justify, overflow="fold", no_wrap=place in right)
    return table


def _tasks(stage: Object) -> str:
    return f"{stage['tasks']}" + (f" ({stage['failed']} failed)" if stage["failed"] else "")


def _pair(texts: Iterator[str]) -> str:
    """Return two strings joined by an arrow, or one of them if they are equal."""
    return " -> ".join(dict.fromkeys(texts))


def _duration(milliseconds: int | None) -> str:
    return "-" if milliseconds is None else readable_duration(milliseconds)


def _signed(milliseconds: int) -> str:
    return ("+" if milliseconds > 0 else "") + readable_duration(milliseconds)
