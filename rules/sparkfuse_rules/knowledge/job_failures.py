"""Choose the failure that a failed job reports, live and offline: the job's own, or that of its first failed stage."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sparkfuse_rules.knowledge.application_end import cause_of_stop
from sparkfuse_rules.knowledge.failures import UNKNOWN, Failure, classify

_STAGE_IN_TEXT = re.compile(r"\b(?:[Ss]tage|ResultStage|ShuffleMapStage) (\d{1,9})\b")


def failure_of_job(of_job: str, of_stage: str, ended_driver: Iterable[str] = ()) -> tuple[str, Failure]:
    """Return the reason that a failed job reports, and the failure class of that reason.

    If the job has no reason (old logs) or a reason of unknown class, the reason of its first failed stage is used. If
    the job only reports that its context stopped, the last error of ``ended_driver`` is used: the errors of tasks that
    ended the JVM of the driver.
    """
    found, by_stage = classify(None, of_job), classify(None, of_stage)
    if of_stage and (not of_job.strip() or (found == UNKNOWN and by_stage != UNKNOWN)):
        return of_stage, by_stage
    if error := cause_of_stop(found, ended_driver):
        return error, classify(None, error)
    return of_job, found


def failed_stage_of_job(stage_id: int | None, reason: str) -> int | None:
    """Return the first failed stage if it is known, else the stage that the text of the reason names."""
    if stage_id is not None:
        return stage_id
    named = _STAGE_IN_TEXT.search(reason)
    return int(named[1]) if named else None
