"""Prepares the findings for the page, with their evidence and the steps of their runbooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_FINDINGS
from sparkfuse_dashboards.report.text import clean, clean_lines, count, number, whole
from sparkfuse_rules.rule import SEVERITIES

_STEP = re.compile(r"\d+\.\s+")
_CODE = re.compile(r"`([^`]+)`")


def shown_findings(findings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the findings for the page, the number of omitted findings, and the number of findings by severity.

    The most severe causes come first. Symptoms follow the finding that caused them, as in the analysis.
    """
    ordered = [each for cause in sorted(_by_cause(findings), key=_worst) for each in cause]
    return {
        "shown": [_shown(each) for each in ordered[:MAX_FINDINGS]],
        "left_out": max(len(ordered) - MAX_FINDINGS, 0),
        "counts": [
            (level, amount)
            for level in SEVERITIES
            if (amount := sum(1 for each in findings if each.get("severity") == level))
        ],
    }


def steps(runbook: str) -> list[list[tuple[bool, str]]]:
    """Return the numbered steps of a runbook; each step is a list of (whether it is code, text)."""
    found: list[str] = []
    for line in runbook.strip().splitlines():
        if _STEP.match(line) or not found:
            found.append(_STEP.sub("", line, count=1).strip())
        else:
            found[-1] += " " + line.strip()
    found = [_without_introduction(step) for step in found]
    return [
        [(bool(place % 2), part) for place, part in enumerate(_CODE.split(step)) if part]
        for step in found
    ]  # fmt: skip


def _without_introduction(step: str) -> str:
    """Return a step without a last sentence that only introduces an SQL query, because the report has no queries."""
    return step.rpartition(". ")[0] + "." if step.endswith(":") and ". " in step else step


def _by_cause(findings: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    causes: list[list[Mapping[str, Any]]] = []
    for each in findings:
        if each.get("inhibited_by") is None or not causes:
            causes.append([])
        causes[-1].append(each)
    return causes


def _worst(cause: Sequence[Mapping[str, Any]]) -> int:
    return _place(cause[0].get("severity"))


def _place(severity: object) -> int:
    return SEVERITIES.index(severity) if severity in SEVERITIES else len(SEVERITIES)


def _shown(finding: Mapping[str, Any]) -> dict[str, Any]:
    severity = finding.get("severity")
    completeness = number(finding.get("completeness"))
    return {
        "rule": clean(finding.get("rule")),
        "severity": severity if severity in SEVERITIES else "info",
        "summary": clean(finding.get("summary")),
        "description": clean(finding.get("description"), 2000),
        "where": _where(finding),
        "cause": clean(finding.get("inhibited_by")),
        "more": count(amount - 1) if (amount := whole(finding.get("count"))) > 1 else "",
        "evidence": [(clean(name), clean(value)) for name, value in (finding.get("evidence") or {}).items()],
        "completeness": "unknown" if completeness is None else f"{int(completeness * 1000) / 10:g} %",
        "steps": steps(clean_lines(finding.get("runbook"))),
    }


def _where(finding: Mapping[str, Any]) -> str:
    stage_id, attempt = number(finding.get("stage_id")), number(finding.get("stage_attempt"))
    places = []
    if stage_id is not None:
        name = clean(finding.get("stage_name"))
        places.append(
            f"stage {stage_id:.0f}" + (f", attempt {attempt:.0f}" if attempt else "") + (f" ({name})" if name else "")
        )
    if finding.get("executor_id") not in {None, ""}:
        places.append(f"executor {clean(finding['executor_id'])}")
    if stage_id is None and (job_id := number(finding.get("job_id"))) is not None:
        places.append(f"job {job_id:.0f}")
    return ", ".join(places) or "application"
