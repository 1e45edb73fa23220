"""Read the operators of a physical plan: their conditions without literals, and whether they run Python."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkfuse_contracts.generated.plan_conditions import MOST_CHARS, MOST_TEXT_CHARS, WORDS

_PART = re.compile(r"[A-Za-z0-9_]+|[<=>]+")
_COLUMN = re.compile(r"#[0-9]")
_WORDS = frozenset(WORDS)
# The pattern matches the names of Spark's nodes that start Python workers (org.apache.spark.sql.execution.python):
# ArrowEvalPython, BatchEvalPython, MapInPandas, MapInArrow, FlatMapGroupsInPandas, FlatMapCoGroupsInArrow,
# AggregateInPandas, ArrowAggregatePython, WindowInPandas, ArrowWindowPython, PythonUDTF and similar nodes.
_PYTHON = re.compile(r"Python|InPandas|InArrow")
# Only the first word is the operator; columns and tables, whose names users choose, follow it.
_FIRST_WORD = re.compile(r"[\s(]")


def has_condition(node: str) -> bool:
    """Return whether a node with this name filters or joins rows by a condition."""
    return node in {"Filter", "CartesianProduct"} or "Join" in node


def condition(text: str) -> str:
    """Return the columns, comparisons and join type in the text of a node, in their order, without literals.

    ``Filter (isnotnull(day#5) AND (day#5 = 2024-05-01))`` gives ``isnotnull day AND day =``. The plugin (PlanCondition)
    and the kernel (sql.rs) return the same text for the same node.
    """
    found = ""
    for part in _PART.finditer(text, 0, MOST_TEXT_CHARS):
        included = part[0][0] in "<=>" or part[0] in _WORDS or _COLUMN.match(text, part.end())
        if included and len(found) + len(part[0]) < MOST_CHARS:
            found += f" {part[0]}" if found else part[0]
    return found


def runs_python(scope_names: Iterable[str], plan_nodes: Iterable[str] = ()) -> bool:
    """Return whether an operator of a stage runs Python; the plan is used only if no operator of the stage is known.

    The plan belongs to the whole query, so it shows only that some stage of the query runs Python. RDDs of Python
    functions have no RDD scope of their own, so such functions are not recognised.
    """
    scopes = list(scope_names)
    return any(_PYTHON.search(_FIRST_WORD.split(name, 1)[0]) for name in (scopes or plan_nodes))
