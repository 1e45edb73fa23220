"""The errors of `CircuitBreaker`. This module uses the standard library only."""

from __future__ import annotations

import re
from typing import Any

# The plugin's class ReasonText writes this sentence; Spark includes the sentence in the exception of a cancelled
# action.
_SIGNAL = re.compile(
    r"\[SPARKFUSE_FUSE_BLOWN\] (?P<deed>.*?)\. Rule: (?P<rule>.*?)\. Evidence: (?P<evidence>.*?)"
    r"(?:\. Look at: (?P<look_at>.*?))?\. To override: (?P<override>.*?)\. \(signal (?P<signal_id>[^)]*)\)",
    re.DOTALL,
)
# The plugin's class Block writes this sentence.
_LIMIT = re.compile(
    r"\[SPARKFUSE_BLOCK_STOPPED\] (?P<deed>.*?)\. Tag: (?P<tag>\S+)\. Limit: (?P<limit>\w+) (?P<bound>\d+)\. "
    r"Evidence: (?P<evidence>.*?)\. To override: (?P<override>.*?)\. \(end\)",
    re.DOTALL,
)


class FuseError(RuntimeError):
    """Sparkfuse stopped a part of this job, or warns about it.

    Attributes:
        rule: id of the rule, or name of the limit.
        evidence: a sentence with the numbers.
        override: what the owner can do to allow this work.
        look_at: address of the dashboard, or id of the finding; may be empty.
        doing: name of the breaker or the text passed to `CircuitBreaker.guard`; empty for `check`.
        tag: tag of the block whose jobs were stopped; empty if no block was stopped.
        stopped_by: who or what stopped the work: `signal ID` of the fuse controller, or `limit` of the block.
    """

    verb = "stopped"

    def __init__(
        self,
        rule: str,
        evidence: str,
        override: str,
        look_at: str = "",
        doing: str = "",
        tag: str = "",
        stopped_by: str = "",
    ) -> None:
        self.rule = rule
        self.evidence = evidence
        self.override = override
        self.look_at = look_at
        self.doing = doing
        self.tag = tag
        self.stopped_by = stopped_by
        super().__init__(rule, evidence, override, look_at, doing, tag, stopped_by)

    def __str__(self) -> str:
        where = f" at '{self.doing}'" if self.doing else ""
        look_at = f" Look at: {self.look_at}." if self.look_at else ""
        return (
            f"the fuse has {self.verb}{where}. Rule: {self.rule}. Evidence: {self.evidence}.{look_at} "
            f"To override: {self.override}."
        )


class FuseBlownError(FuseError):
    """A signal of the fuse controller stopped a part of this job."""

    verb = "blown"


class LimitExceededError(FuseError):
    """A block exceeded a limit that its own code set."""

    verb = "stopped the block"


class FuseWarnedError(FuseError):
    """A signal that stopped nothing: it warned, or a hold prevented its act. Raised only with `on_warn="raise"`."""

    verb = "warned"


def from_event(event: dict[str, Any], doing: str, kind: type[FuseError] = FuseBlownError) -> FuseError:
    """Return the error for an event of the plugin."""
    look_at = event.get("dashboard_url") or event.get("finding_id") or ""
    stopped_by = f"signal {event.get('signal_id', '')}"
    return kind(
        event.get("rule", ""),
        event.get("evidence", ""),
        event.get("override", ""),
        look_at,
        doing,
        stopped_by=stopped_by,
    )


def from_text(text: str, doing: str, tag: str = "") -> FuseError | None:
    """Return the error that Spark's exception text describes, or None; a limit of another block does not count."""
    signal = _SIGNAL.search(text)
    if signal is not None:
        return FuseBlownError(
            signal["rule"],
            signal["evidence"],
            signal["override"],
            signal["look_at"] or "",
            doing,
            tag,
            f"signal {signal['signal_id']}",
        )
    limit = _LIMIT.search(text)
    # Spark 4 and Spark Connect put the user and the session before the tag.
    if limit is None or not limit["tag"].endswith(tag):
        return None
    evidence = f"{limit['evidence']}, limit {limit['bound']}"
    return LimitExceededError(limit["limit"], evidence, limit["override"], "", doing, limit["tag"], "limit")
