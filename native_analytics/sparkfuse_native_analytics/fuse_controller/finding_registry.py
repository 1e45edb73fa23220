"""The latest version of each firing finding, searchable by run and stage."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_native_analytics.fuse_controller.rule_match import Scope

# Detection sends a firing finding again each minute; the rest covers one window and the way here.
MAX_AGE_MS = 90_000
_FIRING = "firing"


@dataclass(frozen=True)
class Confirmation:
    """A firing finding that confirms a rule match: it names the same run and stage attempt."""

    finding: Finding
    run: FindingRun


class FindingRegistry:
    """Keeps firing findings; resolved and expired ones are removed."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}

    def put(self, finding: Finding) -> None:
        """Add a finding. A version older than the stored one is ignored."""
        known = self._findings.get(finding.finding_id)
        if known is not None and known.updated_ms > finding.updated_ms:
            return
        if finding.state == _FIRING:
            self._findings[finding.finding_id] = finding
        else:
            self._findings.pop(finding.finding_id, None)

    def confirmation(self, scope: Scope, now_ms: int) -> Confirmation | None:
        """Return the finding of this rule that fires for this run and stage attempt, if it is recent."""
        self._findings = {
            key: finding for key, finding in self._findings.items() if now_ms - finding.updated_ms <= MAX_AGE_MS
        }
        for finding in self._findings.values():
            if finding.rule == scope.rule and finding.cluster == scope.run.cluster:
                for run in finding.runs:
                    if _covers(run, scope):
                        return Confirmation(finding, run)
        return None


def _covers(run: FindingRun, scope: Scope) -> bool:
    same_run = (run.app_id, run.app_attempt, run.app_start_ms) == scope.run[1:]
    same_stage = run.HasField("stage_id") and (run.stage_id, run.stage_attempt) == (scope.stage_id, scope.stage_attempt)
    return run.state == _FIRING and same_run and same_stage
