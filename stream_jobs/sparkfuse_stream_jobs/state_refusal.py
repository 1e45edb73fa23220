"""Recognises that Flink or a job refuses saved state, and says what the user can do."""

from __future__ import annotations

from pathlib import Path

from sparkfuse_stream_jobs.checkpoints import checkpoint_directory
from sparkfuse_stream_jobs.placement import on_cluster

RUNBOOK = "docs/runbooks/upgrade.md"
_REFUSALS = (
    # An operator of the saved state is not in this release, or the maximum parallelism differs.
    "Cannot map checkpoint/savepoint state for operator",
    "Max parallelism mismatch between checkpoint/savepoint state and new program",
    # The type of the state differs, for example that of an aggregate.
    "org.apache.flink.util.StateMigrationException",
    # StateFormat.java and detect/state/codec.py
    "The saved state has format",
    "SavedStateError",
)
_WAYS = {
    "windows": "Start the last release again, or run both releases side by side, each with its own epochs, then switch",
    "detect": "Start the last release again, or start this release without saved state",
}
# What happens after the saved state of a job is removed.
_AFTER_LOSS = {
    "windows": "the job reads the retained facts again; for applications that started before them, a new epoch "
    "starts, and their rows are marked incomplete",
    "detect": "the job evaluates new rows without the names and findings of the applications that are running",
}


def is_refusal(reason: str) -> bool:
    """Whether the text of an error reports that the saved state does not fit the operators of the job."""
    return any(refusal in reason for refusal in _REFUSALS)


def refusal_message(name: str, home: Path) -> str:
    """Return what the user can do if the saved state of the job ``name`` does not fit this release."""
    message = f"the saved state does not fit this release. {_WAYS[name]} ({RUNBOOK})."
    if on_cluster():
        return message
    directory = checkpoint_directory(home, name)
    return f"{message} If you remove {directory}, {_AFTER_LOSS[name]}."
