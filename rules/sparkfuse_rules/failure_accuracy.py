"""Measure the patterns of failure_classes.yaml on texts of real failures, for docs/failures.md and its tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from sparkfuse_rules.knowledge.failures import RETRIES, UNKNOWN, Failure, classify

_RULES = Path(__file__).parents[1]
COLLECTED, HELD_OUT = "failure_cases.yaml", "failure_cases_held_out.yaml"


@dataclass(frozen=True)
class FailureCase:
    """The text of a real failure, with the class, the retry decision and the cause that a person chose."""

    failure: str
    retry: str
    cause: str
    link: str
    text: str

    def found(self) -> Failure:
        """Return the failure that the patterns find in the text."""
        return classify(None, self.text)


@cache
def failure_cases(file_name: str) -> Sequence[FailureCase]:
    """Return the cases of one of the two files: COLLECTED or HELD_OUT."""
    return tuple(FailureCase(**case) for case in yaml.safe_load((_RULES / file_name).read_text(encoding="utf-8")))


@dataclass(frozen=True)
class Accuracy:
    """Numbers of cases: all, with the right class, with the right decision, and with a wrong decision.

    A decision is wrong if it is not the person's and is not ``unknown``.
    """

    cases: int
    right_class: int
    right_decision: int
    wrong_decision: int


def accuracy(cases: Sequence[FailureCase]) -> Accuracy:
    """Return how many of the cases are classified as a person did."""
    found = [(case, case.found()) for case in cases]
    return Accuracy(
        len(found),
        sum(each.reason == case.failure for case, each in found),
        sum(each.retry == case.retry for case, each in found),
        sum(each.retry not in (case.retry, UNKNOWN.retry) for case, each in found),
    )


def accuracy_section() -> Iterator[str]:
    """Return the lines of the section of docs/failures.md that publishes the accuracy."""
    parts = {"collected": failure_cases(COLLECTED), "held out": failure_cases(HELD_OUT)}
    yield from ("", "| cases | number | right class | right decision | undecided (`unknown`) | wrong decision |")
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, cases in parts.items():
        of = accuracy(cases)
        undecided = of.cases - of.right_decision - of.wrong_decision
        shares = (_share(each, of.cases) for each in (of.right_class, of.right_decision, undecided, of.wrong_decision))
        yield f"| {name} | {of.cases} | {' | '.join(shares)} |"
    for name, cases in parts.items():
        yield from ("", f"### Retry decisions, {name} cases", "")
        yield from _decisions(cases)
    yield from ("", "### Classes", "")
    yield from _classes(parts)


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})"


def _decisions(cases: Sequence[FailureCase]) -> Iterator[str]:
    """Return the confusion table of the retry decisions: one row for each decision of a person."""
    counts = Counter((case.retry, case.found().retry) for case in cases)
    yield f"| right decision | {' | '.join(f'found {each}' for each in RETRIES)} |"
    yield f"| --- |{' --- |' * len(RETRIES)}"
    for right in RETRIES:
        yield f"| {right} | {' | '.join(str(counts[right, found]) for found in RETRIES)} |"


def _classes(parts: dict[str, Sequence[FailureCase]]) -> Iterator[str]:
    """Return the confusion table of the classes: one row for each class that a person chose."""
    counts = {name: Counter((case.failure, case.found().reason) for case in cases) for name, cases in parts.items()}
    yield f"| right class | {' | '.join(f'{name}: right, found instead' for name in parts)} |"
    yield f"| --- |{' --- |' * len(parts)}"
    for right in sorted({case.failure for cases in parts.values() for case in cases}):
        yield f"| `{right}` | {' | '.join(_found(right, counts[name]) for name in parts)} |"


def _found(right: str, counts: Counter[tuple[str, str]]) -> str:
    """Return for one class the number of right cases and the classes that were found instead."""
    whole = sum(number for (label, _), number in counts.items() if label == right)
    others = sorted((found, number) for (label, found), number in counts.items() if label == right != found)
    cells = [f"{counts[right, right]} of {whole}", *(f"`{found}` {number}" for found, number in others)]
    return ", ".join(cells) if whole else ""
