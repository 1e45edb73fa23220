"""Find the first cause in the text of a failure: the innermost exception, without the text that Spark adds.

Formats: Throwable.printStackTrace (Java), traceback (Python), TaskSetManager, DAGScheduler and TaskEndReason (Spark).
"""

from __future__ import annotations

import re

MOST_CHARS = 500
# Texts from collectors are shorter than this; a text in an event log may be very long.
MOST_SEARCHED = 65_536
# Since Spark 3, host and executor are in separate brackets; before Spark 3, they were in the brackets of the task id.
_ABORTED = re.compile(
    r"most recent failure: (?:Lost task \S+ in stage \S+ \(TID \d+(?:, [^\n]{0,300}?)?\)(?: \([^\n]{0,300}?\))?: )?"
)
_EXECUTOR_LOST = re.compile(r"ExecutorLostFailure \(executor [^\n]{0,300}?\) Reason: ")
_CAUSED_BY = re.compile(r"(?m)^Caused by: ")
_TRACEBACK = "Traceback (most recent call last):"
_FETCH_MESSAGE = re.compile(r"FetchFailed\([^\n]{0,600}?message=\s*")
# Stack frames of Java, alone or in one line, and of Python with the line of code below; exceptions of a clean-up.
_FRAMES = re.compile(
    r"(?m)(?:^|[ \t])[ \t]*at [\w.$<>/@-]+\([^()\n]{0,200}\)(?:[ \t]*~?\[[^\]\n]{0,120}\])?"
    r"|^[ \t]*[\w.$<>]+\([\w ]+(?:\.(?:java|scala):\d+)?\)[ \t]*$"
    r'|^[ \t]*File "[^"\n]{0,300}", line \d+[^\n]*\n(?:[ \t]{3,}[^\n]*(?:\n|$))*'
    r"|^[ \t]*(?:Suppressed: [^\n]*|\.\.\. \d+ (?:more|common)[^\n]*)$"
)
# The text after the cause: a stack, the text that the driver adds after the stack, or the end of a FetchFailed.
_REST = re.compile(r"(?m)\n\s*(?:at |\.\.\. \d+ more|Driver stacktrace:|Caused by: |Suppressed: )|\n\n|\n\)\s*$")


def first_cause(text: str | None) -> str | None:
    """Return the innermost exception with its message, in one line of at most 500 characters; None for an empty text.

    The innermost exception is the last cause of a Java chain, the first of Python's chained tracebacks, or the text
    that Spark wraps. If no such format is found, the beginning of the text is returned.
    """
    if text is None or not text.strip():
        return None
    found = text[:MOST_SEARCHED].strip()
    for wrapping in (_ABORTED, _EXECUTOR_LOST, _FETCH_MESSAGE):
        if wrapped := wrapping.search(found):
            found = found[wrapped.end() :].strip() or found
    if causes := list(_CAUSED_BY.finditer(found)):
        found = found[causes[-1].end() :]
    found = _python_exception(found) or found
    line = " ".join(_REST.split(found, maxsplit=1)[0].split())
    return line if len(line) <= MOST_CHARS else line[: MOST_CHARS - 1] + "…"


def without_frames(text: str) -> str:
    """Return the exceptions in a text: the text without stack frames and without suppressed exceptions."""
    return _FRAMES.sub("", text)


def _python_exception(text: str) -> str | None:
    """Return the exception that follows the first traceback; None if there is no complete traceback."""
    _, found, below = text.partition(_TRACEBACK)
    if not found:
        return None
    for place, line in enumerate(lines := below.lstrip("\n").split("\n")):
        if line and not line[0].isspace() and not line.startswith("["):
            return "\n".join(lines[place:])
    return None
