"""The gates between a signal and an external stop, in their order.

Each gate is a pure function of one `Case`, so that a test can remove a gate and show what that gate prevents. A signal
that passes the gates in ``ADMISSION`` uses up its generation, even if a later gate refuses the signal.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sparkfuse_contracts.generated.approval_pb2 import Approval
from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_native_analytics.fuse_actuator.actuator_memory import Memory
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import ACT, ActuatorSettings
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import Found, Running
from sparkfuse_native_analytics.fuse_actuator.external_policies import ExternalPolicy
from sparkfuse_native_analytics.fuse_controller.approvals import TOPIC as APPROVALS
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook, Subject
from sparkfuse_native_analytics.fuse_controller.keys import ACT as ACT_KEY
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, KeyRing
from sparkfuse_native_analytics.fuse_controller.patterns import matches
from sparkfuse_native_analytics.fuse_controller.signing import SignatureRefusedError, target_digest, verify
from sparkfuse_rules.conditions import COMPARISONS

SIGNALS = "signals"
MAX_LIFE_MS = 120_000
MAX_SKEW_MS = 30_000
MAX_PAUSE_MS = 10_000
MIN_COMPLETENESS = 0.99
REFUSED, EXPIRED, HELD, BLIND, DISAGREES = "refused", "expired", "held", "blind", "disagrees"


@dataclass(frozen=True)
class Case:
    """Everything that the decision about one signal depends on.

    ``appended_ms``: the time at which the broker appended the signal, None if the writer chose the time. ``now_ms``:
    the broker's time now. ``controls`` is None if they cannot be read to their end. ``announced``: the audit record
    with the generation of the signal, or None. ``found``: the answer of the cluster manager. ``row``: the latest row of
    the application in ``live``, or None. ``pause_ms``: time since the actuator began to read the controls.
    """

    settings: ActuatorSettings
    keys: KeyRing
    signed: SignedMessage
    signal: Signal
    appended_ms: int | None
    now_ms: int
    memory: Memory
    policy: ExternalPolicy | None
    controls: ControlBook | None
    announced: AuditRecord | None
    found: Found
    row: LiveRow | None
    pause_ms: int

    @property
    def stops_now(self) -> bool:
        """Whether the signal asks for a stop, and not only for an answer."""
        return not self.signal.probe

    @property
    def subject(self) -> Subject:
        """The target of the signal, with the properties by which a control selects targets."""
        signal = self.signal
        return Subject(signal.cluster, signal.rule, signal.job_key, signal.app_id)


@dataclass(frozen=True)
class Refusal:
    """The gate that did not pass, the outcome of the receipt, and the reason."""

    outcome: str
    reason: str


Gate = Callable[[Case], Refusal | None]


def signature(case: Case) -> Refusal | None:
    """Refuse a signal that no valid key for the purpose act has signed."""
    revoked = case.controls.revoked_keys if case.controls else frozenset()
    try:
        verify(case.signed, Signal, SIGNALS, ACT_KEY, case.keys, case.now_ms, revoked)
    except SignatureRefusedError as error:
        return Refusal(REFUSED, str(error))
    return None


def timestamp(case: Case) -> Refusal | None:
    """Refuse a record whose time the broker did not set."""
    if case.appended_ms is None:
        return Refusal(REFUSED, "the topic signals does not use message.timestamp.type=LogAppendTime")
    return None


def clock(case: Case) -> Refusal | None:
    """Refuse a signal from a controller whose clock differs from the broker's."""
    skew_ms = case.signal.issued_ms - (case.appended_ms or 0)
    if abs(skew_ms) > MAX_SKEW_MS:
        return Refusal(REFUSED, f"the controller's clock differs by {skew_ms} ms from the broker's")
    return None


def lifetime(case: Case) -> Refusal | None:
    """Refuse a signal that has expired by the broker's time, or whose lifetime is too long."""
    life_ms = case.signal.expires_ms - case.signal.issued_ms
    if not 0 < life_ms <= MAX_LIFE_MS:
        return Refusal(REFUSED, f"a signal is valid for at most {MAX_LIFE_MS} ms, not {life_ms} ms")
    over_ms = case.now_ms - (case.appended_ms or 0) - life_ms
    return Refusal(EXPIRED, f"the signal expired {over_ms} ms ago") if over_ms >= 0 else None


def epoch(case: Case) -> Refusal | None:
    """Refuse a signal of a controller that a newer controller has replaced."""
    if case.signal.epoch < case.memory.epoch:
        return Refusal(REFUSED, f"epoch {case.signal.epoch} is older than the current one, {case.memory.epoch}")
    return None


def generation(case: Case) -> Refusal | None:
    """Refuse a signal that is not newer than the newest signal that was accepted."""
    last = case.memory.generation(case.signal.app_id)
    if case.signal.generation <= last:
        return Refusal(REFUSED, f"generation {case.signal.generation} is not newer than the last one, {last}")
    return None


def announced(case: Case) -> Refusal | None:
    """Refuse a signal without a record in the audit log, because only the controller can write to the audit log."""
    record, signal = case.announced, case.signal
    same = record is not None and (record.signal_id, record.app_id, record.rule, record.action, record.epoch) == (
        signal.signal_id, signal.app_id, signal.rule, signal.action, signal.epoch,
    )  # fmt: skip
    return None if same else Refusal(REFUSED, f"no audit record announces the generation {signal.generation}")


def policy(case: Case) -> Refusal | None:
    """Refuse a signal if the actuator does not have its policy, or if the policy is for another rule."""
    if case.policy is None:
        return Refusal(REFUSED, f"the actuator has no policy with the hash {case.signal.policy_hash}")
    if case.policy.rule != case.signal.rule:
        return Refusal(REFUSED, f"the policy is for the rule {case.policy.rule}")
    return None


def mode(case: Case) -> Refusal | None:
    """Refuse a stop unless the actuator's own mode is act."""
    if case.stops_now and case.settings.mode != ACT:
        return Refusal(REFUSED, f"the mode of the actuator is {case.settings.mode}")
    return None


def job(case: Case) -> Refusal | None:
    """Refuse to stop a job that the configuration does not list, because its owner has not agreed."""
    if case.stops_now and not any(matches(pattern, case.signal.job_key) for pattern in case.settings.jobs):
        return Refusal(REFUSED, f"the job {case.signal.job_key!r} is not listed under jobs")
    return None


def hold(case: Case) -> Refusal | None:
    """Refuse a signal that a hold of an operator matches, and any signal if the controls cannot be read."""
    if case.controls is None:
        return Refusal(HELD, "the controls cannot be read to their end")
    held = case.controls.hold(case.subject, case.now_ms)
    return Refusal(HELD, held[1]) if held else None


def armed(case: Case) -> Refusal | None:
    """Refuse a stop that no arming allows."""
    if case.stops_now and (
        case.controls is None or case.controls.arming(case.subject, case.signal.action, case.now_ms) is None
    ):
        return Refusal(REFUSED, f"{case.signal.rule} is not armed for {case.signal.action}")
    return None


def approval(case: Case) -> Refusal | None:
    """Refuse a stop without the approval that the policy requires."""
    if not case.stops_now or case.policy is None or not case.policy.requires_approval:
        return None
    if not case.signal.HasField("approval"):
        return Refusal(REFUSED, "the policy requires an approval")
    revoked = case.controls.revoked_keys if case.controls else frozenset()
    try:
        given = verify(case.signal.approval, Approval, APPROVALS, APPROVE, case.keys, case.now_ms, revoked)
    except SignatureRefusedError as error:
        return Refusal(REFUSED, f"the approval: {error}")
    if given.digest != target_digest(case.signal):
        return Refusal(REFUSED, "the approval is for another target")
    if case.now_ms >= given.expires_ms:
        return Refusal(REFUSED, "the approval has expired")
    if not given.approval_id or given.approval_id in case.memory.approvals:
        return Refusal(REFUSED, "the approval was already used")
    return None


def budget(case: Case) -> Refusal | None:
    """Refuse more stops than the actuator's own budget allows."""
    if not case.stops_now:
        return None
    stops, allowed = case.memory.stops_of_last_hour(case.now_ms), case.settings.budget
    of_job = sum(stop.job_key == case.signal.job_key for stop in stops)
    if of_job >= allowed.job_per_hour or len(stops) >= allowed.total_per_hour:
        return Refusal(
            REFUSED, f"the budget of this hour is exhausted: {of_job} stops of the job, {len(stops)} in total"
        )
    return None


def manager(case: Case) -> Refusal | None:
    """Refuse unless the cluster manager reports one running instance of the application."""
    if isinstance(case.found, Running):
        return None
    return Refusal(BLIND, f"the cluster manager does not report a running application: {case.found.reason}")


def attempt(case: Case) -> Refusal | None:
    """Refuse if the cluster manager runs another attempt; attempt 0 of Spark counts as 1, because it means unknown."""
    if not isinstance(case.found, Running) or case.found.attempt is None:
        return None
    expected = max(1, case.signal.app_attempt)
    if case.found.attempt != expected:
        return Refusal(DISAGREES, f"the cluster manager runs attempt {case.found.attempt}, not {expected}")
    return None


def start(case: Case) -> Refusal | None:
    """Refuse if the start time that the cluster manager reports differs too much from the application's start."""
    if not isinstance(case.found, Running):
        return None
    difference_ms = abs(case.found.started_ms - case.signal.app_start_ms)
    if difference_ms > case.settings.start_tolerance_ms:
        return Refusal(DISAGREES, f"the cluster manager's start differs by {difference_ms} ms from the application's")
    return None


def evidence(case: Case) -> Refusal | None:
    """Refuse if the latest row of this run is missing, too old, or computed from incomplete facts."""
    row, signal = case.row, case.signal
    if row is None or (row.app_attempt, row.app_start_ms) != (signal.app_attempt, signal.app_start_ms):
        return Refusal(BLIND, "the topic live has no recent row of this run")
    age_ms, allowed_ms = case.now_ms - row.window_end_ms, case.policy.max_counter_age_ms if case.policy else 0
    if abs(age_ms) > allowed_ms:
        return Refusal(BLIND, f"the latest row of the application is {age_ms} ms old")
    if row.completeness < MIN_COMPLETENESS:
        return Refusal(BLIND, f"the facts are {row.completeness:.1%} complete, below {MIN_COMPLETENESS:.0%}")
    return None


def predicate(case: Case) -> Refusal | None:
    """Refuse if the application shows life: a condition of the policy is false for its latest row."""
    if case.policy is None or case.row is None:
        return None
    values = counters(case)
    for condition in case.policy.conditions:
        if condition.column not in values:
            return Refusal(DISAGREES, f"the row of the application has no {condition.column}")
        if not COMPARISONS[condition.operator](values[condition.column], condition.threshold):
            threshold = f"{condition.operator} {condition.threshold:g}"
            return Refusal(DISAGREES, f"{condition.column} is {values[condition.column]:g}, not {threshold}")
    age_ms = case.now_ms - case.signal.app_start_ms
    if age_ms < case.policy.after_ms:
        return Refusal(DISAGREES, f"the application started only {age_ms} ms ago")
    return None


def pause(case: Case) -> Refusal | None:
    """Refuse a stop if too much time has passed since the controls were read: a hold may have begun."""
    if case.stops_now and case.pause_ms > MAX_PAUSE_MS:
        return Refusal(REFUSED, f"the actuator began to read the controls {case.pause_ms} ms before it could act")
    return None


ADMISSION: Mapping[str, Gate] = {
    "signature": signature,
    "timestamp": timestamp,
    "clock": clock,
    "lifetime": lifetime,
    "epoch": epoch,
    "generation": generation,
    "announced": announced,
}
GATES: Mapping[str, Gate] = {
    **ADMISSION,
    "policy": policy,
    "mode": mode,
    "job": job,
    "hold": hold,
    "armed": armed,
    "approval": approval,
    "budget": budget,
    "manager": manager,
    "attempt": attempt,
    "start": start,
    "evidence": evidence,
    "predicate": predicate,
    "pause": pause,
}


def first_refusal(case: Case, gates: Mapping[str, Gate] = GATES) -> tuple[str, Refusal] | None:
    """Return the first gate that does not pass, with its refusal; None if all pass."""
    return next(((name, found) for name, gate in gates.items() if (found := gate(case)) is not None), None)


def counters(case: Case) -> dict[str, float]:
    """Return the columns that the policy's conditions use and that the application's row has."""
    if case.policy is None or case.row is None:
        return {}
    row = case.row.application
    names = [each.column for each in case.policy.conditions if each.column in row.DESCRIPTOR.fields_by_name]
    return {name: float(getattr(row, name)) for name in names if row.HasField(name)}
