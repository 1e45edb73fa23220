"""The analysis on one screen: what went wrong first, then what cost most, then what could not be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from sparkfuse.analysis.terminal_text import readable
from sparkfuse_rules.describe import readable_bytes, readable_duration

Object = Mapping[str, Any]
MOST_FINDINGS = 5
MOST_SYMPTOMS = 3
MOST_STAGES = 8
_RETRY = {
    "transient": "; the same again may do",
    "larger": "; the same again needs more memory",
    "never": "; the same again will fail too",
    "unknown": "",
}
MOST_FAILURES = 3
# The rule that tells of failed jobs.
_FAILED = "job_failed"
NAME_LEAST = 24
NOTHING = "-"
_FOLDERS = re.compile(r" at (?:[^\s/]*/)+")
_LEAST_NEEDED = ("written", "share", "read", "task time", "usual", "spilled")
_STYLES = {"critical": "bold white on red", "warning": "bold black on yellow", "info": "bold white on blue"}


def show(analysis: Object, briefly: bool = False, console: Console | None = None) -> None:
    """Print the analysis of one application; ``briefly`` leaves the stages out, where there are many applications."""
    out = console or Console(highlight=False, emoji=False, markup=False)
    out.print(_title(analysis))
    told = list(_told(analysis["findings"]))
    for line in _failures(analysis, {cause["job_id"] for cause, _ in told[:MOST_FINDINGS] if cause["rule"] == _FAILED}):
        out.print(line)
    _findings(analysis, told, out)
    if not briefly:
        _costs(analysis, out)
    for sentence in limits(analysis):
        out.print(Text(f"Note: {sentence}", style="yellow"))
    out.print()


def limits(analysis: Object) -> Iterator[str]:
    """What of the log could not be read, and what could not be decided: a sentence each."""
    evidence: Object = analysis["evidence"]
    if evidence["missing_files"]:
        yield f"Of the log {_named(evidence['missing_files'])} cannot be found, so the numbers are too low."
    if lines := evidence["malformed"]:
        first = (evidence["malformed_lines"] or [{"line": "?", "reason": "unknown"}])[0]
        reason = readable(str(first["reason"]), 120)
        yield f"{_count(lines, 'line')} passed over as no event, first line {first['line']}: {reason}."
    for file in evidence["files"]:
        if file["error"]:
            yield f"{readable(file['name'], 120)} could not be read to its end: {readable(file['error'], 200)}."
    if not evidence["complete"]:
        torn = "is torn and " if evidence["truncated"] else ""
        yield f"The log {torn}has no end of the application: it still ran, was killed, or the log is cut."
    elif evidence["truncated"]:
        yield "The log ends within a line or a block."
    if unfinished := evidence["unfinished_tasks"]:
        yield f"{_count(unfinished, 'task attempt')} started without an end in the log: {_unfinished_where(analysis)}."
    yield from _doubts(evidence)
    if undecided := analysis["not_decidable"]:
        names = _named([each["rule"] for each in undecided])
        yield f"Not decidable from an event log, only while a job runs: {names} (--json says why)."


def _doubts(evidence: Object) -> Iterator[str]:
    """What was read and is not to be taken as it stands."""
    if doubles := evidence["duplicate_task_ends"]:
        yield f"{_count(doubles, 'task end')} of a task that had ended before (Spark does so when its output is lost)."
    if left_out := evidence["left_out"]:
        yield f"{_count(left_out, 'detail')} of plans, accumulators and memory had no room; those tables are not whole."
    if odd := evidence["odd_values"]:
        yield f"{_count(odd, 'value')} taken as absent: no number where one should be."


def _title(analysis: Object) -> Text:
    application: Object = analysis["application"]
    status = str(application["status"])
    title = Text(readable(application["name"] or application["app_id"] or "an unnamed application", 200), style="bold")
    facts = [application["app_id"], f"Spark {application['spark_version'] or '?'}", _took(application), status]
    title.append("  " + ", ".join(readable(str(fact), 100) for fact in facts if fact), style="not bold")
    stages = analysis["stages"]
    tasks = sum(stage["tasks"] for stage in stages)
    title.append(f"; {_count(len(stages), 'stage')}, {_count(tasks, 'task end')}", style="not bold dim")
    return title


def _took(application: Object) -> str:
    elapsed, expected = application["elapsed_ms"], application["expected_ms"]
    if elapsed is None:
        return ""
    usual = f" (usual: {readable_duration(expected)}, {application['baseline_runs']} runs)" if expected else ""
    return f"took {readable_duration(elapsed)}{usual}"


def _failed_jobs(analysis: Object) -> list[Object]:
    return [job for job in analysis["jobs"] if job["result"] not in (None, "JobSucceeded")]


def _failures(analysis: Object, told: set[int | None]) -> Iterator[Text]:
    """Jobs that failed, with the first words of why, but for those that a finding tells of."""
    failed = [job for job in _failed_jobs(analysis) if job["job_id"] not in told]
    for job in failed[:MOST_FAILURES]:
        reason = cause(job["failure_reason"] or _stage_failure(analysis, job) or "no reason was logged")
        yield Text.assemble((" FAILED ", "bold white on red"), f" job {job['job_id']}{_of_what(job)}: {reason}")
    if len(failed) > MOST_FAILURES:
        yield Text(f"{_count(len(failed) - MOST_FAILURES, 'more job')} failed.")


def _of_what(job: Object) -> str:
    """Whose fault it is and whether the same again may do, where that is known."""
    if job["failure_kind"] in (None, "unknown"):
        return ""
    kind, failure = (str(job[key]).replace("_", " ") for key in ("failure_kind", "failure"))
    # Who cancels has a reason, and may well not do it again.
    again = "" if kind == "benign" else _RETRY[job["retry"]]
    return f" ({kind}: {failure}{again})"


def cause(reason: str) -> str:
    """The first line of a failure and, where Python's trace follows, the line that names the error."""
    first, _, trace = reason[:20_000].partition("Traceback (most recent call last):")
    told = (line for line in trace.splitlines()[1:] if line.strip() and not line.startswith((" ", "\t")))
    error = next(told, "")
    return readable(first.splitlines()[0] if first.strip() else reason, 300) + (
        f" {readable(error, 200)}" if error else ""
    )


def _stage_failure(analysis: Object, job: Object) -> str | None:
    of_job = set(job["stage_ids"])
    reasons = (stage["failure_reason"] for stage in analysis["stages"] if stage["stage_id"] in of_job)
    return next((reason for reason in reasons if reason), None)


def _told(findings: Sequence[Object]) -> Iterator[tuple[Object, list[Object]]]:
    """Each finding that is no symptom, with the symptoms that stand behind it."""
    behind = list(findings)
    while behind:
        cause = behind.pop(0)
        symptoms = list(takewhile(lambda each: each["inhibited_by"] is not None, behind))
        del behind[: len(symptoms)]
        yield cause, symptoms


def _findings(analysis: Object, told: Sequence[tuple[Object, list[Object]]], out: Console) -> None:
    for cause, symptoms in told[:MOST_FINDINGS]:
        _finding(cause, out)
        for symptom in symptoms[:MOST_SYMPTOMS]:
            line = Text.assemble("With it: ", (symptom["rule"], "bold"), f"{_place(symptom)}{_more(symptom)}: ")
            out.print(Padding(line.append(readable(symptom["description"], 200)), (0, 0, 0, 2)))
        if len(symptoms) > MOST_SYMPTOMS:
            out.print(Padding(Text(f"And {_count(len(symptoms) - MOST_SYMPTOMS, 'more symptom')}."), (0, 0, 0, 2)))
    if len(told) > MOST_FINDINGS:
        out.print(Text(f"{_count(len(told) - MOST_FINDINGS, 'more finding')}: --json shows all."))
    if not told:
        any_failure = bool(_failed_jobs(analysis))
        what = "No rule found anything else." if any_failure else "No rule found anything."
        history = "" if analysis["application"]["baseline_runs"] else " Without --history nothing is judged slow."
        out.print(Text(what + history, style="green" if not any_failure else ""))


def _finding(finding: Object, out: Console) -> None:
    severity = str(finding["severity"])
    head = Text.assemble((f" {severity.upper()} ", _STYLES.get(severity, "bold")), " ", (finding["rule"], "bold"))
    head.append(f"  {readable(finding['summary'])}{_more(finding)}.")
    out.print(head)
    out.print(Padding(Text(readable(finding["description"], 600)), (0, 0, 0, 2)))
    if step := first_step(finding["runbook"]):
        out.print(Padding(Text.assemble(("Do: ", "bold green"), step), (0, 0, 0, 2)))


def _more(finding: Object) -> str:
    """How often a rule holds so, when more than once; told is the worst."""
    return f" ({finding['count']} times, here the worst)" if finding["count"] > 1 else ""


def _place(finding: Object) -> str:
    return "" if finding["stage_id"] is None else f", stage {finding['stage_id']}"


def first_step(runbook: str) -> str:
    """The first step of a runbook, which says where to look."""
    lines = runbook.strip().splitlines()
    rest = next((place for place, line in enumerate(lines) if line.startswith("2.")), len(lines))
    return readable(" ".join(line.strip() for line in lines[:rest]).removeprefix("1. "), 400)


def _costs(analysis: Object, out: Console) -> None:
    stages = sorted(analysis["stages"], key=lambda stage: -stage["run_ms"])[:MOST_STAGES]
    if not stages:
        return
    total = sum(stage["run_ms"] for stage in analysis["stages"]) or 1
    columns = {heading: [tell(stage, total) for stage in stages] for heading, tell in _COLUMNS.items()}
    table = Table(title="Stages that cost most", title_justify="left", title_style="bold", box=None, pad_edge=False)
    shown = _fitting(columns, out.width)
    room = max(NAME_LEAST, out.width - _width(shown) + NAME_LEAST)
    for heading, cells in shown.items():
        # Only the name gives way.
        width = min(max(map(len, (heading, *cells))), room if heading == "name" else out.width)
        table.add_column(heading, justify="left" if heading == "name" else "right", no_wrap=True, width=width)
    for row in zip(*shown.values(), strict=True):
        table.add_row(*(Text(cell, overflow="ellipsis") for cell in row))
    out.print(table)


def _fitting(columns: Mapping[str, list[str]], width: int) -> dict[str, list[str]]:
    """The columns that say something, without those that a narrow terminal has no room for, least needed first."""
    kept = {heading: cells for heading, cells in columns.items() if set(cells) != {NOTHING}}
    for heading in _LEAST_NEEDED:
        if _width(kept) <= width:
            break
        kept.pop(heading, None)
    return kept


def _width(columns: Mapping[str, list[str]]) -> int:
    widths = {heading: max(map(len, (heading, *cells))) for heading, cells in columns.items()}
    widths["name"] = min(widths["name"], NAME_LEAST)
    return sum(widths.values()) + 2 * len(widths)


def _took_stage(stage: Object, _: int) -> str:
    ended, began = stage["completed_ms"], stage["submitted_ms"]
    return NOTHING if ended is None or began is None else readable_duration(max(0, ended - began))


def _usual(stage: Object, _: int) -> str:
    return NOTHING if stage["expected_ms"] is None else readable_duration(stage["expected_ms"])


def _tasks(stage: Object, _: int) -> str:
    failed = f" ({stage['failed']} failed)" if stage["failed"] else ""
    return f"{stage['tasks']}{failed}"


_COLUMNS: Mapping[str, Callable[[Object, int], str]] = {
    "stage": lambda stage, _: f"{stage['stage_id']}.{stage['stage_attempt']}",
    "name": lambda stage, _: readable(_FOLDERS.sub(" at ", stage["name"] or "?"), 60),
    "took": _took_stage,
    "usual": _usual,
    "task time": lambda stage, _: readable_duration(stage["run_ms"]),
    "share": lambda stage, total: f"{stage['run_ms'] / total:.0%}",
    "tasks": _tasks,
    "read": lambda stage, _: _size(stage["input_bytes"] + stage["shuffle_read_bytes"]),
    "written": lambda stage, _: _size(stage["output_bytes"] + stage["shuffle_write_bytes"]),
    "spilled": lambda stage, _: _size(stage["disk_spilled_bytes"]),
}


def _size(count: int) -> str:
    return readable_bytes(count) if count else NOTHING


def _unfinished_where(analysis: Object) -> str:
    """The stages that tasks without an end belong to."""
    open_stages = [stage for stage in analysis["stages"] if stage["started_tasks"] > stage["tasks"]]
    shown = [f"stage {stage['stage_id']} ({stage['started_tasks'] - stage['tasks']})" for stage in open_stages]
    return _named(shown) if shown else "stages unknown"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
