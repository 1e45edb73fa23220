"""Whether a stage hands its rows to Python functions, by the names of its operators."""

from __future__ import annotations

import re
from collections.abc import Iterable

# ArrowEvalPython, BatchEvalPython, MapInPandas, MapInArrow, FlatMapGroupsInPandas, FlatMapCoGroupsInArrow,
# AggregateInPandas, ArrowAggregatePython, WindowInPandas, ArrowWindowPython, PythonUDTF and their kin: Spark's
# nodes that start Python workers all say so (org.apache.spark.sql.execution.python).
_PYTHON = re.compile(r"Python|InPandas|InArrow")
# Behind it stand columns and tables, which are called what users like.
_FIRST_WORD = re.compile(r"[\s(]")


def runs_python(scope_names: Iterable[str], plan_nodes: Iterable[str] = ()) -> bool:
    """Whether one of the operators runs Python; the plan is asked only where no operator of the stage is known.

    The plan is that of the whole query, so it says only that some stage of it does. RDDs of Python functions have no
    scope of their own and cannot be told.
    """
    scopes = list(scope_names)
    return any(_PYTHON.search(_FIRST_WORD.split(name, 1)[0]) for name in (scopes or plan_nodes))
