"""Probes: signals that ask the hook whether it would act. An answer is scored when the run has ended.

A rule may be armed only with enough good scores. If the hook of a healthy run answers "would act", the probe counts as
false.

Any job can write receipts, so a second, different answer shows that one of the two is forged. Then the probe counts
neither for nor against the rule.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_native_analytics.fuse_controller.act_registry import (
    ACT_MODE,
    CONTRADICTORY,
    RECEIPTS,
    RECHECKED,
    REFUSED,
    SENT,
    SHADOW_MODE,
    VERIFIED,
    WOULD_ACT,
)
from sparkfuse_native_analytics.fuse_controller.outcomes import is_answer
from sparkfuse_native_analytics.fuse_controller.safeguards import Arming
from sparkfuse_native_analytics.fuse_controller.scope import Run
from sparkfuse_native_analytics.fuse_controller.view import Ending
from sparkfuse_rules.rule import EXTERNAL_STOP, WARN

PROBED, SCORED = "probed", "probe_scored"
TRUE_POSITIVE, FALSE_POSITIVE = "true_positive", "false_positive"
TRUE_NEGATIVE, FALSE_NEGATIVE = "true_negative", "false_negative"
# The score of a control sample whose run failed for another reason.
UNRELATED = "unrelated"
# The score of a probe that was refused by a gate other than the predicate, such as `hold` or `blind`. This score shows
# nothing about the policy.
NOT_EVALUATED = "not_evaluated"
# The score of a probe of a run on which the fuse acted. The run did not end by itself, so its end shows nothing.
AFFECTED = "affected"
# The score of a probe with two different answers.
CONTESTED = "contested"
PREDICATE = "predicate"
# Largest number of probes for one run and rule, and for all runs in a minute. These limits keep the load on drivers and
# broker low.
PROBES_PER_RUN = 3
PROBES_PER_MINUTE = 60
# One external actuator answers for all applications of a cluster, and asks the cluster manager for each answer.
EXTERNAL_PROBES_PER_MINUTE = 10
MINUTE_MS = 60_000
# A probe is removed without a score if its run has not ended after this time.
FORGET_MS = 7 * 24 * 3_600_000
# For this long after a question, the answer "would act" allows the next act; an older answer is asked for again.
AGREED_MS = MINUTE_MS
WOULD_ACT_ANSWER = "would_act"
_ANSWERS = (WOULD_ACT_ANSWER, "would_not_act")
# The gates of the hook and of the external actuator. Any other name in a receipt becomes OTHER_GATE, because each name
# of a gate is a label of a metric.
ANSWERING_GATES = frozenset(
    (
        "signature", "identity", "timestamp", "clock", "lifetime", "epoch", "generation", "announced", "policy", "mode",
        "job", "hold", "armed", "approval", "budget", "shared_driver", "blind", "target", "manager", "attempt", "start",
        "evidence", PREDICATE, "pause",
    )
)  # fmt: skip
OTHER_GATE = "other"
SUCCEEDED = "succeeded"
# The column that a row has only if its run or stage has ended.
_OUTLIVED = "outlived_ms"


@dataclass(frozen=True)
class Probe:
    """One probe, its answer and the end of its run.

    ``matched`` is true if a finding fired; otherwise the probe is a control sample. ``outlived`` is true if the run or
    the stage of the task had ended before the probe. ``affected`` is true if the fuse acted on the run. ``contested``
    is true if there are two different answers.
    """

    signal_id: str
    at_ms: int
    run: Run
    rule: str
    policy_hash: str
    action: str
    stage: tuple[int, int] | None
    matched: bool
    outlived: bool = False
    affected: bool = False
    contested: bool = False
    answer: str = ""
    gate: str = ""
    stage_status: str = ""
    stage_ended_ms: int = 0
    run_status: str = ""

    @property
    def complete(self) -> bool:
        """Whether the hook has answered and the run has ended."""
        return bool(self.answer and self.run_status)

    @property
    def healthy(self) -> bool:
        """Whether the stage succeeded by itself; if the end of the stage was not seen, the end of its run counts.

        An end before the probe does not show that the remaining process or task ends by itself.
        """
        return not self.outlived and (self.stage_status or self.run_status) == SUCCEEDED

    @property
    def score(self) -> str:
        """The score of the probe; use it only if the probe is complete."""
        if self.affected:
            return AFFECTED
        if self.contested:
            return CONTESTED
        if self.answer == WOULD_ACT_ANSWER:
            return FALSE_POSITIVE if self.healthy else TRUE_POSITIVE
        if self.gate != PREDICATE:
            return NOT_EVALUATED
        if self.healthy:
            return TRUE_NEGATIVE
        return FALSE_NEGATIVE if self.matched else UNRELATED


class ProbeBook:
    """The probes that wait for an answer or for the end of their run. Rebuilt from the audit log and the receipts."""

    def __init__(self) -> None:
        self._probes: dict[str, Probe] = {}
        self._sent_ms: dict[tuple[Run, str], list[int]] = {}
        self._reachable: set[Run] = set()
        self._external_ms: deque[int] = deque(maxlen=EXTERNAL_PROBES_PER_MINUTE)
        self._acts: dict[str, tuple[Run, int]] = {}
        self._rechecks: dict[tuple[Run, str], str] = {}

    def record(self, record: AuditRecord) -> None:
        """Add a record of the audit log."""
        run = Run(record.cluster, record.app_id, record.app_attempt, record.app_start_ms)
        if record.step == SCORED:
            self._probes.pop(record.signal_id, None)
        if record.step == SENT and record.mode == ACT_MODE and record.action != WARN:
            self._acts[record.signal_id] = (run, record.at_ms)
            self._rechecks.pop((run, record.rule), None)
        if record.step == VERIFIED and record.action != WARN:
            self._acts[record.signal_id] = (run, record.at_ms)
            if record.outcome == REFUSED and record.observed.get(RECEIPTS) != CONTRADICTORY:
                del self._acts[record.signal_id]
        if record.step == RECHECKED:
            self._rechecks[(run, record.rule)] = record.signal_id
        is_probe = record.step in (PROBED, RECHECKED) or (record.step == WOULD_ACT and record.mode == SHADOW_MODE)
        if not is_probe or not record.signal_id or record.signal_id in self._probes:
            return
        self._probes[record.signal_id] = Probe(
            record.signal_id,
            record.at_ms,
            run,
            record.rule,
            record.policy_hash,
            record.action,
            (record.stage_id, record.stage_attempt) if record.HasField("stage_id") else None,
            record.step != PROBED,
            _OUTLIVED in record.observed,
        )
        self._sent_ms.setdefault((run, record.rule), []).append(record.at_ms)
        if record.action == EXTERNAL_STOP:
            self._external_ms.append(record.at_ms)

    def answer(self, receipt: Receipt) -> None:
        """Add a receipt; it is the answer to a probe only if it comes from the hook or the actuator that was asked."""
        probe = self._probes.get(receipt.signal_id)
        if probe is None or receipt.app_id != probe.run.app_id or not is_answer(receipt, probe.action):
            return
        self._reachable.add(probe.run)
        if receipt.outcome not in _ANSWERS:
            return
        gate = receipt.gate if receipt.gate in ANSWERING_GATES or not receipt.gate else OTHER_GATE
        contested = bool(probe.answer) and (probe.answer, probe.gate) != (receipt.outcome, gate)
        self._probes[probe.signal_id] = (
            replace(probe, contested=True) if contested else replace(probe, answer=receipt.outcome, gate=gate)
        )

    def agreed(self, run: Run, rule: str, now_ms: int) -> bool:
        """Return whether the hook, asked again after it refused an act, has just answered that it would act."""
        probe = self._probes.get(self._rechecks.get((run, rule), ""))
        return (
            probe is not None
            and probe.answer == WOULD_ACT_ANSWER
            and not probe.contested
            and now_ms - probe.at_ms <= AGREED_MS
        )

    def end(self, ending: Ending, now_ms: int) -> None:
        """Add the end of a run or stage."""
        for signal_id, probe in self._probes.items():
            if probe.run != ending.run:
                continue
            if ending.of_run:
                self._probes[signal_id] = replace(probe, run_status=ending.status)
            elif ending.stage is not None and ending.stage == probe.stage and not probe.stage_status:
                self._probes[signal_id] = replace(probe, stage_status=ending.status, stage_ended_ms=now_ms)

    def runs(self) -> set[Run]:
        """Return the runs with a probe that has no score yet."""
        return {probe.run for probe in self._probes.values()}

    def complete(self) -> list[Probe]:
        """Return the probes that can be scored. The acts on their runs must have been verified before."""
        affected = {run for run, _ in self._acts.values()}
        return [replace(each, affected=each.run in affected) for each in self._probes.values() if each.complete]

    def forget(self, now_ms: int) -> None:
        """Remove old probes that were never answered or whose run never ended."""
        self._probes = {key: each for key, each in self._probes.items() if now_ms - each.at_ms < FORGET_MS}
        self._acts = {key: act for key, act in self._acts.items() if now_ms - act[1] < FORGET_MS}
        self._sent_ms = {key: times for key, times in self._sent_ms.items() if times and now_ms - times[-1] < FORGET_MS}
        self._reachable &= {run for run, _ in self._sent_ms}
        self._rechecks = {key: signal for key, signal in self._rechecks.items() if signal in self._probes}

    def due(self, run: Run, rule: str, now_ms: int) -> bool:
        """Return whether this run and rule may get one more probe now; a run that never answers gets only one."""
        sent = self._sent_ms.get((run, rule), ())
        few = len(sent) < (PROBES_PER_RUN if run in self._reachable else 1)
        return few and all(now_ms - at_ms >= MINUTE_MS for at_ms in sent)

    def external_budget(self, now_ms: int) -> int:
        """Return how many probes of work without a finding may be sent to the external actuator now."""
        return EXTERNAL_PROBES_PER_MINUTE - sum(now_ms - at_ms < MINUTE_MS for at_ms in self._external_ms)

    def budget(self, now_ms: int) -> int:
        """Return how many more probes of any runs may be sent now."""
        recent = sum(now_ms - at_ms < MINUTE_MS for times in self._sent_ms.values() for at_ms in times[-2:])
        return max(0, PROBES_PER_MINUTE - recent)


@dataclass
class ProbeRecord:
    """The record of probes of one policy: for each score, the set of runs.

    A run may have several scores; one false probe of a healthy run is enough to prevent an arming.
    """

    runs: dict[str, set[Run]] = field(default_factory=dict)

    def add(self, score: str, run: Run) -> None:
        """Add one scored probe."""
        self.runs.setdefault(score, set()).add(run)

    @property
    def false_runs(self) -> set[Run]:
        """Healthy runs on which the hook would have acted."""
        return self.runs.get(FALSE_POSITIVE, set())

    @property
    def contested_runs(self) -> set[Run]:
        """Runs with two different answers to one probe, so that one of them was forged."""
        return self.runs.get(CONTESTED, set())

    @property
    def healthy_runs(self) -> set[Run]:
        """Distinct healthy runs whose hooks evaluated the predicate of the policy."""
        return self.runs.get(TRUE_NEGATIVE, set()) | self.false_runs

    def shortfall(self, arming: Arming, replayed: int = 0) -> str | None:
        """Return why a rule must not be armed with this record; None if the rule may be armed.

        ``replayed`` is the number of other healthy runs that the replay of stored rows counted.
        """
        if self.false_runs:
            return f"the hook would have acted on {len(self.false_runs)} of {len(self.healthy_runs)} healthy runs"
        counted = min(replayed, arming.replayed)
        if len(self.healthy_runs) + counted < arming.probes:
            others = f", and {counted} other runs were replayed" if counted else ""
            return f"{len(self.healthy_runs)} of {arming.probes} healthy runs were probed{others}"
        return None


class ProbeRecords:
    """The record of probes of each policy. A changed threshold makes a new policy, which needs a record of its own."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], ProbeRecord] = {}

    def record(self, record: AuditRecord) -> None:
        """Add a record of the audit log."""
        if record.step == SCORED:
            run = Run(record.cluster, record.app_id, record.app_attempt, record.app_start_ms)
            self.of(record.rule, record.policy_hash).add(record.outcome, run)

    def of(self, rule: str, policy_hash: str) -> ProbeRecord:
        """Return the record of probes of one policy."""
        return self._records.setdefault((rule, policy_hash), ProbeRecord())

    def items(self) -> Iterator[tuple[tuple[str, str], ProbeRecord]]:
        """Yield each rule and policy hash with its record of probes."""
        yield from sorted(self._records.items())


def probe_records(records: Iterable[AuditRecord]) -> ProbeRecords:
    """Return the records of probes that a whole audit log contains."""
    found = ProbeRecords()
    for record in records:
        found.record(record)
    return found
