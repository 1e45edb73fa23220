"""Compute the fingerprint of a stage: a hash that is the same in all runs, although stage ids differ."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from sparkfuse_rules.knowledge.naming import without_varying_parts

# Nodes that adaptive execution and code generation add to a plan, depending on the sizes at run time.
_WRAPPERS = frozenset({
    "AQEShuffleRead",
    "AdaptiveSparkPlan",
    "BroadcastQueryStage",
    "CustomShuffleReader",
    "InputAdapter",
    "ResultQueryStage",
    "ShuffleQueryStage",
    "TableCacheQueryStage",
    "WholeStageCodegen",
})  # fmt: skip
# The scope of a stage that reads a shuffle is the exchange, or the reader that adaptive execution adds. Adaptive
# execution adds a reader, depending on the sizes at run time, to coalesce partitions or to read them locally.
_READERS = frozenset({"AQEShuffleRead", "CustomShuffleReader"})
_CALL_SITE = re.compile(r"(?P<action>.+?) at (?P<place>.+)", re.DOTALL)
_LINE = re.compile(r":\d+\s*$")
_LAMBDA = re.compile(r"\$\d+|\$\$Lambda.*$|0x[0-9a-fA-F]+|@[0-9a-f]{4,}")
_EXPRESSION_ID = re.compile(r"#\d+L?|\[?plan_id=\d+\]?|\[id=#?\d+\]")
_TEXT_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_NUMBER_LITERAL = re.compile(r"(?<![A-Za-z0-9_])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?[LDFSB]?(?![A-Za-z0-9_])")
_LONG_NUMBER = re.compile(r"\d{4,}")
_FIRST_WORD = re.compile(r"[\s(]")
_CODEGEN_ID = re.compile(r"\s*\(\d+\)\s*$")
# The operators of a query are in the fingerprint of each of its stages, and are the same in each run of a job.
CACHED_OPERATORS, CACHED_CHARS = 8_192, 1_000


def stage_fingerprint(
    name: str | None,
    scope_names: Iterable[str],
    plan_nodes: Iterable[str],
    parents: Iterable[str],
    depth: int | None = None,
) -> str:
    """Return the fingerprint of a stage: 16 hex digits of a hash of what the stage does, the same in all runs.

    Arguments: ``name`` is Spark's name of the stage (``count at job.py:12``). ``scope_names`` are the names of its RDD
    scopes in any order. ``plan_nodes`` are the nodes of the physical plan of its SQL execution, in order. ``parents``
    are the fingerprints of its parent stages. ``depth`` is the length of the longest chain of parent stages.
    Excluded from the hash: stage and RDD ids, line numbers, folders, dates, literals, expression ids, partition counts,
    the order of scopes and parents, and the wrappers of adaptive execution. Line numbers are excluded, so that an edit
    above a line keeps the history of the stage.
    Included in the hash: the action and its file, the scopes, the operators of the plan in order with their joins and
    filters, and the depth. Adaptive execution runs each stage of a query as a separate job. The parents of such a stage
    are skipped copies that never start. So if the depth were not in the hash, all joins of a query would have the same
    fingerprint. The depth does not change if a sort-merge join becomes a broadcast join with fewer parents.
    """
    parts = (
        ("site", (normal_call_site(name or ""),)),
        # Spark iterates over the RDDs of a stage in a hash set (StageInfo.fromStage, RDD.getNarrowAncestors), so their
        # order differs from run to run.
        ("scopes", tuple(sorted(set(normal_operators(_scope(name) for name in scope_names))))),
        ("plan", normal_operators(plan_nodes)),
        ("parents", tuple(sorted(parent for parent in parents if parent))),
        ("depth", () if depth is None else (str(depth),)),
    )
    # The length of each string precedes the string, so that different lists never give the same bytes.
    text = "\n".join(f"{kind} {len(texts)}\n" + "\n".join(f"{len(t)}:{t}" for t in texts) for kind, texts in parts)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def normal_call_site(name: str) -> str:
    """Reduce a short call site to action and file: ``count at /jobs/2024-05-01/a.py:7`` gives ``count at a.py``."""
    found = _CALL_SITE.fullmatch(name.strip())
    if not found:
        return without_varying_parts(_LAMBDA.sub("$", name))
    place = _LINE.sub("", found["place"]).replace("\\", "/").rsplit("/", 1)[-1]
    return f"{_LAMBDA.sub('$', found['action']).strip()} at {without_varying_parts(place)}"


def normal_operators(names: Iterable[str]) -> tuple[str, ...]:
    """Reduce names of scopes or plan nodes to the part that is the same in all runs; keep the order, drop wrappers."""
    normal = (_normal_operator(name) for name in names)
    return tuple(name for name in normal if name and _FIRST_WORD.split(name, 1)[0] not in _WRAPPERS)


def without_codegen_id(name: str) -> str:
    """Remove the number that code generation gives to a scope: ``WholeStageCodegen (3)`` is ``WholeStageCodegen``."""
    return _CODEGEN_ID.sub("", name)


def _scope(name: str) -> str:
    return "Exchange" if _FIRST_WORD.split(name.strip(), 1)[0] in _READERS else name


def _normal_operator(name: str) -> str:
    return _cached_operator(name) if len(name) <= CACHED_CHARS else _reduced_operator(name)


def _reduced_operator(name: str) -> str:
    text = _CODEGEN_ID.sub("", name.strip())
    for pattern, put in ((_EXPRESSION_ID, ""), (_TEXT_LITERAL, "?"), (_LAMBDA, "$")):
        text = pattern.sub(put, text)
    words: Sequence[str] = [_normal_word(word) for word in text.split()]
    return " ".join(word for word in words if word)


_cached_operator = lru_cache(maxsize=CACHED_OPERATORS)(_reduced_operator)


def _normal_word(word: str) -> str:
    if "/" in word:
        return "/".join(filter(None, (without_varying_parts(part) for part in word.split("/"))))
    text = _NUMBER_LITERAL.sub("?", word)
    return without_varying_parts(text) if _LONG_NUMBER.search(text) else text
