"""The latest version of each firing finding of a rule with a fuse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_native_analytics.fuse_controller.scope import Scope, scope_of_run

# Detection republishes a firing finding each minute; the remaining 30 s cover one window and the transport.
MAX_AGE_MS = 90_000
# The clocks may differ by this much; if the time of a finding is further in the future, its age is unknown.
MAX_FUTURE_MS = 10_000
_FIRING = "firing"
# A signal contains these names, and the broker refuses records of more than a megabyte.
MAX_NAME = 1_000


@dataclass(frozen=True)
class Candidate:
    """One run of a firing finding, on which the fuse may act."""

    scope: Scope
    finding: Finding
    run: FindingRun


class FindingRegistry:
    """Keeps firing findings by id; resolved and expired findings are removed."""

    def __init__(self) -> None:
        self._findings: dict[str, Finding] = {}

    def put(self, finding: Finding, now_ms: int) -> str | None:
        """Add a finding; return why it is rejected, else None. A version older than the stored version is ignored.

        A version from the future does not hide later ones: it is kept until the next version, whatever its time.
        """
        names = (finding.finding_id, finding.cluster, finding.tenant, finding.team, finding.job_key)
        if any(len(name) > MAX_NAME for name in (*names, *(run.app_id for run in finding.runs))):
            return f"a name has more than {MAX_NAME} characters"
        known = self._findings.get(finding.finding_id)
        if known is not None and known.updated_ms > finding.updated_ms and known.updated_ms <= now_ms + MAX_FUTURE_MS:
            return None
        if finding.state == _FIRING:
            self._findings[finding.finding_id] = finding
        else:
            self._findings.pop(finding.finding_id, None)
        return None

    def candidates(self, now_ms: int, scopes: Mapping[str, str]) -> Iterator[Candidate]:
        """Yield the firing runs of recent findings that name their target; remove findings that became too old.

        ``scopes`` are the scopes of the policies by rule; findings of other rules are ignored.
        """
        self._findings = {
            key: finding for key, finding in self._findings.items() if now_ms - finding.updated_ms <= MAX_AGE_MS
        }
        for finding in self._findings.values():
            if (policy_scope := scopes.get(finding.rule)) is None:
                continue
            for run in finding.runs:
                scope = scope_of_run(finding.cluster, finding.rule, policy_scope, run)
                if run.state == _FIRING and scope is not None:
                    yield Candidate(scope, finding, run)
