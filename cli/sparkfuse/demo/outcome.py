"""Compares the expected results of the demonstration with the actual results."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from sparkfuse.demo.scenario import Case


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The result of one case.

    Attributes:
        case: the case.
        exit_code: exit code of its Spark job; None if the demonstration stopped the job after a notification.
        paged: rules that notified about the job during the run or shortly after it.
        acted: whether the fuse acted on the job.
    """

    case: Case
    exit_code: int | None
    paged: frozenset[str]
    acted: bool


def failures(outcomes: Iterable[Outcome], unexpected_pages: Sequence[str]) -> list[str]:
    """Return a sentence for every missing and every unexpected result; an empty list means success.

    Args:
        outcomes: one outcome for each case.
        unexpected_pages: notifications about jobs that the demonstration did not run.
    """
    found = [sentence for outcome in outcomes for sentence in _failures_of(outcome)]
    return [*found, *(f"unexpected page: {page}" for page in unexpected_pages)]


def _failures_of(outcome: Outcome) -> list[str]:
    case = outcome.case
    found = []
    if case.expects and case.expects not in outcome.paged:
        found.append(f"{case.title}: no page of {case.expects}")
    if outcome.exit_code not in (0, None):
        found.append(f"{case.title}: its Spark job exited with {outcome.exit_code}")
    if case.fuse and not outcome.acted:
        found.append(f"{case.title}: the fuse did not act")
    unexpected = sorted(outcome.paged - case.allows - {case.expects})
    return [*found, *(f"{case.title}: unexpected page of {rule}" for rule in unexpected)]
