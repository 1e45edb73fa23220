"""What became of a job or a query that ended badly, for live and offline alike."""

from __future__ import annotations

from sparkfuse_rules.knowledge.failures import Failure
from sparkfuse_rules.knowledge.losses import BENIGN

# One whose query failed may have ended well itself, or have been cancelled by it.
FAILED, QUERY_FAILED, CANCELLED = "failed", "query_failed", "cancelled"
# Failures that say that somebody ended it on purpose.
_ON_PURPOSE = frozenset({"cancelled", "context_stopped"})


def on_purpose(found: Failure) -> bool:
    """Whether somebody ended the job or query that says this."""
    return found.reason in _ON_PURPOSE


def harming(found: Failure) -> Failure:
    """The failure of a job that nobody ended on purpose: what harms no task by itself has harmed this job."""
    return Failure("infrastructure", found.reason, found.retry) if found.kind == BENIGN else found
