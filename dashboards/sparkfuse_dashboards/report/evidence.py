"""What the report stands on: what was read, what is missing, and what therefore cannot be known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkfuse_dashboards.report.limits import MAX_EVIDENCE_ROWS
from sparkfuse_dashboards.report.text import clean, count, number, size, whole


def shown_evidence(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """Facts about the reading, the sentences that limit what the page may claim, and lists of the particulars."""
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
            ("Tasks that started and have no end", count(evidence.get("unfinished_tasks"))),
            ("Task ends beyond the first of one task", count(evidence.get("duplicate_task_ends"))),
            ("Details that had no room", count(evidence.get("left_out"))),
            ("Values that should be numbers and are none", count(evidence.get("odd_values"))),
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
        yield "The log holds no event, so nothing is known of the application."
        return
    sentences = (
        (not evidence.get("complete"),
         "The log has no end of the application: what came after its last line is not known."),
        (evidence.get("truncated"),
         "The log is torn: its last line or its last block is not whole, and what followed is lost."),
        (evidence.get("missing_files"), "Files of the log are not there: what they held is missing."),
        (any(each.get("error") for each in evidence.get("files") or ()),
         "A file of the log could not be read to its end: what follows there is missing."),
        (_malformed(evidence), "Lines that are no events were passed over; what they told is missing from the sums."),
        (whole(evidence.get("unfinished_tasks")), "Tasks without an end are in no sum and no distribution."),
        (whole(evidence.get("duplicate_task_ends")),
         "Some tasks ended more than once; each end counts, as Spark's own history does it."),
        (whole(evidence.get("left_out")),
         "Details of plans, accumulators and memory had no room; those tables are not whole."),
        (whole(evidence.get("odd_values")), "Values that should be numbers are none; each was taken as absent."),
    )  # fmt: skip
    yield from (sentence for holds, sentence in sentences if holds)
    yield from _limits_of_metrics(analysis.get("stages") or ())


def _limits_of_metrics(stages: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    tasks = sum(whole(each.get("tasks")) for each in stages)
    silent = sum(whole(each.get("without_metrics")) for each in stages)
    if not tasks:
        yield "No task ended, so costs, distributions, spill and garbage collection are not known."
    elif silent >= tasks:
        yield "No task carries metrics, so bytes, spill and garbage collection are not known; times are the log's."
    elif silent:
        yield f"{count(silent)} of {count(tasks)} task ends carry no metrics, as failed ones often do; sums lack them."


def _file(file: Mapping[str, Any] | str) -> tuple[str, str]:
    """A file and how it was read; one that is told by its name alone is missing."""
    if isinstance(file, str):
        return clean(file), "missing"
    told = [clean(file.get("codec")), f"{size(file.get('bytes'))}, {size(file.get('plain_bytes'))} unpacked"]
    told += ["torn" if file.get("truncated") else "", clean(file.get("error"))]
    return clean(file.get("name")), ", ".join(each for each in told if each)


def _malformed(evidence: Mapping[str, Any]) -> int:
    """All of them; the list holds the first thousand."""
    return max(whole(evidence.get("malformed")), len(evidence.get("malformed_lines") or ()))


def _undecidable(analysis: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(analysis.get("not_decidable") or ())[:MAX_EVIDENCE_ROWS]


def _completeness(evidence: Mapping[str, Any]) -> str:
    """Rounded down, so that 100 % means all of it."""
    found = number(evidence.get("completeness"))
    return "unknown" if found is None else f"{int(found * 1000) / 10:g} %"
