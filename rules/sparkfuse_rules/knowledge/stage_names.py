"""Name queries and stages by what they do: ``q7: lineitem ⋈ part``.

The detect job (live) and native_analytics (offline) call the same functions with the same facts, so both give a stage
the same name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sparkfuse_rules.knowledge.call_sites import user_description
from sparkfuse_rules.knowledge.part_text import PartText
from sparkfuse_rules.knowledge.plan_targets import last_part, target_of_name
from sparkfuse_rules.knowledge.query_plan import Part, QueryPlan, find_part
from sparkfuse_rules.knowledge.scrubbing import scrub_query

MOST_NAME_CHARS = 60
MOST_TITLE_CHARS = 300
MOST_LIST_CHARS = 400
_MOST_SCOPES = 64
# Removing secrets takes most of the time of naming a stage, and a job has the same texts in each of its runs.
CACHED_TEXTS = 4_096
# Words for Spark's internal work; they never describe the work of the user's code.
_MACHINERY = re.compile(
    r"\$anonfun|\$\$|MethodAccessor|MethodHandleAccessor|CompletableFuture|ThreadPoolExecutor|FutureTask|ForkJoin"
    r"|ConstructorAccessor"
)
_STREAM = re.compile(r"\s*(?P<name>[^\n]*?)\s*\bid = [0-9a-f-]{36}\s+runId = [0-9a-f-]{36}\s+batch = (?P<batch>\w+)")
_CREATING = ("textFile", "wholeTextFiles", "binaryFiles", "hadoopFile", "hadoopRDD", "newAPIHadoopFile",
             "newAPIHadoopRDD", "sequenceFile", "objectFile", "parallelize", "makeRDD", "range")  # fmt: skip
_HIDDEN_SCOPES = ("WholeStageCodegen", "Exchange", "BroadcastExchange", "AQEShuffleRead", "mapPartitionsInternal",
                  "InMemoryTableScan", "TakeOrderedAndProject", "CollectLimit", "DeserializeToObject")  # fmt: skip
# Methods of Spark that read files. If user code calls one of these methods, Spark runs stages outside a query to find
# the files' schema.
_READING = frozenset({"avro", "csv", "json", "load", "orc", "parquet", "table", "xml"})
_FORMATLESS = frozenset({"load", "table"})
# The scopes of a stage that reads the schema of files or lists files; such a stage has no other scopes.
_SCHEMA_SCOPES = frozenset({"parallelize", "mapPartitions", "Scan text", "DeserializeToObject"})
# Scopes of the JVM's part of Python RDDs; this part sends rows to Python workers and receives the results.
_OF_PYTHON_RDDS = frozenset({"map", "mapPartitions"})
_PYTHON_SITE = re.compile(r".* at .*\.py:[0-9]+")
_QUERY_PREFIX = re.compile(r"\Aq(\d{1,18}): ")
_NO_ACTIONS = frozenset({"apply", "call", "execute", "invoke", "run", "runJob", "start"})


@dataclass(frozen=True)
class StageName:
    """The display name of a stage: ``name`` has at most 60 characters, ``title`` at most 300."""

    name: str
    title: str


@dataclass(frozen=True)
class QueryName:
    """The display name of a query, with ``name`` and ``title`` as in StageName.

    ``sources`` and ``sink`` are None if the query has none.
    """

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
    """Name a stage by its query and operators, or by the user's line of code if the stage belongs to no query.

    Arguments: ``query_id`` is the stage's SQL execution. ``scope_names`` are the scopes of its RDDs, with codegen
    numbers. ``plans`` are the known plans of the execution, oldest version first. ``call_site`` is the user's line of
    code, ``spark_name`` is Spark's name of the stage.
    """
    scopes = sorted({scope for scope in scope_names if scope})[: 4 * _MOST_SCOPES]
    if query_id is None:
        return _rdd_stage(stage_id, scopes, call_site, spark_name)
    found = find_part(plans, scopes) or _plan_of_scopes(scopes)
    text = PartText(*found)
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
    """Name a query by the user's description, else by the tables it writes or reads, else by the user's line of code.

    Arguments: ``description`` is Spark's description, which is ignored if it is a call site. ``call_site`` is the
    user's line. ``plans`` are the known plans of the execution, oldest version first.
    """
    text = _whole(plans[-1] if plans else QueryPlan((), ()))
    sink, sources = text.sink(), text.tables(full=True)
    label, batch = _description(description)
    work = text.query_work()
    if batch and not label and not work:
        label = f"stream of {text.sources_text(4)}" if text.sources else "stream"
    site = _site(call_site)
    prefix = f"q{query_id}: "
    if label:
        name = _clean(prefix + label, MOST_NAME_CHARS)
    else:
        name = _short(prefix, text, work) if work or text.sources else prefix + (site or "")
    steps = text.title() or work
    words = "; ".join(part for part in (label, batch, steps) if part)
    title = f"query {query_id}: " + (f"{words} ({site})" if words and site else words or site)
    return QueryName(
        _unless_machinery(_clean(name, MOST_NAME_CHARS).rstrip(": "), f"q{query_id}"),
        _unless_machinery(_clean(title, MOST_TITLE_CHARS).rstrip(": "), f"query {query_id}"),
        _clean(", ".join(sources), MOST_LIST_CHARS) or None,
        _clean(sink, MOST_LIST_CHARS) or None,
    )


def query_id_of(name: str) -> int | None:
    """Return the number of the query in the name of a stage or query: 7 for ``q7: lineitem ⋈ part``."""
    found = _QUERY_PREFIX.match(name)
    return int(found[1]) if found else None


def without_query(name: str) -> str:
    """Return the name of a stage without the number of its query, because the number differs from run to run."""
    return _QUERY_PREFIX.sub("", name, count=1)


def _whole(plan: QueryPlan) -> PartText:
    return PartText(plan, Part(tuple(plan.below(plan.roots)), None, ()))


def _stage_name(name: str, title: str) -> StageName:
    name = _clean(name, MOST_NAME_CHARS)
    name = _unless_machinery(name, name.split(":", 1)[0])
    return StageName(name, _unless_machinery(_clean(title, MOST_TITLE_CHARS), name))


def _rdd_stage(stage_id: int, scopes: Sequence[str], call_site: str | None, spark_name: str | None) -> StageName:
    site, operators = _site(call_site), _clean(_rdd_operators(scopes, spark_name), MOST_TITLE_CHARS)
    inference = _schema_inference(scopes, spark_name, site)
    name = _unless_machinery(_clean(inference or site or operators, MOST_NAME_CHARS), f"stage {stage_id}")
    parts = [part for part in (site, inference or operators) if part]
    return StageName(
        name,
        _unless_machinery(_clean(f"stage {stage_id}: {'; '.join(parts)}".rstrip(": "), MOST_TITLE_CHARS), name),
    )


def _schema_inference(scopes: Iterable[str], spark_name: str | None, site: str) -> str:
    """Return ``infer schema of parquet files`` for a stage that reads files before their query is planned.

    A server of Spark Connect gives such a stage a name of its own. For such a stage, only the scopes show what it
    does.
    """
    action, names = _action(spark_name), {scope.strip() for scope in scopes}
    if action in _READING and not names & set(_CREATING) - {"parallelize"}:
        return f"infer schema of {'' if action in _FORMATLESS else f'{action} '}files"
    is_bare = not site and "mapPartitions" in names and len(names) > 1 and names <= _SCHEMA_SCOPES
    return "infer schema of files" if is_bare else ""


def _action(spark_name: str | None) -> str:
    return (spark_name or "").split(" at ", 1)[0].strip()


def _rdd_operators(scopes: Iterable[str], spark_name: str | None) -> str:
    """Return ``textFile → reduceByKey``: the operators that created the stage's RDDs, and the action at its end.

    In PySpark, the stage after ``reduceByKey`` has only the scope ``partitionBy``. The RDD of that scope reads the
    shuffle, so the scope is named ``shuffle read``.
    """
    names = {_rdd_operator(scope.strip()) for scope in scopes if not _MACHINERY.search(scope)} - {""}
    if "partitionBy" in names or _PYTHON_SITE.fullmatch(spark_name or ""):
        names -= _OF_PYTHON_RDDS
    steps = sorted(("shuffle read" if name == "partitionBy" else name for name in names), key=_order)
    action = _action(spark_name)
    if action.isidentifier() and action not in _NO_ACTIONS and action not in steps:
        steps = [*steps[:3], action]
    return " → ".join(steps[:4])


def _rdd_operator(scope: str) -> str:
    """Return an RDD's scope as a word; an empty string for SQL operators that are not scans."""
    if scope.startswith(("Scan ", "BatchScan ")):
        return f"scan {last_part(target_of_name(scope)) or scope.rsplit(maxsplit=1)[-1].lower()}"
    return "" if scope.startswith(_HIDDEN_SCOPES) else scope


def _order(name: str) -> tuple[bool, str]:
    """Return a sort key that puts operators that create or read rows first."""
    return name not in _CREATING and not name.startswith(("scan ", "shuffle read")), name


def _is_operator(scope: str) -> bool:
    return scope.startswith(("WholeStageCodegen", "Exchange", "BroadcastExchange", "Scan ", "BatchScan")) or (
        scope[:1].isupper() and " " not in scope and not scope.endswith("RDD")
    )


def _plan_of_scopes(scopes: Sequence[str]) -> tuple[QueryPlan, Part]:
    """Return a plan without hierarchy from a stage's operators, for a query whose plan is unknown."""
    names = [scope for scope in scopes if _is_operator(scope)]
    plan = QueryPlan(names, [-1] * len(names))
    kept = tuple(node for node, kind in enumerate(plan.kinds) if kind not in ("exchange", "broadcast"))
    outputs = [node for node, kind in enumerate(plan.kinds) if kind == "broadcast"]
    return plan, Part(kept, outputs[0] if outputs else None, ())


def _short(prefix: str, text: PartText, work: str = "") -> str:
    """Return the name of a stage with as many tables as fit into its limit."""
    if work:
        return _clean(prefix + work, MOST_NAME_CHARS)
    for tables in range(min(len(text.sources), 8) or 1, 0, -1):
        name = prefix + text.work(text.sources_text(tables if len(text.sources) != 1 else 2))
        if len(name) <= MOST_NAME_CHARS:
            return name
    return name


def _description(text: str | None) -> tuple[str, str]:
    """Return the user's description of a query, and words such as ``batch 3`` for a stream.

    Both strings are empty if Spark, and not the user, described the query.
    """
    text = user_description((text or "")[:4000])
    if not text:
        return "", ""
    stream = _STREAM.match(text)
    if stream:
        return f"stream {stream['name']}" if stream["name"] else "", f"batch {stream['batch']}"
    return _clean(scrub_query(text), MOST_TITLE_CHARS), ""


def _site(call_site: str | None) -> str:
    site = _clean(call_site or "", MOST_TITLE_CHARS)
    return "" if _MACHINERY.search(site) else site


def _unless_machinery(text: str, otherwise: str) -> str:
    return otherwise if not text or _MACHINERY.search(text) else text


def _clean(text: str, most_chars: int) -> str:
    """Return the text on one line, without secrets and invisible characters; if it is cut, an ellipsis ends it."""
    scrubbed = _scrubbed(text[: 4 * MOST_TITLE_CHARS])
    return scrubbed if len(scrubbed) <= most_chars else f"{scrubbed[: most_chars - 1].rstrip()}…"


@lru_cache(maxsize=CACHED_TEXTS)
def _scrubbed(text: str) -> str:
    visible = "".join(" " if unicodedata.category(char)[0] in "CZ" else char for char in text)
    return " ".join(scrub_query(visible).split())
