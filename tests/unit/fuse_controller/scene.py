"""Test data for the fuse controller: rows of a runaway stage, its finding, and an Environment without I/O."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_native_analytics.fuse_controller.keys import key_id
from sparkfuse_native_analytics.fuse_controller.signing import verify
from sparkfuse_native_analytics.fuse_controller.silences import SilenceUnknownError

RULE = "stage_runaway_spill"
START_MS = 1_795_226_400_000
NOW_MS = START_MS + 3_600_000


def live_row(app_id="app-1", now_ms=NOW_MS, seq=1, completeness=1.0, **stage):
    """Return the row of a running stage that spills 60 GB while no task ends; ``stage`` overrides columns."""
    columns = {
        "stage_id": 3, "stage_attempt": 0, "name": "sort at job.py:7", "status": "running", "elapsed_ms": 900_000,
        "disk_spilled_bytes": 60_000_000_000, "since_finish_ms": 700_000, "running_tasks": 2, "finished_tasks": 0,
    }  # fmt: skip
    return LiveRow(
        view="stage_live", cluster="prod", app_id=app_id, app_attempt=0, app_start_ms=START_MS, window_end_ms=now_ms,
        row_seq=seq, completeness=completeness, stage=StageLive(**{**columns, **stage}),
    )  # fmt: skip


def finding(app_id="app-1", now_ms=NOW_MS, job_key="orders", severity="critical", completeness=1.0, state="firing"):
    """Return the finding that detection emits for that row."""
    run = FindingRun(run_key=app_id, app_id=app_id, app_attempt=0, app_start_ms=START_MS, stage_id=3, stage_attempt=0,
                     state=state, severity=severity, stage_name="q0: sort orders")  # fmt: skip
    return Finding(
        finding_id=f"finding-{app_id}", rule=RULE, severity=severity, state=state, job_key=job_key, cluster="prod",
        updated_ms=now_ms, completeness=completeness, runs=[run],
    )  # fmt: skip


@dataclass
class World:
    """An Environment that records actions and signals in lists."""

    key: EllipticCurvePrivateKey
    time_ms: int = NOW_MS
    actions: list[Action] = field(default_factory=list)
    signals: list[Signal] = field(default_factory=list)
    silenced_findings: set[str] = field(default_factory=set)
    alertmanager: bool = True
    broken: bool = False
    arriving: list = field(default_factory=list)

    def now_ms(self):
        """Return the fixed time."""
        return self.time_ms

    def refresh(self):
        """Deliver the records that arrive between decision and act."""
        for arrive in self.arriving:
            arrive()

    def silenced(self, finding_id):
        """Return whether the test silenced the finding."""
        if not self.alertmanager:
            raise SilenceUnknownError("none answers")
        return finding_id in self.silenced_findings

    def write_action(self, action):
        """Record the action."""
        if self.broken:
            raise OSError("the broker does not answer")
        self.actions.append(action)

    def write_signal(self, signed, signal):
        """Record the signal after verifying it with the public key, as the hook does."""
        public = self.key.public_key()
        self.signals.append(verify(signed, {key_id(public): public}))

    @property
    def outcomes(self):
        """Return the results of all actions in order."""
        return [action.outcome for action in self.actions]
