"""Two runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.compare.attribution import stage_parts
from sparkfuse_native_analytics.compare.configuration_changes import Changed, changed
from sparkfuse_native_analytics.compare.critical_path import OUTSIDE, Shares, shares
from sparkfuse_native_analytics.compare.difference_causes import cause_of, ranked
from sparkfuse_native_analytics.compare.run import Run, Stage
from sparkfuse_native_analytics.compare.stage_time_model import measure_of

SAME_VOLUME = 1.05
"""Bytes of the same rows differ by a few percent with their order and packing."""


@dataclass(frozen=True)
class Part:
    """A part of a difference in ms, and the cause that it counts to."""

    part: str
    cause: str
    difference_ms: int


@dataclass(frozen=True)
class StagePair:
    """A stage in both runs or in one of them; ``before_ms`` and ``after_ms`` are its shares of the critical path."""

    before: Stage | None
    after: Stage | None
    before_ms: int
    after_ms: int
    parts: tuple[Part, ...]

    @property
    def difference_ms(self) -> int:
        """What the stage adds to the run's difference: the sum of its parts."""
        return self.after_ms - self.before_ms

    @property
    def stage(self) -> Stage:
        """The one of the second run, else the one of the first."""
        stage = self.after or self.before
        assert stage is not None
        return stage


@dataclass(frozen=True)
class Outside:
    """Time outside stages of one kind, in both runs, with its cause."""

    kind: str
    cause: str
    before_ms: int
    after_ms: int

    @property
    def difference_ms(self) -> int:
        """What it adds to the run's difference."""
        return self.after_ms - self.before_ms


@dataclass(frozen=True)
class PlanNode:
    """A node of physical plans whose number differs between the stages that only one run has."""

    name: str
    before: int
    after: int


@dataclass(frozen=True)
class Comparison:
    """What changed from the first run to the second.

    ``stages`` stand by the size of their difference; ``causes`` are (cause, ms), first those that push into the
    direction of the difference. The stages' and outside's differences add up to ``difference_ms``, and so do causes.
    """

    before: Run
    after: Run
    stages: tuple[StagePair, ...]
    outside: tuple[Outside, ...]
    causes: tuple[tuple[str, int], ...]
    configuration: tuple[Changed, ...]
    plan: tuple[PlanNode, ...]

    @property
    def difference_ms(self) -> int:
        """The second run's wall time less the first's."""
        return self.after.wall_ms - self.before.wall_ms


def compare(before: Run, after: Run) -> Comparison:
    """Say what changed and why; the parts add up to the difference of the wall times, to the millisecond.

    Stages are matched by fingerprint and by their order among those of one fingerprint. Wall time = the stages' shares
    of the critical path (`critical_path`) + time outside stages; a stage's difference is shared out by `parts`; what
    only one run has is plan.
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
    """Whether the data grew or shrank by more than what the same data differs by from run to run."""
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
    """Nodes of the plans behind the stages that only one run has, where their numbers differ."""
    one = _nodes(before, [pair.before for pair in pairs if pair.before and not pair.after])
    other = _nodes(after, [pair.after for pair in pairs if pair.after and not pair.before])
    names = sorted({name for name in (*one, *other) if one[name] != other[name]})
    return tuple(PlanNode(name, one[name], other[name]) for name in names)


def _nodes(run: Run, stages: Sequence[Stage]) -> Counter[str]:
    executions = dict.fromkeys(stage.sql_execution_id for stage in stages)
    plans: Mapping[int, Sequence[str]] = run.plans
    return Counter(name for each in executions if each is not None for name in plans.get(each, ()))
