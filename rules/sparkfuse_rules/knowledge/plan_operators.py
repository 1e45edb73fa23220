"""What a filter or join of a plan asks, without its literals: the same from run to run, and no secret of a user."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST = 400
MOST_CHARS = 20_000
_PART = re.compile(r"[A-Za-z0-9_]+|[<=>]+")
_COLUMN = re.compile(r"#[0-9]")
_WORDS = frozenset({
    "AND", "Cross", "FullOuter", "IN", "INSET", "Inner", "LeftAnti", "LeftOuter", "LeftSemi", "LIKE", "NOT", "OR",
    "RightOuter", "isnotnull",
})  # fmt: skip
# ArrowEvalPython, BatchEvalPython, MapInPandas, MapInArrow, FlatMapGroupsInPandas, FlatMapCoGroupsInArrow,
# AggregateInPandas, ArrowAggregatePython, WindowInPandas, ArrowWindowPython, PythonUDTF and their kin: Spark's
# nodes that start Python workers all say so (org.apache.spark.sql.execution.python).
_PYTHON = re.compile(r"Python|InPandas|InArrow")
# Behind it stand columns and tables, which are called what users like.
_FIRST_WORD = re.compile(r"[\s(]")


def has_condition(node: str) -> bool:
    """Whether a node of this name keeps or joins rows by a condition."""
    return node in {"Filter", "CartesianProduct"} or "Join" in node


def condition(text: str) -> str:
    """The columns, comparisons and the kind of join that a node's text names, in their order; literals fall out.

    ``Filter (isnotnull(day#5) AND (day#5 = 2024-05-01))`` gives ``isnotnull day AND day =``. The plugin (PlanCondition)
    and the kernel (sql.rs) make the same of it.
    """
    found = ""
    for part in _PART.finditer(text, 0, MOST_CHARS):
        told = part[0][0] in "<=>" or part[0] in _WORDS or _COLUMN.match(text, part.end())
        if told and len(found) + len(part[0]) < LONGEST:
            found += f" {part[0]}" if found else part[0]
    return found


def runs_python(scope_names: Iterable[str], plan_nodes: Iterable[str] = ()) -> bool:
    """Whether one of the operators runs Python; the plan is asked only where no operator of the stage is known.

    The plan is that of the whole query, so it says only that some stage of it does. RDDs of Python functions have no
    scope of their own and cannot be told.
    """
    scopes = list(scope_names)
    return any(_PYTHON.search(_FIRST_WORD.split(name, 1)[0]) for name in (scopes or plan_nodes))
