"""What detection says: the latest of every finding, looked up by the run and stage that it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_native_analytics.fuse_controller.verdict import Scope

# A firing finding is sent again each minute; a window and the way here come on top.
MAX_AGE_MS = 90_000
_FIRING = "firing"


@dataclass(frozen=True)
class Witness:
    """A finding that fires for the very run and stage."""

    finding: Finding
    run: FindingRun


class FindingBook:
    """Keeps findings that fire; a resolved or old one is let go."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}

    def put(self, finding: Finding) -> None:
        """Take a finding; one that is not newer than what is known changes nothing."""
        known = self._findings.get(finding.finding_id)
        if known is not None and known.updated_ms > finding.updated_ms:
            return
        if finding.state == _FIRING:
            self._findings[finding.finding_id] = finding
        else:
            self._findings.pop(finding.finding_id, None)

    def witness(self, scope: Scope, now_ms: int) -> Witness | None:
        """The finding of this rule that fires for this run and stage attempt, and was said lately."""
        self._findings = {
            key: finding for key, finding in self._findings.items() if now_ms - finding.updated_ms <= MAX_AGE_MS
        }
        for finding in self._findings.values():
            if finding.rule == scope.rule and finding.cluster == scope.run.cluster:
                for run in finding.runs:
                    if _speaks_of(run, scope):
                        return Witness(finding, run)
        return None


def _speaks_of(run: FindingRun, scope: Scope) -> bool:
    same_run = (run.app_id, run.app_attempt, run.app_start_ms) == scope.run[1:]
    same_stage = run.HasField("stage_id") and (run.stage_id, run.stage_attempt) == (scope.stage_id, scope.stage_attempt)
    return run.state == _FIRING and same_run and same_stage
