"""Names queries and stages by what they do: ``q7: lineitem ⋈ part``.

The detect job (live) and native_analytics (offline) call the same functions with the same facts, so names are equal.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from sparkfuse_rules.knowledge.query_plan import Part, QueryPlan, find_part
from sparkfuse_rules.knowledge.scrubbing import scrub_query

MOST_NAME_CHARS = 60
MOST_TITLE_CHARS = 300
MOST_LIST_CHARS = 400
_MOST_TABLE_CHARS = 30
_MOST_SCOPES = 64
_MOST_STEPS = 12
_MOST_CACHES = 4
# A call site of Spark in place of a description: "collect at orders.py:44", "run at Thread.java:829".
_CALL_SITE = re.compile(r"\S+ at \S.*:[0-9]+\s*", re.DOTALL)
# Words of Spark's own machinery, which never name a user's work.
_MACHINERY = re.compile(
    r"\$anonfun|\$\$|MethodAccessor|MethodHandleAccessor|CompletableFuture|ThreadPoolExecutor|FutureTask|ForkJoin"
    r"|ConstructorAccessor"
)
_STREAM = re.compile(r"\s*(?P<name>[^\n]*?)\s*\bid = [0-9a-f-]{36}\s+runId = [0-9a-f-]{36}\s+batch = (?P<batch>\w+)")
_CONNECT = "Spark Connect - "
_FORMATS = frozenset({
    "avro", "binaryfile", "console", "csv", "delta", "foreach", "hive", "hudi", "iceberg", "in-memory", "jdbc", "json",
    "kafka", "memory", "noop", "orc", "parquet", "rate", "text", "xml",
})  # fmt: skip
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CREATING = ("textFile", "wholeTextFiles", "binaryFiles", "hadoopFile", "hadoopRDD", "newAPIHadoopFile",
             "newAPIHadoopRDD", "sequenceFile", "objectFile", "parallelize", "makeRDD", "range")  # fmt: skip
_HIDDEN_SCOPES = ("WholeStageCodegen", "Exchange", "BroadcastExchange", "AQEShuffleRead", "mapPartitionsInternal",
                  "InMemoryTableScan", "TakeOrderedAndProject", "CollectLimit")  # fmt: skip
_NO_ACTIONS = frozenset({"apply", "call", "execute", "invoke", "run", "start"})
_SOURCES = {"Range": "range", "LocalTableScan": "local rows", "LocalRelation": "local rows", "LogicalRDD": "RDD",
            "Scan ExistingRDD": "RDD", "Scan OneRowRelation": "one row", "MicroBatchScan": "stream"}  # fmt: skip
_PYTHON = {"BatchEvalPython": "Python UDF", "ArrowEvalPython": "pandas UDF"}
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


@dataclass(frozen=True)
class StageName:
    """``name`` is short (at most 60 characters), ``title`` long (at most 300)."""

    name: str
    title: str


@dataclass(frozen=True)
class QueryName:
    """``name`` and ``title`` as in StageName; ``sources`` and ``sink`` are None where the query has none."""

    name: str
    title: str
    sources: str | None
    sink: str | None


def name_stage(
    stage_id: int,
    *,
    query_id: int | None = None,
    scope_names: Iterable[str] = (),
    plans: Sequence[QueryPlan] = (),
    call_site: str | None = None,
    spark_name: str | None = None,
) -> StageName:
    """Name a stage by its query and operators, or by the user's line if it belongs to no query.

    Arguments: ``query_id`` of its SQL execution; ``scope_names`` of its RDDs with codegen numbers; ``plans`` known of
    the execution, oldest version first; the user's ``call_site``; and Spark's name of the stage.
    """
    scopes = sorted({scope for scope in scope_names if scope})[: 4 * _MOST_SCOPES]
    if query_id is None:
        return _rdd_stage(stage_id, scopes, call_site, spark_name)
    found = find_part(plans, scopes) or _plan_of_scopes(scopes)
    text = _PartText(*found)
    name, title = _short("", text), text.title()
    if not name:
        whole = _whole(plans[-1]) if plans else text
        operators = _clean(_rdd_operators(scopes, spark_name), MOST_NAME_CHARS)
        name = _clean(whole.sources_text(4), MOST_NAME_CHARS) or operators or _site(call_site) or f"stage {stage_id}"
    return _stage_name(f"q{query_id}: {name}", f"query {query_id}: {title or name}")


def name_query(
    query_id: int,
    *,
    description: str | None = None,
    call_site: str | None = None,
    plans: Sequence[QueryPlan] = (),
) -> QueryName:
    """Name a query by the user's description, else by what it writes or reads, else by the user's line.

    Arguments: Spark's ``description`` (ignored if it is a call site), the user's ``call_site``, and the ``plans`` known
    of the execution, oldest version first.
    """
    text = _whole(plans[-1] if plans else QueryPlan((), ()))
    sink, sources = text.sink(), text.tables(full=True)
    label = _description(description)
    work = text.query_work()
    site = _site(call_site)
    prefix = f"q{query_id}: "
    if label:
        name = _clean(prefix + label, MOST_NAME_CHARS)
    else:
        name = _short(prefix, text, work) if work or text.sources else prefix + (site or "")
    steps = text.title() or work
    title = f"query {query_id}: " + "; ".join(part for part in (label, steps) if part) + (f" ({site})" if site else "")
    return QueryName(
        _unless_machinery(_clean(name, MOST_NAME_CHARS).rstrip(": "), f"q{query_id}"),
        _unless_machinery(_clean(title, MOST_TITLE_CHARS).rstrip(": "), f"query {query_id}"),
        _clean(", ".join(sources), MOST_LIST_CHARS) or None,
        _clean(sink, MOST_LIST_CHARS) or None,
    )


def _whole(plan: QueryPlan) -> _PartText:
    return _PartText(plan, Part(tuple(plan.below(plan.roots)), None, ()))


def _stage_name(name: str, title: str) -> StageName:
    name = _clean(name, MOST_NAME_CHARS)
    name = _unless_machinery(name, name.split(":", 1)[0])
    return StageName(name, _unless_machinery(_clean(title, MOST_TITLE_CHARS), name))


def _rdd_stage(stage_id: int, scopes: Sequence[str], call_site: str | None, spark_name: str | None) -> StageName:
    site, operators = _site(call_site), _clean(_rdd_operators(scopes, spark_name), MOST_TITLE_CHARS)
    name = _unless_machinery(_clean(site or operators, MOST_NAME_CHARS), f"stage {stage_id}")
    parts = [part for part in (site, operators) if part]
    return StageName(
        name,
        _unless_machinery(_clean(f"stage {stage_id}: {'; '.join(parts)}".rstrip(": "), MOST_TITLE_CHARS), name),
    )


def _rdd_operators(scopes: Iterable[str], spark_name: str | None) -> str:
    """Return ``textFile → reduceByKey``: how the stage's RDDs were created, and the action at its end."""
    names = [_rdd_operator(scope.strip()) for scope in scopes if not _MACHINERY.search(scope)]
    names = sorted({name for name in names if name}, key=lambda name: (_creation(name), name))
    action = (spark_name or "").split(" at ", 1)[0].strip()
    if action.isidentifier() and action not in _NO_ACTIONS and action not in names:
        names = [*names[:3], action]
    return " → ".join(names[:4])


def _rdd_operator(scope: str) -> str:
    """Return an RDD's scope as a word; an empty text for operators of SQL other than scans."""
    if scope.startswith(("Scan ", "BatchScan ")):
        return f"scan {_last(_target_of_name(scope)) or scope.rsplit(maxsplit=1)[-1].lower()}"
    return "" if scope.startswith(_HIDDEN_SCOPES) else scope


def _creation(name: str) -> bool:
    return name not in _CREATING and not name.startswith("scan ")


def _is_operator(scope: str) -> bool:
    return scope.startswith(("WholeStageCodegen", "Exchange", "BroadcastExchange", "Scan ", "BatchScan")) or (
        scope[:1].isupper() and " " not in scope and not scope.endswith("RDD")
    )


def _plan_of_scopes(scopes: Sequence[str]) -> tuple[QueryPlan, Part]:
    """Make a flat plan of a stage's operators, for a query whose plan is unknown."""
    names = [scope for scope in scopes if _is_operator(scope)]
    plan = QueryPlan(names, [-1] * len(names))
    kept = tuple(node for node, kind in enumerate(plan.kinds) if kind not in ("exchange", "broadcast"))
    outputs = [node for node, kind in enumerate(plan.kinds) if kind == "broadcast"]
    return plan, Part(kept, outputs[0] if outputs else None, ())


class _PartText:
    """Words for the operators of one part of a plan."""

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
        """Return what is read here and below, each once: short names, or with database or folder if ``full``."""
        return _sources(self._plan, self._everything, full)

    def sink(self) -> str:
        """Return the table or path that the part writes, or an empty text."""
        for node in self._part.nodes:
            if self._plan.kinds[node] == "write":
                return _target(self._plan.detail(node)) or _sink_of_name(self._plan.names[node])
        return ""

    def _connector(self) -> str:
        kinds = {self._plan.kinds[node] for node in self._everything}
        if "join" in kinds:
            return " ⋈ "
        return " \N{UNION} " if any(self._plan.names[node] == "Union" for node in self._everything) else ", "

    def sources_text(self, most_tables: int) -> str:
        """Return the tables joined by what combines them; beyond ``most_tables`` only their number."""
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
        """Return what the part does with its tables, in few words."""
        output = None if self._part.output is None else self._plan.kinds[self._part.output]
        if "write" in self._kinds and self.sink():
            return f"{tables} → {_last(self.sink())}" if tables else f"write {_last(self.sink())}"
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
            ("aggregate" in self._kinds and finishes, "aggregate"),
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

    def _other_step(self) -> str:
        steps = [step for node in self._part.nodes if (step := self._step(node))]
        return steps[0] if steps else ""

    def query_work(self) -> str:
        """Return a command's words, or ``write parquet to out/orders``, or an empty text."""
        for node in self._part.nodes:
            kind, name = self._plan.kinds[node], self._plan.names[node]
            if kind == "write" and self.sink():
                return " ".join(filter(None, ("write", _format(self._plan.detail(node)), "to", self.sink())))
            if name.startswith("Execute "):
                return _words(
                    name.removeprefix("Execute ")
                    .removesuffix("Command")
                    .replace("DataSourceTable", "Table")
                    .replace("V1", "")
                )
            if kind == "write":
                return "" if self.sources else "write"
            if kind != "silent":
                return _words(name) if kind == "other" and not self._plan.children[node] else ""
        return ""

    # ---- the title

    def title(self) -> str:
        """Return the steps of the part in the order in which data flows, and where its result goes."""
        steps = list(dict.fromkeys(step for step in self._steps() if step))
        if len(steps) > _MOST_STEPS:
            steps = [*steps[: _MOST_STEPS - 1], f"{len(steps) - _MOST_STEPS + 1} more steps"]
        target = self._result()
        return " → ".join(filter(None, ("; ".join(steps), target)))

    def _steps(self) -> Iterator[str]:
        names = _sources(self._plan, self._in_order(), False)
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
        names = _sources(self._plan, self._plan.below(ends), False)
        if not ends:
            return ""
        more = f" + {len(names) - 4} more" if len(names) > 4 else ""
        return f"{words} {', '.join(names[:4])}{more}" if names else words.rsplit(" ", 1)[0]

    def _in_order(self) -> list[int]:
        """Return the part's nodes with children before their parents, left before right."""
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
            keys = detail.removeprefix("group by ")
            words = "partial aggregate" if self._is_partial(node) else "aggregate"
            return f"{words} by {keys}" if keys else words
        if kind == "python":
            return f"{_PYTHON.get(word) or _words(word)} {detail}".strip()
        if kind in ("silent", "scan", "cache", "write", "exchange", "broadcast", "subquery") or word == "Execute":
            return ""
        return _STEPS.get(word) or _words(word)

    def _is_partial(self, node: int) -> bool:
        """Whether an aggregate above the part's exchange finishes what this one begins."""
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
        partitioning, _, keys = self._plan.detail(self._part.output).partition(" ")
        if keys:
            return f"exchange by {keys}"
        return {"SinglePartition": "exchange to one partition", "RoundRobinPartitioning": "exchange round robin"}.get(
            partitioning, "exchange"
        )


def _short(prefix: str, text: _PartText, work: str = "") -> str:
    """Return the name with as many tables as fit."""
    if work:
        return _clean(prefix + work, MOST_NAME_CHARS)
    for tables in range(min(len(text.sources), 8) or 1, 0, -1):
        name = prefix + text.work(text.sources_text(tables if len(text.sources) != 1 else 2))
        if len(name) <= MOST_NAME_CHARS:
            return name
    return name


def _sources(plan: QueryPlan, nodes: Iterable[int], full: bool, depth: int = 0) -> list[str]:
    """Return the tables and paths that the nodes read, each once; kinds of rows only if there is no table."""
    tables: dict[str, None] = {}
    rows: dict[str, None] = {}
    for node in nodes:
        kind = plan.kinds[node]
        if kind == "cache":
            tables |= dict.fromkeys(_cached(plan, node, full, depth))
        elif kind == "scan":
            target = _target(plan.detail(node)) or _target_of_name(plan.names[node])
            if target:
                tables[_file(target) if full else _last(target)] = None
            else:
                rows[_rows_of(plan, node)] = None
    return list(tables) or ([] if full else list(rows))


def _cached(plan: QueryPlan, node: int, full: bool, depth: int) -> list[str]:
    """Return the name of a cached table, else the tables that it was computed from."""
    named = _target(plan.detail(node)) or plan.names[node].partition("In-memory table ")[2]
    if named and not full:
        return [f"cached {_last(named)}"]
    tables = _sources(plan, plan.below(plan.children[node]), full, depth + 1) if depth < _MOST_CACHES else []
    return tables if full else [f"cached {table.removeprefix('cached ')}" for table in tables] or ["cached rows"]


def _rows_of(plan: QueryPlan, node: int) -> str:
    name = plan.names[node]
    word = name.split(" ", 1)[0]
    return _SOURCES.get(name) or _SOURCES.get(word) or _format(plan.detail(node)) or _words(word)


def _target_of_name(name: str) -> str:
    """Return the table of a scan whose detail is unknown: ``Scan parquet spark_catalog.default.orders``."""
    words = name.split()
    last = words[-1] if len(words) > (1 if words and words[0] == "BatchScan" else 2) else ""
    if "/" in last:
        return "/".join([part for part in last.split("/") if part][-2:])
    return ".".join(last.split(".")[-2:]) if re.fullmatch(r"[\w.`-]+", last) else ""


def _sink_of_name(name: str) -> str:
    words = name.split()
    return words[1] if len(words) > 1 and words[0] != "Execute" else ""


def _target(detail: str) -> str:
    """Return the table or path of a detail, without its format."""
    target, _, form = detail.rpartition(" ")
    if not target:
        return "" if form.lower() in _FORMATS else form
    return target if form.lower() in _FORMATS else detail


def _format(detail: str) -> str:
    form = detail.rpartition(" ")[2].lower()
    return form if form in _FORMATS and form != "in-memory" else ""


def _last(target: str) -> str:
    """Return the last part of a table's name or path; of several paths the first one's."""
    first, _, more = target.partition(", ")
    first = _file(first)
    last = first.rstrip("/").rpartition("/")[2] if "/" in first else first.rpartition(".")[2]
    return f"{last}…" if more and last else last


def _file(target: str) -> str:
    """Return a path without the name of a single file that Spark wrote."""
    folder, _, file = target.rpartition("/")
    return folder if folder and file.startswith("part-") else target


def _words(name: str) -> str:
    """Return ``CollectMetrics`` as ``collect metrics``."""
    return " ".join(_WORDS.findall(name)[:6]).lower()


def _description(text: str | None) -> str:
    """Return what the user calls a query; an empty text if Spark described it."""
    text = (text or "")[:4000]
    if not text.strip() or _CALL_SITE.fullmatch(text.strip()) or text.startswith(_CONNECT):
        return ""
    stream = _STREAM.match(text)
    if stream:
        return f"stream {stream['name']}".strip() if stream["name"] else ""
    return _clean(scrub_query(text), MOST_TITLE_CHARS)


def _site(call_site: str | None) -> str:
    site = _clean(call_site or "", MOST_TITLE_CHARS)
    return "" if _MACHINERY.search(site) else site


def _unless_machinery(text: str, otherwise: str) -> str:
    return otherwise if not text or _MACHINERY.search(text) else text


def _clean(text: str, most_chars: int) -> str:
    """Return the text on one line, scrubbed, without invisible characters, cut with an ellipsis."""
    visible = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text[: 4 * MOST_TITLE_CHARS])
    scrubbed = " ".join(scrub_query(visible).split())
    return scrubbed if len(scrubbed) <= most_chars else f"{scrubbed[: most_chars - 1].rstrip()}…"
