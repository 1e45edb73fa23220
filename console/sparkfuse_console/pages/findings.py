"""The list of open findings, and the page of one finding."""

from __future__ import annotations

import dataclasses
import shlex
import time
from collections.abc import Sequence
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from sparkfuse_console import parameters
from sparkfuse_console.acts import may_act
from sparkfuse_console.parameters import PAGE_SIZE
from sparkfuse_console.site import Site
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import Client, Feedback, Finding, FindingCount, FindingFilter, FindingList
from sparkfuse_native_analytics.verdicts import NOTE_CHARACTERS
from sparkfuse_rules.knowledge.precision import VERDICTS

RESOLVED_MS = 7 * 24 * 3_600_000
RESOLVED_SHOWN = 20
MAX_RUNS = 50
MAX_VERDICTS = 50
"""A finding lists at most this number of runs; a job that fails for weeks has more."""


class _Inbox(NamedTuple):
    open: FindingList
    resolved: Sequence[Finding]
    counts: Sequence[FindingCount]
    teams: Sequence[str]


def inbox(site: Site, request: Request) -> Response:
    """Show the open findings, the most severe and newest first, and those that were resolved lately."""
    chosen = {
        "severity": parameters.choice(request, "severity", ("", *queries.SEVERITIES)),
        "team": parameters.text(request, "team"),
        "job": parameters.text(request, "job"),
    }
    after = parameters.cursor(request)
    found = site.store.ask(lambda client: _inbox(client, chosen, after))
    more = found.open.next_cursor
    counts = {
        severity: sum(each.findings for each in found.counts if each.severity == severity)
        for severity in queries.SEVERITIES
    }
    return site.page(
        request,
        "inbox.html",
        counts=counts,
        found=found,
        chosen=chosen,
        first=not after,
        next_page=more and parameters.address("/", {**chosen, "after": more}),
        shown=found.open.findings,
        severities=queries.SEVERITIES,
    )


def _inbox(client: Client, chosen: dict[str, str], after: str) -> _Inbox:
    wanted = FindingFilter(state="firing", severity=chosen["severity"], team=chosen["team"], job_text=chosen["job"])
    since_ms = time.time_ns() // 1_000_000 - RESOLVED_MS
    resolved = dataclasses.replace(wanted, state="resolved", since_ms=since_ms)
    every_team = queries.count_findings(client, FindingFilter(state="firing"))
    return _Inbox(
        open=queries.list_findings(client, wanted, PAGE_SIZE, after),
        resolved=[] if after else queries.latest_findings(client, resolved, RESOLVED_SHOWN),
        counts=queries.count_findings(client, dataclasses.replace(wanted, severity="")),
        teams=sorted({each.team for each in every_team if each.team} | ({chosen["team"]} - {""})),
    )


def show(site: Site, request: Request) -> Response:
    """Show one finding in full: what, where, evidence, cost, runs, and the first steps."""
    finding_id = str(request.path_params["finding_id"])
    found, demoted, verdicts = site.store.ask(lambda client: _judged(client, finding_id))
    if found is None:
        sentence = "The store has no finding with this id. The list of findings shows all that it has."
        return site.not_found(request, sentence)
    runs = sorted(found.runs, key=lambda each: (each.state != "firing", -(each.started_ms or 0)))
    page = f"rules/{found.rule}.md"
    return site.page(
        request,
        "finding.html",
        finding=found,
        demoted=demoted,
        verdicts=verdicts,
        may_act=may_act(request),
        recorded=parameters.choice(request, "recorded", ("", *VERDICTS)) if may_act(request) else "",
        verdict_choices=VERDICTS,
        note_characters=NOTE_CHARACTERS,
        # People copy the commands, and the id comes from the store.
        shell_id=shlex.quote(found.finding_id),
        runs=runs[:MAX_RUNS],
        hidden_runs=len(runs) - len(runs[:MAX_RUNS]),
        hosts=sorted({host for run in runs for host in [run.evidence.get("host")] if host}),
        rule_page=site.documents.page(page),
        runbook=site.documents.section(page, "runbook"),
    )


def _judged(client: Client, finding_id: str) -> tuple[Finding | None, str, Sequence[Feedback]]:
    """Return the finding, why its notifications are demoted, and people's verdicts on it."""
    found = queries.finding(client, finding_id)
    if found is None:
        return None, "", ()
    demoted = queries.demotion_of(client, found) if found.severity != "info" else ""
    return found, demoted, queries.feedback(client, MAX_VERDICTS, finding_id=finding_id)
