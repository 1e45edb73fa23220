"""Whether everything that had to come came, and nothing else."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from sparkfuse.demo.scenario import Case


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one case ended.

    Attributes:
        case: what was run.
        exit_code: of its Spark job; None when it was ended after its page.
        paged: rules that paged about its job while it ran or right after.
        acted: whether the fuse acted on it.
    """

    case: Case
    exit_code: int | None
    paged: frozenset[str]
    acted: bool


def complaints(outcomes: Iterable[Outcome], strangers: Sequence[str]) -> list[str]:
    """Sentences about what is missing or should not be there; empty when all is well.

    Args:
        outcomes: one for each case that was run.
        strangers: pages about jobs that the demonstration did not run.
    """
    found = [sentence for outcome in outcomes for sentence in _about(outcome)]
    return [*found, *(f"an unexpected page came: {stranger}" for stranger in strangers)]


def _about(outcome: Outcome) -> list[str]:
    case = outcome.case
    found = []
    if case.expects and case.expects not in outcome.paged:
        found.append(f"{case.title}: no page of {case.expects}")
    if outcome.exit_code not in (0, None):
        found.append(f"{case.title}: its Spark job ended with {outcome.exit_code}")
    if case.fuse and not outcome.acted:
        found.append(f"{case.title}: the fuse did not act")
    surplus = sorted(outcome.paged - case.allows - {case.expects})
    return [*found, *(f"{case.title}: an unexpected page of {rule} came" for rule in surplus)]
