"""Which runs a reader wants, and a place in the list of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries.run_rows import Run


@dataclass(frozen=True)
class RunFilter:
    """Which runs are wanted; an empty string or 0 does not restrict them.

    ``since_ms`` is the earliest start and ``until_ms`` the latest, in ms since the epoch. ``text`` is a part of the
    application's name or id; ``job_text`` is a part of the job key. ``who`` is the user, the owner or the team.
    ``app_ids`` selects applications.
    """

    since_ms: int = 0
    until_ms: int = 0
    status: str = ""
    job_key: str = ""
    job_text: str = ""
    who: str = ""
    team: str = ""
    user: str = ""
    cluster: str = ""
    text: str = ""
    app_ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunPlace:
    """The place of a run in the list of runs, from which the next page starts."""

    app_start_ms: int
    app_id: str
    app_attempt: int

    @classmethod
    def of(cls, run: Run) -> RunPlace:
        """Return the place of a run."""
        return cls(run.app_start_ms, run.app_id, run.app_attempt)
