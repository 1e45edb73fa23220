"""Groups the findings of an application for display: causes first, each followed by its symptoms.

While an application runs, a symptom of a firing finding is not sent, because one notification is enough. An offline
analysis notifies nobody, and a symptom shows the effect of its cause, so the symptom is listed below the cause.
`sparkfuse_rules.inhibition` defines what a symptom is. A cause never explains a more severe finding. A finding about
the whole application explains findings about stages only if its own severity is critical.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkfuse_native_analytics.offline import application_row, job_rows
from sparkfuse_native_analytics.offline.evaluate import SEVERITIES, Finding

# An inhibited rule, and the stage for which the rule is inhibited; None means all stages and the application.
_Inhibited = tuple[str, int | None]


@dataclass(frozen=True)
class FindingGroup:
    """The worst of the findings that one rule has for one stage or for the application.

    ``count`` is the number of rows that match; ``inhibited_by`` is the rule of the cause, or None if the group has no
    cause.
    """

    finding: Finding
    count: int
    inhibited_by: str | None


def group_findings(findings: Sequence[Finding], stages_of_jobs: Mapping[int, Sequence[int]]) -> list[FindingGroup]:
    """Group the findings of one application, which must be sorted worst first.

    Findings of the same rule for the same stage become one group. Groups without a cause keep their order, and symptoms
    follow their cause. ``stages_of_jobs`` maps job ids to stage ids, so that a job's failure can be the cause of
    findings in its stages.
    """
    causes = _causes(findings, stages_of_jobs)
    groups: dict[tuple[str, int | None, int | None], list[int]] = {}
    for index, finding in enumerate(findings):
        cause = _root_cause(index, findings, causes)
        groups.setdefault((finding.rule.id, finding.row.get("stage_id"), cause), []).append(index)
    # All rows of a group count as one cause.
    leader = {index: indexes[0] for indexes in groups.values() for index in indexes}
    symptoms: dict[int, dict[tuple[str, int | None], list[int]]] = {}
    for (rule, stage, cause), indexes in groups.items():
        if cause is not None:
            symptoms.setdefault(leader[cause], {}).setdefault((rule, stage), []).extend(indexes)
    found = []
    for (_, _, cause), indexes in groups.items():
        if cause is None:
            found.append(FindingGroup(findings[indexes[0]], len(indexes), None))
            found += _symptom_groups(findings, findings[indexes[0]].rule.id, symptoms.get(indexes[0], {}))
    return found


def _symptom_groups(
    findings: Sequence[Finding], cause: str, groups: Mapping[tuple[str, int | None], list[int]]
) -> Iterator[FindingGroup]:
    for indexes in groups.values():
        yield FindingGroup(findings[min(indexes)], len(indexes), cause)


def _causes(findings: Sequence[Finding], stages_of_jobs: Mapping[int, Sequence[int]]) -> dict[_Inhibited, list[int]]:
    """Return, for each rule and stage, the indexes of the findings that inhibit the rule there, worst first."""
    causes: dict[_Inhibited, list[int]] = {}
    for index, finding in enumerate(findings):
        for rule in _inhibited_rules(finding):
            for stage in _covered_stages(finding, stages_of_jobs):
                causes.setdefault((rule, stage), []).append(index)
    return causes


def _inhibited_rules(cause: Finding) -> Sequence[str]:
    inhibits_nothing = cause.rule.view == application_row.VIEW and cause.severity != "critical"
    return () if inhibits_nothing else cause.rule.inhibits


def _covered_stages(cause: Finding, stages_of_jobs: Mapping[int, Sequence[int]]) -> Sequence[int | None]:
    """Return the stages whose symptoms the finding explains: its own stage, the stages of its job, or None for all."""
    if cause.rule.view == job_rows.VIEW:
        return stages_of_jobs.get(cause.row["job_id"], ())
    return [cause.row.get("stage_id")]


def _root_cause(index: int, findings: Sequence[Finding], causes: Mapping[_Inhibited, list[int]]) -> int | None:
    """Follow the causes to the root; return None if there is no cause. In a cycle, the first finding is the root."""
    path = [index]
    while (cause := _direct_cause(path[-1], findings, causes)) is not None and cause not in path:
        path.append(cause)
    root = path[-1] if cause is None else min(path[path.index(cause) :])
    return None if root == index else root


def _direct_cause(index: int, findings: Sequence[Finding], causes: Mapping[_Inhibited, list[int]]) -> int | None:
    finding = findings[index]
    stage = finding.row.get("stage_id")
    scopes = [stage, None] if stage is not None else [None]
    severity = SEVERITIES.index(finding.severity)
    candidates = (at for scope in scopes for at in causes.get((finding.rule.id, scope), ()))
    return next((at for at in candidates if SEVERITIES.index(findings[at].severity) <= severity), None)
