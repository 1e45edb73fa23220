"""Prepares the evidence for the page: what was read, what is missing, and which limits follow from missing parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_EVIDENCE_ROWS
from sparkfuse_dashboards.report.text import clean, count, number, size, whole


def shown_evidence(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Return facts about reading the log, sentences about its limits, and lists of files, lines and events."""
    evidence: Mapping[str, Any] = analysis.get("evidence") or {}
    lines = list(evidence.get("malformed_lines") or ())
    kinds = sorted((evidence.get("events_by_kind") or {}).items(), key=lambda each: -whole(each[1]))
    files = [*(evidence.get("files") or ()), *(evidence.get("missing_files") or ())]
    return {
        "facts": [
            ("Completeness", _completeness(evidence)),
            ("Plain text read", size(evidence.get("plain_bytes"))),
            ("Codecs", ", ".join(clean(each) for each in evidence.get("codecs") or ()) or "none"),
            ("Events", count(evidence.get("events"))),
            ("Malformed lines", count(_malformed(evidence))),
            ("Tasks without an end", count(evidence.get("unfinished_tasks"))),
            ("Duplicate task ends", count(evidence.get("duplicate_task_ends"))),
            ("Details dropped to limit memory", count(evidence.get("left_out"))),
            ("Invalid numbers", count(evidence.get("odd_values"))),
        ],
        "undecidable": [(clean(each.get("rule")), clean(each.get("reason"))) for each in _undecidable(analysis)],
        "limits": list(_limits(analysis, evidence)),
        "files": [_file(each) for each in files[:MAX_EVIDENCE_ROWS]],
        "files_left_out": max(len(files) - MAX_EVIDENCE_ROWS, 0),
        "lines": [
            (clean(each.get("file")), count(each.get("line")), clean(each.get("reason")))
            for each in lines[:MAX_EVIDENCE_ROWS]
        ],
        "lines_left_out": max(len(lines) - MAX_EVIDENCE_ROWS, 0),
        "kinds": [(clean(kind), count(amount)) for kind, amount in kinds[:MAX_EVIDENCE_ROWS]],
        "kinds_left_out": max(len(kinds) - MAX_EVIDENCE_ROWS, 0),
    }


def _limits(analysis: Mapping[str, Any], evidence: Mapping[str, Any]) -> Iterator[str]:
    if not whole(evidence.get("events")):
        yield "The log has no event, so nothing is known about the application."
        return
    sentences = (
        (not evidence.get("complete"),
         "The log has no end of the application; everything after its last line is unknown."),
        (evidence.get("truncated"),
         "The log is truncated: its last line or block is incomplete, and everything after it is missing."),
        (evidence.get("missing_files"), "Files of the log are missing, so sums are too low."),
        (any(each.get("error") for each in evidence.get("files") or ()),
         "A file of the log could not be read to its end, so sums are too low."),
        (_malformed(evidence), "Lines without a valid event were skipped, so sums may be too low."),
        (whole(evidence.get("unfinished_tasks")), "Tasks without an end are not part of sums and distributions."),
        (whole(evidence.get("duplicate_task_ends")),
         "Some tasks have more than one end; each end counts, as in Spark's History Server."),
        (whole(evidence.get("left_out")),
         "Details of plans, accumulators and memory were dropped to limit memory; those tables are incomplete."),
        (whole(evidence.get("odd_values")), "Invalid numbers count as absent."),
    )  # fmt: skip
    yield from (sentence for holds, sentence in sentences if holds)
    yield from _limits_of_metrics(analysis.get("stages") or ())


def _limits_of_metrics(stages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    tasks = sum(whole(each.get("tasks")) for each in stages)
    silent = sum(whole(each.get("without_metrics")) for each in stages)
    if not tasks:
        yield "No task finished, so costs, distributions, spill and garbage collection are unknown."
    elif silent >= tasks:
        yield "No task has metrics, so bytes, spill and garbage collection are unknown; times come from the log."
    elif silent:
        yield (
            f"{count(silent)} of {count(tasks)} task ends have no metrics, which is common for failed tasks; "
            "sums do not contain them."
        )


def _file(file: Mapping[str, Any] | str) -> tuple[str, str]:
    """Return the name of a file and details about reading it; a file that is given only by its name is missing."""
    if isinstance(file, str):
        return clean(file), "missing"
    details = [clean(file.get("codec")), f"{size(file.get('bytes'))}, {size(file.get('plain_bytes'))} unpacked"]
    details += ["truncated" if file.get("truncated") else "", clean(file.get("error"))]
    return clean(file.get("name")), ", ".join(each for each in details if each)


def _malformed(evidence: Mapping[str, Any]) -> int:
    """Return the number of malformed lines; the evidence lists only the first thousand of them."""
    return max(whole(evidence.get("malformed")), len(evidence.get("malformed_lines") or ()))


def _undecidable(analysis: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(analysis.get("not_decidable") or ())[:MAX_EVIDENCE_ROWS]


def _completeness(evidence: Mapping[str, Any]) -> str:
    """Return the completeness as a percentage, rounded down, so that 100 % means that nothing is missing."""
    found = number(evidence.get("completeness"))
    return "unknown" if found is None else f"{int(found * 1000) / 10:g} %"
