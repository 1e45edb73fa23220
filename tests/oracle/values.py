"""Reads values of events: numbers, texts, scopes, depths, and distributions of values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Event = dict[str, Any]
Row = dict[str, Any]

INT64 = range(-(2**63), 2**63)
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
CODEGEN_ID = re.compile(r"\s*\([0-9]+\)$")
MAX_TEXT_BYTES = 64 << 10
MAX_RDDS = 256
MAX_SCOPES = 64


def at(holder: Any, *path: str) -> Any:
    """Return the value at a path of keys; ``None`` if a key is missing."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, dict) else None
    return holder


def text(holder: Any, *path: str) -> str | None:
    """Return at most 64 KiB of the text at a path; half of a surrogate pair becomes the replacement character."""
    value = at(holder, *path)
    if not isinstance(value, str):
        return None
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return whole[:MAX_TEXT_BYTES].decode(errors="replace" if len(whole) <= MAX_TEXT_BYTES else "ignore")


def whole_number(value: Any) -> int | None:
    """Return the value as an integer of 64 bits, with fractions rounded towards zero; ``None`` for other values."""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = int(value) if value.lstrip("+-").isdigit() else float(value)
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value in INT64 else None


def scope_names(info: Event) -> list[str]:
    """Return the distinct names of the stage's RDD scopes, in the log's order.

    Of the first 256 RDDs, names with at most 64 different operators are kept; ``WholeStageCodegen (3)`` and
    ``WholeStageCodegen (4)`` are one operator. A scope is JSON inside a JSON string.
    """
    names: dict[str, None] = {}
    operators: set[str] = set()
    infos = info.get("RDD Info")
    for rdd in infos[:MAX_RDDS] if isinstance(infos, list) else []:
        scope = text(rdd, "Scope")
        try:
            name = text(json.loads(scope), "name") if scope else None
        except ValueError:
            name = None
        operator = CODEGEN_ID.sub("", name or "")
        if name is not None and (operator in operators or len(operators) < MAX_SCOPES):
            operators.add(operator)
            names[name] = None
    return list(names)


def depth(stage: int, parents: Mapping[int | None, Sequence[int]]) -> int:
    """Return the length of the longest chain of ancestors of the stage."""
    known = [parent for parent in parents.get(stage, ()) if parent in parents]
    return 1 + max(depth(parent, parents) for parent in known) if known else 0


def first_jobs(jobs: Iterable[Row]) -> dict[int, int]:
    """Return the first job of each stage; ``jobs`` are in the order of the log."""
    found: dict[int, int] = {}
    for job in jobs:
        for stage in job["stage_ids"]:
            found.setdefault(stage, job["job_id"])
    return found


def distribution(values: Iterable[int]) -> Row:
    """Summarize values: ``median`` is the mean of the middle two, ``p95`` nearest rank, sorted[ceil(0.95 n) - 1]."""
    ordered = sorted(values)
    count = len(ordered)
    if not count:
        return {"n": 0, "sum": 0, **dict.fromkeys(("min", "median", "p95", "max"))}
    return {
        "n": count,
        "sum": sum(ordered),
        "min": ordered[0],
        "median": (ordered[(count - 1) // 2] + ordered[count // 2]) / 2,
        "p95": ordered[-(-95 * count // 100) - 1],
        "max": ordered[-1],
    }


def flag(value: Any) -> bool | None:
    """Return a boolean that is given as a boolean or as the string ``true`` or ``false``; ``None`` for other values."""
    words = {True: True, False: False, "true": True, "false": False}
    return words.get(value) if isinstance(value, bool | str) else None
