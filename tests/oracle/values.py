"""What a value of an event means: numbers, texts, and what is computed of many."""

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
LONGEST_TEXT = 64 << 10
MOST_RDDS = 256
MOST_SCOPES = 64


def at(holder: Any, *path: str) -> Any:
    """What stands at this path of keys, ``None`` where it ends early."""
    for key in path:
        holder = holder.get(key) if isinstance(holder, dict) else None
    return holder


def text(holder: Any, *path: str) -> str | None:
    """The text at this path, at most 64 KiB of it; half of a surrogate pair is the replacement character."""
    value = at(holder, *path)
    if not isinstance(value, str):
        return None
    whole = value.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
    return whole[:LONGEST_TEXT].decode(errors="replace" if len(whole) <= LONGEST_TEXT else "ignore")


def whole_number(value: Any) -> int | None:
    """An int64, cut towards zero; ``None`` for what is no number or fits none."""
    if isinstance(value, str) and NUMBER.fullmatch(value):
        value = int(value) if value.lstrip("+-").isdigit() else float(value)
    if isinstance(value, float) and math.isfinite(value):
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value in INT64 else None


def scope_names(info: Event) -> list[str]:
    """Return the names of the stage's RDD scopes, each once and in the log's order.

    Of the first 256 RDDs, names with at most 64 different operators are kept; ``WholeStageCodegen (3)`` and
    ``WholeStageCodegen (4)`` are one operator. A scope is JSON inside a JSON string.
    """
    names: dict[str, None] = {}
    operators: set[str] = set()
    infos = info.get("RDD Info")
    for rdd in infos[:MOST_RDDS] if isinstance(infos, list) else []:
        scope = text(rdd, "Scope")
        try:
            name = text(json.loads(scope), "name") if scope else None
        except ValueError:
            name = None
        operator = CODEGEN_ID.sub("", name or "")
        if name is not None and (operator in operators or len(operators) < MOST_SCOPES):
            operators.add(operator)
            names[name] = None
    return list(names)


def depth(stage: int, parents: Mapping[int | None, Sequence[int]]) -> int:
    """The length of the longest chain of stages behind this one, by who reads from whom."""
    behind = [parent for parent in parents.get(stage, ()) if parent in parents]
    return 1 + max(depth(parent, parents) for parent in behind) if behind else 0


def first_jobs(jobs: Iterable[Row]) -> dict[int, int]:
    """The first job of each stage, jobs in the order in which the log has them."""
    found: dict[int, int] = {}
    for job in jobs:
        for stage in job["stage_ids"]:
            found.setdefault(stage, job["job_id"])
    return found


def distribution(values: Iterable[int]) -> Row:
    """Of sorted values: ``median`` the mean of the middle two, ``p95`` by nearest rank, sorted[ceil(0.95 n) - 1]."""
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
    """True or false, also as a text; none for anything else."""
    words = {True: True, False: False, "true": True, "false": False}
    return words.get(value) if isinstance(value, bool | str) else None
