"""Prints the analysis of one application: failures and findings, expensive queries with their stages, and notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import TYPE_CHECKING

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from sparkfuse.analysis.terminal_text import readable
from sparkfuse_rules.describe import readable_bytes, readable_duration
from sparkfuse_rules.runbooks import first_step

if TYPE_CHECKING:
    from sparkfuse_native_analytics.offline.analysis_types import (
        AnalysedApplication,
        AnalysedJob,
        AnalysedQuery,
        AnalysedStage,
        Analysis,
        AnalysisEvidence,
        AnalysisFinding,
    )

MAX_FINDINGS = 5
MAX_SYMPTOMS = 3
MAX_STAGES = 8
MAX_FAILURES = 3
_RETRY = {
    "transient": "; a retry may succeed",
    "larger": "; a retry needs more memory",
    "never": "; a retry will fail too",
    "unknown": "",
}
_JOB_FAILED_RULE = "job_failed"
MIN_NAME_WIDTH = 24
NOTHING = "-"
_QUERY_PREFIX = re.compile(r"q\d+: ")
_LEAST_IMPORTANT = ("written", "share", "read", "task time", "expected", "spilled")
_STYLES = {"critical": "bold white on red", "warning": "bold black on yellow", "info": "bold white on blue"}


def show(analysis: Analysis, briefly: bool = False, console: Console | None = None) -> None:
    """Print the analysis of one application; ``briefly`` leaves out queries and stages, for lists of applications."""
    out = console or Console(highlight=False, emoji=False, markup=False)
    out.print(_title(analysis))
    causes = list(_causes(analysis["findings"]))
    reported = {cause["job_id"] for cause, _ in causes[:MAX_FINDINGS] if cause["rule"] == _JOB_FAILED_RULE}
    for line in _failures(analysis, reported):
        out.print(line)
    _findings(analysis, causes, out)
    if not briefly:
        _costs(analysis, out)
    for sentence in limits(analysis):
        out.print(Text(f"Note: {sentence}", style="yellow"))
    out.print()


def limits(analysis: Analysis) -> Iterator[str]:
    """Yield one sentence for each part of the log that could not be read, and one for rules that were not evaluated."""
    evidence = analysis["evidence"]
    if evidence["missing_files"]:
        yield f"The log is incomplete, so all sums are too low; missing: {_listed(evidence['missing_files'])}."
    if lines := evidence["malformed"]:
        first = evidence["malformed_lines"][0] if evidence["malformed_lines"] else None
        where = f"; the first is line {first['line']}: {readable(first['reason'], 120)}" if first else ""
        yield f"Skipped {_count(lines, 'line')} without a valid event{where}."
    for file in evidence["files"]:
        if file["error"]:
            yield f"{readable(file['name'], 120)} could not be read to its end: {readable(file['error'], 200)}."
    if not evidence["complete"]:
        truncated = "is truncated and " if evidence["truncated"] else ""
        yield f"The log {truncated}has no end of the application: it still runs, was killed, or the log was cut."
    elif evidence["truncated"]:
        yield "The last line or block of the log is incomplete."
    if unfinished := evidence["unfinished_tasks"]:
        yield f"The log has no end of {_count(unfinished, 'task attempt')}: {_unfinished_stages(analysis)}."
    yield from _doubts(evidence)
    if undecided := analysis["not_decidable"]:
        names = _listed([each["rule"] for each in undecided])
        yield f"Not evaluated, because they need a running job: {names} (reasons: --json)."


def _doubts(evidence: AnalysisEvidence) -> Iterator[str]:
    if duplicates := evidence["duplicate_task_ends"]:
        yield f"{_count(duplicates, 'duplicate task end')}: Spark writes one when the output of a task is lost."
    if left_out := evidence["left_out"]:
        yield f"Dropped {_count(left_out, 'detail')} of plans, accumulators and memory to limit memory use."
    if odd := evidence["odd_values"]:
        yield f"{_count(odd, 'invalid number')} treated as absent."


def _title(analysis: Analysis) -> Text:
    application = analysis["application"]
    title = Text(readable(application["name"] or application["app_id"] or "unnamed application", 200), style="bold")
    facts = [
        application["app_id"],
        f"Spark {application['spark_version'] or '?'}",
        _elapsed(application),
        application["status"],
    ]
    title.append("  " + ", ".join(readable(str(fact), 100) for fact in facts if fact), style="not bold")
    counts = [_count(len(analysis["queries"]), "query", "queries")] if analysis["queries"] else []
    counts.append(_count(len(analysis["stages"]), "stage"))
    counts.append(_count(sum(stage["tasks"] for stage in analysis["stages"]), "finished task"))
    title.append("; " + ", ".join(counts), style="not bold dim")
    return title


def _elapsed(application: AnalysedApplication) -> str:
    elapsed, expected = application["elapsed_ms"], application["expected_ms"]
    if elapsed is None:
        return ""
    runs = application["baseline_runs"]
    usual = f" (expected: {readable_duration(expected)}, from {runs} earlier runs)" if expected else ""
    return f"took {readable_duration(elapsed)}{usual}"


def _failed_jobs(analysis: Analysis) -> list[AnalysedJob]:
    return [job for job in analysis["jobs"] if job["result"] not in (None, "JobSucceeded")]


def _failures(analysis: Analysis, reported: set[int | None]) -> Iterator[Text]:
    """Yield a line for each failed job that no finding reports."""
    failed = [job for job in _failed_jobs(analysis) if job["job_id"] not in reported]
    for job in failed[:MAX_FAILURES]:
        reason = cause(job["failure_reason"] or _stage_failure(analysis, job) or "the log has no reason")
        yield Text.assemble((" FAILED ", "bold white on red"), f" job {job['job_id']}{_failure_class(job)}: {reason}")
    if len(failed) > MAX_FAILURES:
        yield Text(f"{_count(len(failed) - MAX_FAILURES, 'more failed job')}.")


def _failure_class(job: AnalysedJob) -> str:
    """Return the failure class and, if known, whether a retry can succeed; an empty string for an unknown class."""
    if job["failure_kind"] in (None, "unknown"):
        return ""
    kind, failure = str(job["failure_kind"]).replace("_", " "), str(job["failure"]).replace("_", " ")
    # The user cancelled the job, so advice about a retry is omitted.
    retry = "" if kind == "benign" else _RETRY[str(job["retry"])]
    return f" ({kind}: {failure}{retry})"


def cause(reason: str) -> str:
    """Return the first line of a failure's text; if a Python traceback follows, add the line that names the error."""
    first, _, trace = reason[:20_000].partition("Traceback (most recent call last):")
    unindented = (line for line in trace.splitlines()[1:] if line.strip() and not line.startswith((" ", "\t")))
    error = next(unindented, "")
    return readable(first.splitlines()[0] if first.strip() else reason, 300) + (
        f" {readable(error, 200)}" if error else ""
    )


def _stage_failure(analysis: Analysis, job: AnalysedJob) -> str | None:
    of_job = set(job["stage_ids"])
    reasons = (stage["failure_reason"] for stage in analysis["stages"] if stage["stage_id"] in of_job)
    return next((reason for reason in reasons if reason), None)


def _causes(findings: Sequence[AnalysisFinding]) -> Iterator[tuple[AnalysisFinding, list[AnalysisFinding]]]:
    """Yield each finding that is not a symptom, with the list of its symptoms."""
    remaining = list(findings)
    while remaining:
        cause = remaining.pop(0)
        symptoms = list(takewhile(lambda each: each["inhibited_by"] is not None, remaining))
        del remaining[: len(symptoms)]
        yield cause, symptoms


def _findings(
    analysis: Analysis, causes: Sequence[tuple[AnalysisFinding, list[AnalysisFinding]]], out: Console
) -> None:
    for cause, symptoms in causes[:MAX_FINDINGS]:
        _finding(cause, out)
        for symptom in symptoms[:MAX_SYMPTOMS]:
            line = Text.assemble("Symptom: ", (symptom["rule"], "bold"), f"{_scope(symptom)}{_worst_of(symptom)}: ")
            out.print(Padding(line.append(readable(symptom["description"], 200)), (0, 0, 0, 2)))
        if len(symptoms) > MAX_SYMPTOMS:
            out.print(Padding(Text(f"{_count(len(symptoms) - MAX_SYMPTOMS, 'more symptom')}."), (0, 0, 0, 2)))
    if len(causes) > MAX_FINDINGS:
        out.print(Text(f"{_count(len(causes) - MAX_FINDINGS, 'more finding')}: --json lists all."))
    if not causes:
        any_failure = bool(_failed_jobs(analysis))
        result = "No rule matches." if not any_failure else "No other rule matches."
        no_history = not analysis["application"]["baseline_runs"]
        history = " Durations were not checked: that needs earlier runs (--history)." if no_history else ""
        out.print(Text(result + history, style="green" if not any_failure else ""))


def _finding(finding: AnalysisFinding, out: Console) -> None:
    severity = finding["severity"]
    head = Text.assemble((f" {severity.upper()} ", _STYLES.get(severity, "bold")), " ", (finding["rule"], "bold"))
    head.append(f"  {readable(finding['summary']).rstrip('.')}{_worst_of(finding)}.")
    out.print(head)
    out.print(Padding(Text(readable(finding["description"], 600)), (0, 0, 0, 2)))
    if step := readable(first_step(finding["runbook"]), 400):
        out.print(Padding(Text.assemble(("Do: ", "bold green"), step), (0, 0, 0, 2)))


def _worst_of(finding: AnalysisFinding) -> str:
    """Return the number of rows that match the rule if there are several; the finding shows only the worst row."""
    return f" ({finding['count']} times, worst shown)" if finding["count"] > 1 else ""


def _scope(finding: AnalysisFinding) -> str:
    return "" if finding["stage_id"] is None else f", stage {finding['stage_id']}"


def _costs(analysis: Analysis, out: Console) -> None:
    """Print the most expensive stages, grouped by query."""
    stages = sorted(analysis["stages"], key=lambda stage: -stage["run_ms"])[:MAX_STAGES]
    if not stages:
        return
    total_ms = sum(stage["run_ms"] for stage in analysis["stages"]) or 1
    groups = _by_query(analysis, stages)
    out.print(Text("Most expensive queries and stages" if analysis["queries"] else "Most expensive stages", "bold"))
    in_order = [stage for _, of_query in groups for stage in of_query]
    columns = {heading: [value(stage, total_ms) for stage in in_order] for heading, value in _COLUMNS.items()}
    lines = _lines(_fitting(columns, out.width), out.width)
    out.print(Text(next(lines), style="bold", overflow="ellipsis", no_wrap=True))
    for query, of_query in groups:
        if analysis["queries"]:
            out.print(_query_heading(query, total_ms))
            if query and (line := _sources_and_sink(query)):
                out.print(Padding(Text(line, style="dim"), (0, 0, 0, 2)))
        for _ in of_query:
            out.print(Text(next(lines), overflow="ellipsis", no_wrap=True))
    shown = {query["query_id"] for query, _ in groups if query}
    if more := len([query for query in analysis["queries"] if query["query_id"] not in shown]):
        out.print(Text(f"{_count(more, 'more query', 'more queries')}: --json lists all.", style="dim"))


def _by_query(
    analysis: Analysis, stages: Sequence[AnalysedStage]
) -> list[tuple[AnalysedQuery | None, list[AnalysedStage]]]:
    """Group stages by query, the most expensive query first; stages that belong to no query come last."""
    queries = {query["query_id"]: query for query in analysis["queries"]}
    groups: dict[int | None, list[AnalysedStage]] = {}
    for stage in stages:
        groups.setdefault(stage["sql_execution_id"], []).append(stage)
    found = [(queries.get(query_id) if query_id is not None else None, group) for query_id, group in groups.items()]
    return sorted(found, key=lambda each: (each[0] is None, -(each[0]["run_ms"] if each[0] else 0)))


def _query_heading(query: AnalysedQuery | None, total_ms: int) -> Text:
    if query is None:
        return Text("Stages without a query", style="bold")
    heading = Text(readable(query["name"], 80), style="bold")
    facts = [] if query["elapsed_ms"] is None else [f"took {readable_duration(query['elapsed_ms'])}"]
    facts.append(f"{query['run_ms'] / total_ms:.0%} of task time")
    if query["call_site"]:
        facts.append(readable(query["call_site"], 80))
    heading.append("  " + ", ".join(facts), style="not bold")
    if query["status"] != "succeeded":
        heading.append(f", {query['status']}", style="bold red" if query["status"] == "failed" else "not bold")
    return heading


def _sources_and_sink(query: AnalysedQuery) -> str:
    sides = [f"reads {readable(query['sources'], 150)}"] if query["sources"] else []
    return "; ".join([*sides, *([f"writes {readable(query['sink'], 100)}"] if query["sink"] else [])])


def _lines(columns: Mapping[str, Sequence[str]], width: int) -> Iterator[str]:
    """Yield the heading, then one line per stage; if a line exceeds ``width``, only the stage's name is truncated."""
    room = max(MIN_NAME_WIDTH, width - _width(columns) + MIN_NAME_WIDTH)
    widths = {heading: max(map(len, (heading, *cells))) for heading, cells in columns.items()}
    widths["name"] = min(widths["name"], room)
    for row in [tuple(columns), *zip(*columns.values(), strict=True)]:
        cells = (
            readable(cell, widths[heading]).ljust(widths[heading]) if heading == "name" else cell.rjust(widths[heading])
            for heading, cell in zip(columns, row, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _fitting(columns: Mapping[str, list[str]], width: int) -> dict[str, list[str]]:
    """Return the columns that have values and fit into ``width``; the least important columns are dropped first."""
    kept = {heading: cells for heading, cells in columns.items() if set(cells) != {NOTHING}}
    for heading in _LEAST_IMPORTANT:
        if _width(kept) <= width:
            break
        kept.pop(heading, None)
    return kept


def _width(columns: Mapping[str, Sequence[str]]) -> int:
    widths = {heading: max(map(len, (heading, *cells))) for heading, cells in columns.items()}
    widths["name"] = min(widths["name"], MIN_NAME_WIDTH)
    return sum(widths.values()) + 2 * (len(widths) - 1)


def _stage_elapsed(stage: AnalysedStage, _: int) -> str:
    ended, started = stage["completed_ms"], stage["submitted_ms"]
    return NOTHING if ended is None or started is None else readable_duration(max(0, ended - started))


def _expected(stage: AnalysedStage, _: int) -> str:
    return NOTHING if stage["expected_ms"] is None else readable_duration(stage["expected_ms"])


def _tasks(stage: AnalysedStage, _: int) -> str:
    failed = f" ({stage['failed']} failed)" if stage["failed"] else ""
    return f"{stage['tasks']}{failed}"


def _name(stage: AnalysedStage, _: int) -> str:
    """Return the stage's name without the number of its query, because the heading above contains that number."""
    return readable(_QUERY_PREFIX.sub("", stage["stage_name"] or "?", count=1), 80)


_COLUMNS: Mapping[str, Callable[[AnalysedStage, int], str]] = {
    "stage": lambda stage, _: f"{stage['stage_id']}.{stage['stage_attempt']}",
    "name": _name,
    "took": _stage_elapsed,
    "expected": _expected,
    "task time": lambda stage, _: readable_duration(stage["run_ms"]),
    "share": lambda stage, total_ms: f"{stage['run_ms'] / total_ms:.0%}",
    "tasks": _tasks,
    "read": lambda stage, _: _size(stage["input_bytes"] + stage["shuffle_read_bytes"]),
    "written": lambda stage, _: _size(stage["output_bytes"] + stage["shuffle_write_bytes"]),
    "spilled": lambda stage, _: _size(stage["disk_spilled_bytes"]),
}


def _size(count: int) -> str:
    return readable_bytes(count) if count else NOTHING


def _unfinished_stages(analysis: Analysis) -> str:
    """Return a sentence that lists the stages with tasks whose end is missing, and the number of these tasks."""
    open_stages = [stage for stage in analysis["stages"] if stage["started_tasks"] > stage["tasks"]]
    shown = [f"stage {stage['stage_id']} ({stage['started_tasks'] - stage['tasks']})" for stage in open_stages]
    return _listed(shown) if shown else "stages unknown"


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(readable(name, 120) for name in names[:3]) + more
