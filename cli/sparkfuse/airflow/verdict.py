"""Decides from the evidence of a failed Spark job whether a retry of its Airflow task can succeed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sparkfuse.hook_errors import FuseError, FuseWarnedError
from sparkfuse_rules.knowledge.failures import UNKNOWN, classify
from sparkfuse_rules.knowledge.first_cause import first_cause

NEVER, TRANSIENT, LARGER = "never", "transient", "larger"
FUSE = "fuse"
# The plugin writes the codes in brackets into the exception of a stopped job; a `FuseError` contains the other codes.
_FUSE_TEXT = re.compile(
    r"(?:\[SPARKFUSE_(?:FUSE_BLOWN|BLOCK_STOPPED)\]|the fuse has (?:blown|stopped the block)).{0,2000}", re.DOTALL
)
# Exceptions of these packages come from Spark; the text of any other exception must name a class of Spark.
_SPARK_PACKAGES = ("pyspark", "py4j")
_SPARK_TEXT = re.compile(r"\borg\.apache\.spark\.|\bpyspark\.errors\.|\bpy4j\.protocol\.")
MOST_CAUSES = 20


@dataclass(frozen=True)
class Verdict:
    """Whether a retry can succeed (``never``, ``transient``, ``larger``), the failure and the evidence as a sentence.

    ``failure`` is a class of docs/failures.md, or ``fuse`` if Sparkfuse stopped the job.
    """

    retry: str
    failure: str
    evidence: str

    def __str__(self) -> str:
        advice = {
            NEVER: "a retry would fail in the same way",
            LARGER: "a retry can succeed only with more memory",
        }.get(self.retry, "a retry can succeed")
        return f"Sparkfuse: {advice} ({self.failure}). {self.evidence}"


def fuse_verdict(reason: str) -> Verdict:
    """Return the verdict on a job that the fuse stopped: never retry, because the job would run away again."""
    return Verdict(NEVER, FUSE, f"The fuse stopped the job: {' '.join(reason.split())}")


def verdict_of_text(text: str) -> Verdict | None:
    """Return the verdict on the text of a Spark failure; None if its class is unknown."""
    if stopped := _FUSE_TEXT.search(text):
        return fuse_verdict(stopped[0])
    cause = first_cause(text) or ""
    # The innermost cause decides, because the text before it is often a stack of frames that names no failure.
    found = classify(None, cause)
    if found == UNKNOWN:
        found = classify(None, text)
    return None if found == UNKNOWN else Verdict(found.retry, found.reason, cause)


def verdict_of_exception(error: BaseException) -> Verdict | None:
    """Return the verdict on an exception and its causes; None if none of them comes from Spark or the class is unknown.

    The failure classes describe failures of Spark jobs, so an exception of other code is never classified.
    """
    for each in _causes(error):
        if isinstance(each, FuseWarnedError):  # a warning stopped nothing, so only its causes count
            continue
        if isinstance(each, FuseError):
            return fuse_verdict(str(each))
        text = f"{type(each).__name__}: {each}"
        if type(each).__module__.split(".")[0] in _SPARK_PACKAGES or _SPARK_TEXT.search(text):
            return verdict_of_text(text)
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and the chain of its causes, at most ``MOST_CAUSES``, because a chain can be circular."""
    current: BaseException | None = error
    for _ in range(MOST_CAUSES):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
