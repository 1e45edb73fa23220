"""Divide the physical plan of a query into the parts that run as stages, and find the part of a given stage.

A stage runs the operators between two boundaries; boundaries are exchanges, broadcasts, subqueries and cached data.
Spark gives a stage the scope names of its operators. The number in `WholeStageCodegen (3)` identifies one fused group
of operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

MOST_NODES = 20_000
MOST_NAME_CHARS = 200
# The largest number of operators of cached data that are compared with those of a stage. The limit exists because
# cached plans may contain each other.
MOST_CACHED_NODES = 64
_CODEGEN = re.compile(r"WholeStageCodegen(?: \([0-9]+\))?")
# Nodes that only contain other nodes, or whose work the display name does not mention.
_SILENT = frozenset({
    "AdaptiveSparkPlan", "BroadcastQueryStage", "CollectMetrics", "ColumnarToRow", "CommandResult", "Coalesce",
    "CustomShuffleReader", "AQEShuffleRead", "DeserializeToObject", "EventTimeWatermark", "Filter", "InputAdapter",
    "MapPartitions", "Project", "ResultQueryStage", "ReusedExchange", "ReusedSubquery", "RowToColumnar",
    "SerializeFromObject", "ShuffleQueryStage", "TableCacheQueryStage", "WholeStageCodegen", "WriteFiles",
})  # fmt: skip
_READERS = frozenset({"AQEShuffleRead", "CustomShuffleReader"})
_WRITES = re.compile(
    r"Execute (?:InsertInto|Save(?:Into|As)|Create\w*AsSelect|Overwrite|Optimized\w*AsSelect)|AppendData|Overwrite"
    r"|WriteToDataSourceV2|WriteToContinuous|ReplaceData|WriteDelta|WriteRows"
    r"|(?:Atomic)?(?:Create|Replace)TableAsSelect"
)


@dataclass(frozen=True)
class Part:
    """The indexes of the nodes that run as one stage.

    ``output`` is the boundary above the nodes (None at the end of the query); ``inputs`` are the boundaries below them.
    """

    nodes: tuple[int, ...]
    output: int | None
    inputs: tuple[int, ...]


@dataclass(frozen=True)
class _Scopes:
    """The scope names of a part: names that the stage of this part must have, and optional names."""

    codegen: frozenset[str]
    others: frozenset[str]
    optional: frozenset[str]


@dataclass(frozen=True)
class QueryPlan:
    """One version of a physical plan, with the columns of the fact SqlPlan and of the kernel's table plan_nodes.

    ``node_parents`` has the index of each node's parent, -1 (or None) for the root; a parent comes before its
    children. ``node_details`` may be shorter than ``node_names`` or empty.
    """

    node_names: Sequence[str]
    node_parents: Sequence[int | None]
    node_details: Sequence[str] = field(default=())

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes, without surrounding blanks; long names are cut, and nodes beyond the limit dropped."""
        return tuple((name or "").strip()[:MOST_NAME_CHARS] for name in self.node_names[:MOST_NODES])

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """The index of each node's parent; -1 if the node has no parent or a parent that does not come before it."""
        given = (*self.node_parents[:MOST_NODES], *(-1,) * len(self.names))
        return tuple(
            parent if parent is not None and 0 <= parent < node else -1
            for node, parent in enumerate(given[: len(self.names)])
        )

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The node indexes of each node's children, in plan order."""
        found: list[list[int]] = [[] for _ in self.names]
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                found[parent].append(node)
        return tuple(tuple(each) for each in found)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """The kind of work of each node, as returned by ``kind_of``."""
        return tuple(kind_of(name) for name in self.names)

    def detail(self, node: int) -> str:
        """Return the detail that identifies the node, such as its table; an empty string if it has none."""
        return (self.node_details[node] or "") if node < len(self.node_details) else ""

    def below(self, nodes: Iterable[int], cached: bool = False) -> Iterator[int]:
        """Yield the nodes and all nodes below them in pre-order, without subqueries.

        The nodes that computed a cached table are included only if ``cached`` is true.
        """
        waiting = list(reversed(list(nodes)))
        while waiting:
            node = waiting.pop()
            yield node
            if cached or self.kinds[node] != "cache":
                waiting += [child for child in reversed(self.children[node]) if self.kinds[child] != "subquery"]

    @cached_property
    def roots(self) -> tuple[int, ...]:
        """The nodes without a parent."""
        return tuple(node for node, parent in enumerate(self.parents) if parent < 0)

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts that run as stages; parts nearer to the root come first."""
        nodes: list[list[int]] = [[]]
        outputs: list[int | None] = [None]
        inputs: list[list[int]] = [[]]
        belongs: list[int] = []
        opened: dict[int, int] = {}
        for node, parent in enumerate(self.parents):
            part = 0 if parent < 0 else opened.get(parent, belongs[parent])
            belongs.append(part)
            if self.kinds[node] in _BOUNDARIES:
                inputs[part].append(node)
                opened[node] = len(nodes)
                nodes.append([])
                outputs.append(node)
                inputs.append([])
            if self.kinds[node] not in ("exchange", "broadcast", "subquery"):
                nodes[part].append(node)
        return tuple(
            Part(tuple(each), output, tuple(ends))
            for each, output, ends in zip(nodes, outputs, inputs, strict=True)
            if each
        )

    @cached_property
    def _part_scopes(self) -> tuple[_Scopes, ...]:
        fused = self._fused()
        return tuple(self._scopes_of(part, fused) for part in self.parts)

    def _fused(self) -> list[bool]:
        """Return for each node whether generated code contains it; such a node has no scope of its own."""
        fused: list[bool] = []
        for node, parent in enumerate(self.parents):
            inside = parent >= 0 and (fused[parent] or _is_codegen(self.names[parent]))
            fused.append(inside and self.names[node] != "InputAdapter" and not _is_codegen(self.names[node]))
        return fused

    def _scopes_of(self, part: Part, fused: Sequence[bool]) -> _Scopes:
        own = [self.names[node] for node in part.nodes if not fused[node]]
        if part.output is not None and self.kinds[part.output] != "cache":
            own.append(self.names[part.output])
        cached = [node for node in part.inputs if self.kinds[node] == "cache"]
        computed = islice(self.below(cached, cached=True), MOST_CACHED_NODES)
        optional = {self.names[node] for node in (*part.inputs, *computed)}
        codegen = frozenset(name for name in own if _is_codegen(name))
        silent = (_SILENT - _READERS - {"WriteFiles"}) | {"Execute"}  # a command has no scope, its write node has one
        others = frozenset(name for name in own if name not in codegen and name.split(" ", 1)[0] not in silent)
        return _Scopes(codegen, others, frozenset(optional))

    def find(self, scopes: frozenset[str]) -> tuple[tuple[int, ...], Part] | None:
        """Return the part that fits the scope names of a stage best, and its counts of misfits (fewer is better)."""
        codegen = {name for name in scopes if _is_codegen(name)}
        best: tuple[tuple[int, ...], Part] | None = None
        for part, known in zip(self.parts, self._part_scopes, strict=True):
            common = len(scopes & (known.codegen | known.others))
            misfits = (
                len(codegen - known.codegen - known.optional),
                len(known.codegen - codegen),
                len(known.others - scopes),
                -common,
            )
            shares_codegen = not codegen or bool(codegen & known.codegen)
            # Before Spark 3.4, if a stage writes the rows that it reads from an exchange, its only scope is the
            # exchange.
            only_reads = bool(scopes) and scopes <= known.optional and not known.codegen | known.others
            if (common or only_reads) and shares_codegen and (best is None or misfits < best[0]):
                best = misfits, part
        return best


_BOUNDARIES = frozenset({"exchange", "broadcast", "subquery", "cache"})


def find_part(plans: Sequence[QueryPlan], scope_names: Iterable[str]) -> tuple[QueryPlan, Part] | None:
    """Return the plan and part that fit a stage best, from the newest plan version if several fit equally.

    The result is None if no part has any scope of the stage.
    """
    scopes = frozenset(name.strip()[:MOST_NAME_CHARS] for name in scope_names if name)
    best: tuple[tuple[int, ...], QueryPlan, Part] | None = None
    for plan in reversed(plans):
        found = plan.find(scopes)
        if found and (best is None or found[0] < best[0]):
            best = found[0], plan, found[1]
    return best[1:] if best else None


def kind_of(name: str) -> str:
    """Return the kind of work that a node with this name does.

    The kind is one of exchange, broadcast, subquery, cache, write, join, aggregate, python, scan, silent and other.
    """
    if name.split(" ", 1)[0] in _SILENT:
        return "silent"
    return next((kind for kind, pattern in _KINDS if pattern.match(name)), "other")


def _is_codegen(name: str) -> bool:
    return _CODEGEN.fullmatch(name) is not None


_KINDS = (
    ("subquery", re.compile(r"Subquery")),
    ("write", _WRITES),
    ("cache", re.compile(r"InMemoryTableScan|Scan In-memory table")),
    ("broadcast", re.compile(r"[^ ]*BroadcastExchange")),
    ("exchange", re.compile(r"[^ ]*Exchange")),
    ("join", re.compile(r"[^ ]*Join|CartesianProduct")),
    ("python", re.compile(r"[^ ]*(?:Python|InPandas|InArrow|InPySpark)")),
    ("aggregate", re.compile(r"[^ ]*Aggregate")),
    ("scan", re.compile(r"[^ ]*Scan|(?:Range|LocalRelation|LogicalRDD)(?![^ ])")),
)
