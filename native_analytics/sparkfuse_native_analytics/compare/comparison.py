"""Compares two runs of a job: matches their stages and queries, and collects the parts and causes of the difference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.compare.attribution import stage_parts
from sparkfuse_native_analytics.compare.configuration_changes import Changed, changed
from sparkfuse_native_analytics.compare.critical_path import OUTSIDE, Shares, shares
from sparkfuse_native_analytics.compare.difference_causes import cause_of, ranked
from sparkfuse_native_analytics.compare.run import Query, Run, Stage
from sparkfuse_native_analytics.compare.stage_time_model import measure_of

_QUERY_NUMBER = re.compile(r"q\d+: ")
SAME_VOLUME = 1.05
"""Two volumes count as equal up to this ratio, because the same rows may be sorted or compressed differently."""


@dataclass(frozen=True)
class Part:
    """One part of the difference between two runs, in ms, and its cause."""

    part: str
    cause: str
    difference_ms: int


@dataclass(frozen=True)
class StagePair:
    """A stage of both runs or of one run; ``before_ms`` and ``after_ms`` are its shares of the critical paths in ms."""

    before: Stage | None
    after: Stage | None
    before_ms: int
    after_ms: int
    parts: tuple[Part, ...]

    @property
    def difference_ms(self) -> int:
        """How much the stage adds to the difference between the runs: the sum of the stage's parts."""
        return self.after_ms - self.before_ms

    @property
    def stage(self) -> Stage:
        """The stage of the second run, or that of the first run if the second run does not have the stage."""
        stage = self.after or self.before
        assert stage is not None
        return stage


@dataclass(frozen=True)
class QueryPair:
    """A query of both runs or of one run; the times are its stages' shares of the critical paths in ms."""

    before: Query | None
    after: Query | None
    before_ms: int
    after_ms: int
    before_stages: int
    after_stages: int

    @property
    def difference_ms(self) -> int:
        """How much the stages of the query add to the difference between the runs."""
        return self.after_ms - self.before_ms


@dataclass(frozen=True)
class Outside:
    """One kind of time outside stages, in both runs, with the cause of the difference."""

    kind: str
    cause: str
    before_ms: int
    after_ms: int

    @property
    def difference_ms(self) -> int:
        """How much this kind of time adds to the difference between the runs."""
        return self.after_ms - self.before_ms


@dataclass(frozen=True)
class PlanNode:
    """A kind of plan node whose count differs between the runs, in the plans of stages that only one run has."""

    name: str
    before: int
    after: int


@dataclass(frozen=True)
class Comparison:
    """What changed from the first run to the second.

    ``stages`` and ``queries`` are sorted by the size of their difference. ``causes`` are pairs (cause, ms); causes with
    the same sign as the total difference come first. The differences of ``stages`` and ``outside`` add up to
    ``difference_ms``; the times of ``causes`` add up to the same sum.
    """

    before: Run
    after: Run
    stages: tuple[StagePair, ...]
    outside: tuple[Outside, ...]
    causes: tuple[tuple[str, int], ...]
    configuration: tuple[Changed, ...]
    plan: tuple[PlanNode, ...]
    queries: tuple[QueryPair, ...] = ()

    @property
    def difference_ms(self) -> int:
        """The duration of the second run minus that of the first."""
        return self.after.wall_ms - self.before.wall_ms


def compare(before: Run, after: Run) -> Comparison:
    """Return what changed and why; the parts add up exactly to the difference between the durations.

    Stages are matched by fingerprint and occurrence. The duration of a run is the sum of its stages' shares of the
    critical path (`critical_path`) and the time outside stages. `attribution` splits a stage's difference into parts;
    if only one run has a stage, the stage's whole share counts as a plan change. Queries are matched by their matched
    stages, the remaining queries by name.
    """
    changes = changed(before.configuration, after.configuration)
    bears_on = {each.bears_on for each in changes}
    on_path, on_other_path = shares(before), shares(after)
    pairs = sorted(
        _pairs(before, on_path, after, on_other_path, bears_on),
        key=lambda each: (-abs(each.difference_ms), each.stage.key),
    )
    outside = tuple(
        Outside(kind, cause_of(kind, bears_on), on_path.outside[kind], on_other_path.outside[kind]) for kind in OUTSIDE
    )
    return Comparison(
        before=before,
        after=after,
        stages=tuple(pairs),
        outside=outside,
        causes=tuple(_causes(pairs, outside)),
        configuration=changes,
        plan=_plan(before, after, pairs),
        queries=tuple(query_pairs(before, after, pairs)),
    )


def _pairs(
    before: Run, on_path: Shares, after: Run, on_other_path: Shares, bears_on: Collection[str]
) -> Iterator[StagePair]:
    for key in dict.fromkeys([*before.by_key, *after.by_key]):
        one, other = before.by_key.get(key), after.by_key.get(key)
        one_ms = on_path.stages[one.stage_id] if one else 0
        other_ms = on_other_path.stages[other.stage_id] if other else 0
        if one and other:
            found = stage_parts((before, one, one_ms), (after, other, other_ms))
        else:
            found = {"added" if other else "removed": other_ms - one_ms} if other_ms != one_ms else {}
        volume_moved = bool(one and other and _volume_moved(one, other))
        parts = tuple(
            Part(part, cause_of(part, bears_on, volume_moved=volume_moved), value) for part, value in ranked(found)
        )
        yield StagePair(one, other, one_ms, other_ms, parts)


def _volume_moved(one: Stage, other: Stage) -> bool:
    """Whether the volumes of the two stages differ by more than the volumes of equal data usually do."""
    measure = measure_of(one.main, other.main)
    if measure is None:
        return False
    ratio = getattr(other.main, measure) / getattr(one.main, measure)
    return not 1 / SAME_VOLUME <= ratio <= SAME_VOLUME


def _causes(pairs: Sequence[StagePair], outside: Sequence[Outside]) -> list[tuple[str, int]]:
    sums: Counter[str] = Counter()
    for pair in pairs:
        for part in pair.parts:
            sums[part.cause] += part.difference_ms
    for each in outside:
        sums[each.cause] += each.difference_ms
    return ranked({cause: value for cause, value in sums.items() if value})


def _plan(before: Run, after: Run, pairs: Sequence[StagePair]) -> tuple[PlanNode, ...]:
    """Return the plan nodes whose count differs between the runs, in the plans of stages that only one run has."""
    one = _nodes(before, [pair.before for pair in pairs if pair.before and not pair.after])
    other = _nodes(after, [pair.after for pair in pairs if pair.after and not pair.before])
    names = sorted({name for name in (*one, *other) if one[name] != other[name]})
    return tuple(PlanNode(name, one[name], other[name]) for name in names)


def _nodes(run: Run, stages: Sequence[Stage]) -> Counter[str]:
    executions = dict.fromkeys(stage.sql_execution_id for stage in stages)
    plans: Mapping[int, Sequence[str]] = run.plans
    return Counter(name for each in executions if each is not None for name in plans.get(each, ()))


def query_pairs(before: Run, after: Run, pairs: Sequence[StagePair]) -> list[QueryPair]:
    """Match the queries of two runs; return the pair with the largest difference first.

    Two queries match if they share the most matched stages. The remaining queries match by name, in the order of their
    ids.
    """
    matched = _matched_queries(before, after, pairs)
    partners = set(matched.values())
    both: list[tuple[int | None, int | None]] = list(matched.items())
    both += [(query_id, None) for query_id in before.queries if query_id not in matched]
    both += [(None, query_id) for query_id in after.queries if query_id not in partners]
    found = [_query_pair(before, after, pairs, *each) for each in both]
    return sorted(found, key=lambda each: (-abs(each.difference_ms), _query_id(each)))


def _matched_queries(before: Run, after: Run, pairs: Sequence[StagePair]) -> dict[int, int]:
    votes: Counter[tuple[int, int]] = Counter(
        (pair.before.sql_execution_id, pair.after.sql_execution_id)
        for pair in pairs
        if pair.before and pair.after
        and pair.before.sql_execution_id is not None and pair.after.sql_execution_id is not None
    )  # fmt: skip
    matched: dict[int, int] = {}
    for (one, other), _ in sorted(votes.items(), key=lambda each: (-each[1], each[0])):
        if one not in matched and other not in matched.values():
            matched[one] = other
    left: dict[str, list[int]] = {}
    for query_id in sorted(set(after.queries) - set(matched.values())):
        left.setdefault(plain_name(after.queries[query_id].name), []).append(query_id)
    for query_id in sorted(set(before.queries) - set(matched)):
        if same := left.get(plain_name(before.queries[query_id].name)):
            matched[query_id] = same.pop(0)
    return matched


def _query_pair(before: Run, after: Run, pairs: Sequence[StagePair], one: int | None, other: int | None) -> QueryPair:
    in_one = [each for each in pairs if one is not None and each.before and each.before.sql_execution_id == one]
    in_other = [each for each in pairs if other is not None and each.after and each.after.sql_execution_id == other]
    return QueryPair(
        None if one is None else before.queries.get(one),
        None if other is None else after.queries.get(other),
        sum(each.before_ms for each in in_one),
        sum(each.after_ms for each in in_other),
        len(in_one),
        len(in_other),
    )


def _query_id(pair: QueryPair) -> int:
    query = pair.after or pair.before
    return query.query_id if query else -1


def plain_name(name: str) -> str:
    """Return a display name without the query's number, because the number differs from run to run."""
    return _QUERY_NUMBER.sub("", name, count=1)
