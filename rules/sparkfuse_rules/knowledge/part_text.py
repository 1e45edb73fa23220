"""Words for the work of one part of a physical plan."""

from __future__ import annotations

from collections.abc import Iterator

from sparkfuse_rules.knowledge.plan_targets import format_of, last_part, sink_of_name, sources, target_of, words_of
from sparkfuse_rules.knowledge.query_plan import Part, QueryPlan

_MOST_TABLE_CHARS = 30
_MOST_STEPS = 12
_PYTHON = {"BatchEvalPython": "Python UDF", "ArrowEvalPython": "Python UDF (Arrow)"}
_STEPS = {
    "BroadcastHashJoin": "broadcast hash join",
    "BroadcastNestedLoopJoin": "broadcast nested loop join",
    "CartesianProduct": "cartesian product",
    "CollectLimit": "limit",
    "GlobalLimit": "limit",
    "LocalLimit": "limit",
    "StateStoreRestore": "state store",
    "StateStoreSave": "state store",
    "TakeOrderedAndProject": "top rows",
    "WindowGroupLimit": "window limit",
}
_JOIN_TYPES = {
    "Cross": "cross",
    "ExistenceJoin": "existence",
    "FullOuter": "full outer",
    "LeftAnti": "left anti",
    "LeftAnti null-safe": "except",
    "LeftOuter": "left outer",
    "LeftSemi": "left semi",
    "LeftSemi null-safe": "intersect",
    "LeftSingle": "scalar subquery",
    "RightOuter": "right outer",
}
# The words between the names of the tables, if all joins are of one type and only filter the left table.
_FILTERING_JOINS = {
    "left anti": " anti join ",
    "left semi": " semi join ",
    "except": " except ",
    "intersect": " intersect ",
}
_DISTINCT = "distinct "
# Names of columns that Spark adds, and their replacement: the number of the grouping set, and the value of an
# expression in GROUP BY.
_ADDED_COLUMNS = {"spark_grouping_id": "", "_groupingexpression": "expression"}


class PartText:
    """Words for the operators of one part of a physical plan."""

    def __init__(self, plan: QueryPlan, part: Part) -> None:
        self._plan = plan
        self._part = part
        self._kinds = {plan.kinds[node] for node in part.nodes}
        self._words = {plan.names[node].split(" ", 1)[0] for node in part.nodes}
        self._everything = tuple(plan.below(self._tops()))
        self.sources = self.tables()

    def _tops(self) -> list[int]:
        own = set(self._part.nodes)
        return [node for node in self._part.nodes if self._plan.parents[node] not in own]

    # ---- sources and sink

    def tables(self, full: bool = False) -> list[str]:
        """Return the tables that the part and the parts below it read, without duplicates.

        The names are short; with ``full`` they contain the database or folder.
        """
        return sources(self._plan, self._everything, full)

    def sink(self) -> str:
        """Return the table or path that the part writes; an empty string if it writes nothing."""
        for node in self._part.nodes:
            if self._plan.kinds[node] == "write":
                return self._target(node) or format_of(self._plan.detail(node))
        return ""

    def _target(self, node: int) -> str:
        detail = self._plan.detail(node)
        return target_of(detail) or ("" if detail else sink_of_name(self._plan.names[node]))

    def _connector(self) -> str:
        kinds = {self._plan.kinds[node] for node in self._everything}
        if "join" in kinds:
            types = {self._join_type(node) for node in self._everything if self._plan.kinds[node] == "join"}
            return _FILTERING_JOINS.get(types.pop(), " ⋈ ") if len(types) == 1 else " ⋈ "
        return " \N{UNION} " if any(self._plan.names[node] == "Union" for node in self._everything) else ", "

    def _join_type(self, node: int) -> str:
        """Return the type of a join in words; an empty string for an inner join."""
        kind, _, keys = self._plan.detail(node).partition(" ")
        null_safe = f"{kind} null-safe"
        return _JOIN_TYPES.get(null_safe if keys.startswith("null-safe") and null_safe in _JOIN_TYPES else kind, "")

    def sources_text(self, most_tables: int) -> str:
        """Return the tables with the symbol of their join in between; beyond ``most_tables``, only their number."""
        tables = self.sources
        if len(tables) == 1 and "join" in self._kinds and self._scans() > 1:
            tables = tables * 2
        text = self._connector().join(table[:_MOST_TABLE_CHARS] for table in tables[:most_tables])
        more = len(tables) - most_tables
        return f"{text} + {more} more" if more > 0 else text

    def _scans(self) -> int:
        return sum(self._plan.kinds[node] in ("scan", "cache") for node in self._everything)

    # ---- what the part does

    def work(self, tables: str) -> str:
        """Return a few words on what the part does with ``tables``."""
        output = None if self._part.output is None else self._plan.kinds[self._part.output]
        if "write" in self._kinds and self.sink():
            return f"{tables} → {last_part(self.sink())}" if tables else f"write {last_part(self.sink())}"
        if output in ("broadcast", "cache"):
            return f"{output} {tables}"
        if "join" in self._kinds:
            return tables or "join"
        verb = self._verb(output)
        return f"{verb} {tables}".strip()

    def _verb(self, output: str | None) -> str:
        below = {self._plan.kinds[node] for node in self._part.inputs}
        finishes = bool(below & {"exchange", "cache"}) or output != "exchange"
        verbs = (
            ("python" in self._kinds, "Python on"),
            (bool(self._words & {"Window", "WindowGroupLimit"}), "window"),
            ("aggregate" in self._kinds and finishes, "distinct" if self._is_distinct() else "aggregate"),
            ("TakeOrderedAndProject" in self._words, "top rows of"),
            ("Sort" in self._words, "sort"),
            ("Generate" in self._words, "generate from"),
            (bool(self._words & {"CollectLimit", "GlobalLimit"}), "limit"),
            ("Union" in self._words and len(self.sources) > 1, ""),
            ("exchange" in below, "shuffled"),
            (bool(self.sources) or "scan" in self._kinds, "scan"),
        )
        verb = next((verb for is_so, verb in verbs if is_so), None)
        if verb is None:
            return self._other_step()
        return verb if self.sources else verb.removesuffix(" on").removesuffix(" of").removesuffix(" from")

    def _is_distinct(self) -> bool:
        """Whether all aggregates of the part only remove duplicate rows."""
        aggregates = [node for node in self._part.nodes if self._plan.kinds[node] == "aggregate"]
        return all(self._plan.detail(node).startswith(_DISTINCT) for node in aggregates)

    def _other_step(self) -> str:
        steps = [step for node in self._part.nodes if (step := self._step(node))]
        return steps[0] if steps else ""

    def query_work(self) -> str:
        """Return the words of a command, or words such as ``write parquet to out/orders``; else an empty string."""
        for node in self._part.nodes:
            kind, name = self._plan.kinds[node], self._plan.names[node]
            if kind == "write" and self.sink():
                form = format_of(self._plan.detail(node)) if self._target(node) else ""
                return " ".join(filter(None, ("write", form, "to", self.sink())))
            if name.startswith("Execute "):
                return words_of(
                    name.removeprefix("Execute ")
                    .removesuffix("Command")
                    .replace("DataSourceTable", "Table")
                    .replace("V1", "")
                )
            if kind == "write":
                return "" if self.sources else "write"
            if kind != "silent":
                return words_of(name) if kind == "other" and not self._plan.children[node] else ""
        return ""

    # ---- the title

    def title(self) -> str:
        """Return the steps of the part in the order in which data flows, followed by the destination of its result."""
        steps = list(dict.fromkeys(step for step in self._steps() if step))
        if len(steps) > _MOST_STEPS:
            steps = [*steps[: _MOST_STEPS - 1], f"{len(steps) - _MOST_STEPS + 1} more steps"]
        target = self._result()
        return " → ".join(filter(None, ("; ".join(steps), target)))

    def _steps(self) -> Iterator[str]:
        names = sources(self._plan, self._in_order(), False)
        if names:
            yield f"scan {', '.join(names[:6])}" + (f" + {len(names) - 6} more" if len(names) > 6 else "")
        for kind, words in (
            ("exchange", "shuffle read of"),
            ("broadcast", "broadcast of"),
            ("subquery", "subquery on"),
        ):
            yield self._read(kind, words)
        for node in self._in_order():
            yield self._step(node)

    def _read(self, kind: str, words: str) -> str:
        ends = [node for node in self._part.inputs if self._plan.kinds[node] == kind]
        names = sources(self._plan, self._plan.below(ends), False)
        if not ends:
            return ""
        more = f" + {len(names) - 4} more" if len(names) > 4 else ""
        return f"{words} {', '.join(names[:4])}{more}" if names else words.rsplit(" ", 1)[0]

    def _in_order(self) -> list[int]:
        """Return the part's nodes, children before their parents, and left children before right children."""
        own = set(self._part.nodes)
        found: list[int] = []
        waiting = self._tops()
        while waiting:
            node = waiting.pop()
            found.append(node)
            waiting += [child for child in self._plan.children[node] if child in own]
        return found[::-1]

    def _step(self, node: int) -> str:
        kind, name = self._plan.kinds[node], self._plan.names[node]
        detail = self._plan.detail(node)
        word = name.split("(", 1)[0].split(" ", 1)[0]
        if kind == "aggregate":
            partial = "partial " if self._is_partial(node) else ""
            if detail.startswith(_DISTINCT):
                return f"{partial}distinct {_user_keys(detail.removeprefix(_DISTINCT))}".rstrip()
            keys = _user_keys(detail.removeprefix("group by "))
            return f"{partial}aggregate by {keys}" if keys else f"{partial}aggregate"
        if kind == "python":
            return f"{_PYTHON.get(word) or words_of(word)} {detail}".strip()
        if kind in ("silent", "scan", "cache", "write", "exchange", "broadcast", "subquery") or word == "Execute":
            return ""
        words = _STEPS.get(word) or words_of(word)
        join_type = self._join_type(node) if kind == "join" else ""
        return f"{words} ({join_type})" if join_type else words

    def _is_partial(self, node: int) -> bool:
        """Whether ``node`` is a partial aggregate: an aggregate above the part's exchange completes it."""
        part, plan = self._part, self._plan
        above = next((each for each in part.nodes if plan.kinds[each] == "aggregate"), node)
        if part.output is None or plan.kinds[part.output] != "exchange" or above != node:
            return False
        parent = plan.parents[part.output]
        while parent >= 0 and plan.kinds[parent] in ("silent", "exchange"):
            parent = plan.parents[parent]
        return parent >= 0 and plan.kinds[parent] == "aggregate"

    def _result(self) -> str:
        if "write" in self._kinds:
            return self.query_work() or "write"
        if self._part.output is None:
            return ""
        kind = self._plan.kinds[self._part.output]
        if kind != "exchange":
            return kind
        partitioning, _, columns = self._plan.detail(self._part.output).partition(" ")
        if keys := _user_keys(columns):
            return f"exchange by {keys}"
        return {"SinglePartition": "exchange to one partition", "RoundRobinPartitioning": "exchange round robin"}.get(
            partitioning, "exchange"
        )


def _user_keys(columns: str) -> str:
    """Return the columns without those that Spark added."""
    keys = (_ADDED_COLUMNS.get(column, column) for column in columns.split(", "))
    return ", ".join(dict.fromkeys(filter(None, keys)))
