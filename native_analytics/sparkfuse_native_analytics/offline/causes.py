"""Findings as a person is told them: causes first, each with its symptoms, and what is alike told once with its count.

Live, a symptom of what fires is silent, because a page is read once; offline nobody is paged, and a symptom shows what
its cause did, so it stands below it. What is whose symptom follows sparkfuse_rules.inhibition: a cause explains nothing
that is worse than itself, and a whole application its stages only when it is critical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.offline import application_row, job_rows
from sparkfuse_native_analytics.offline.judge import SEVERITIES, Finding

# A rule that is silenced, and the stage of which: None is every stage, and what is of no stage.
_Symptom = tuple[str, int | None]


@dataclass(frozen=True)
class Told:
    """A finding, on how many rows of its stage (or of the application) its rule holds so, and the rule behind it."""

    finding: Finding
    count: int
    inhibited_by: str | None


def told(findings: Sequence[Finding], stages_of_jobs: Mapping[int, Sequence[int]]) -> list[Told]:
    """The findings of one application, which come worst first, put together.

    Of what one rule says on many rows of one stage, or of the application where it is of no stage, the worst is told.
    What has no cause among the findings keeps the order; symptoms follow their cause. ``stages_of_jobs`` are the
    stages of each job, so that a job's failure is the cause of what failed in its stages.
    """
    causes = _causes(findings, stages_of_jobs)
    groups: dict[tuple[str, int | None, int | None], list[int]] = {}
    for place, finding in enumerate(findings):
        cause = _root(place, findings, causes)
        groups.setdefault((finding.rule.id, finding.row.get("stage_id"), cause), []).append(place)
    # Where the same rule holds on many rows, all of them are one cause.
    lead = {place: places[0] for places in groups.values() for place in places}
    followers: dict[int, dict[tuple[str, int | None], list[int]]] = {}
    for (rule, stage, cause), places in groups.items():
        if cause is not None:
            followers.setdefault(lead[cause], {}).setdefault((rule, stage), []).extend(places)
    found = []
    for (_, _, cause), places in groups.items():
        if cause is None:
            found.append(Told(findings[places[0]], len(places), None))
            found += _symptoms(findings, findings[places[0]].rule.id, followers.get(places[0], {}))
    return found


def _symptoms(
    findings: Sequence[Finding], cause: str, groups: Mapping[tuple[str, int | None], list[int]]
) -> Iterator[Told]:
    for places in groups.values():
        yield Told(findings[min(places)], len(places), cause)


def _causes(findings: Sequence[Finding], stages_of_jobs: Mapping[int, Sequence[int]]) -> dict[_Symptom, list[int]]:
    """By what each silences, the places of the findings that are causes, worst first."""
    causes: dict[_Symptom, list[int]] = {}
    for place, finding in enumerate(findings):
        for rule in _silenced(finding):
            for stage in _reach(finding, stages_of_jobs):
                causes.setdefault((rule, stage), []).append(place)
    return causes


def _silenced(cause: Finding) -> Sequence[str]:
    says_little = cause.rule.view == application_row.VIEW and cause.severity != "critical"
    return () if says_little else cause.rule.inhibits


def _reach(cause: Finding, stages_of_jobs: Mapping[int, Sequence[int]]) -> Sequence[int | None]:
    """The stages whose symptoms the finding explains: its own, those of its job, or all of the application."""
    if cause.rule.view == job_rows.VIEW:
        return stages_of_jobs.get(cause.row["job_id"], ())
    return [cause.row.get("stage_id")]


def _root(place: int, findings: Sequence[Finding], causes: Mapping[_Symptom, list[int]]) -> int | None:
    """The cause behind the cause, None for a finding that has none; of a circle of rules the first is the cause."""
    way = [place]
    while (above := _above(way[-1], findings, causes)) is not None and above not in way:
        way.append(above)
    root = way[-1] if above is None else min(way[way.index(above) :])
    return None if root == place else root


def _above(place: int, findings: Sequence[Finding], causes: Mapping[_Symptom, list[int]]) -> int | None:
    finding = findings[place]
    stage = finding.row.get("stage_id")
    scopes = [stage, None] if stage is not None else [None]
    worst = SEVERITIES.index(finding.severity)
    above = (at for scope in scopes for at in causes.get((finding.rule.id, scope), ()))
    return next((at for at in above if SEVERITIES.index(findings[at].severity) <= worst), None)
