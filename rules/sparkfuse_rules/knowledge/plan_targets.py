"""Find the tables and paths that the nodes of a plan read and write, from the details or names of the nodes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkfuse_rules.knowledge.query_plan import QueryPlan

_MOST_CACHES = 4
_FORMATS = frozenset({
    "avro", "binaryfile", "console", "csv", "delta", "foreach", "hive", "hudi", "iceberg", "in-memory", "jdbc", "json",
    "kafka", "memory", "noop", "orc", "parquet", "rate", "text", "xml",
})  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ONE_ROW = "one row"
_SOURCES = {"Range": "range", "LocalTableScan": "local rows", "LocalRelation": "local rows", "LogicalRDD": "RDD",
            "Scan ExistingRDD": "RDD", "Scan OneRowRelation": _ONE_ROW, "MicroBatchScan": "stream"}  # fmt: skip


def sources(plan: QueryPlan, nodes: Iterable[int], full: bool, depth: int = 0) -> list[str]:
    """Return the distinct tables and paths that the nodes read, and words for rows without a table, such as RDD.

    With ``full``, only tables and paths are returned, with their database or folder.
    """
    found: dict[str, None] = {}
    for node in nodes:
        kind = plan.kinds[node]
        if kind == "cache":
            found |= dict.fromkeys(_cached(plan, node, full, depth))
        elif kind == "scan":
            target = _folders(target_of(plan.detail(node)) or target_of_name(plan.names[node]))
            if target:
                found[target if full else last_part(target)] = None
            elif not full and not plan.children[node]:
                found[_rows_of(plan, node)] = None
    return [name for name in found if name != _ONE_ROW or len(found) == 1]


def _cached(plan: QueryPlan, node: int, full: bool, depth: int) -> list[str]:
    """Return the name of a cached table; if it has no name, the tables that it was computed from."""
    named = target_of(plan.detail(node)) or plan.names[node].partition("In-memory table ")[2]
    if named and not full:
        return [f"cached {last_part(named)}"]
    tables = sources(plan, plan.below(plan.children[node]), full, depth + 1) if depth < _MOST_CACHES else []
    return tables if full else [f"cached {table.removeprefix('cached ')}" for table in tables] or ["cached rows"]


def _rows_of(plan: QueryPlan, node: int) -> str:
    name = plan.names[node]
    word = name.split(" ", 1)[0]
    return _SOURCES.get(name) or _SOURCES.get(word) or format_of(plan.detail(node)) or words_of(word)


def target_of_name(name: str) -> str:
    """Return the table in the name of a scan without detail, such as ``Scan parquet spark_catalog.default.orders``."""
    words = name.split()
    last = words[-1] if len(words) > (1 if words and words[0] == "BatchScan" else 2) else ""
    if "/" in last:
        return "/".join([part for part in last.split("/") if part][-2:])
    return ".".join(last.split(".")[-2:]) if re.fullmatch(r"[\w.`-]+", last) else ""


def sink_of_name(name: str) -> str:
    """Return the table in the name of a write, such as ``AppendData noop-table``; an empty string if it has none."""
    words = name.split()
    return words[1] if len(words) > 1 and words[0] != "Execute" else ""


def target_of(detail: str) -> str:
    """Return the table or path in a node's detail, without its format."""
    target, _, form = detail.rpartition(" ")
    if not target:
        return "" if form.lower() in _FORMATS else form
    return target if form.lower() in _FORMATS else detail


def format_of(detail: str) -> str:
    """Return the format at the end of a node's detail; an empty string if the detail has none."""
    form = detail.rpartition(" ")[2].lower()
    return form if form in _FORMATS and form != "in-memory" else ""


def last_part(target: str) -> str:
    """Return the last part of a table's name or of a path; of several paths, the last part of the first path."""
    first, _, more = target.partition(", ")
    first = _file(first)
    last = first.rstrip("/").rpartition("/")[2] if "/" in first else first.rpartition(".")[2]
    return f"{last}…" if more and last else last


def _folders(target: str) -> str:
    """Return the paths without duplicates and without the names of files that Spark wrote."""
    return ", ".join(dict.fromkeys(map(_file, target.split(", "))))


def _file(target: str) -> str:
    """Return a path without the name of a single file that Spark wrote."""
    folder, _, file = target.rpartition("/")
    return folder if folder and file.startswith("part-") else target


def words_of(name: str) -> str:
    """Split a name into words in lower case: ``CollectMetrics`` gives ``collect metrics``."""
    return " ".join(_WORDS.findall(name)[:6]).lower()
