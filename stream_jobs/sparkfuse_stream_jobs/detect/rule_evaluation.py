"""The state machine of one rule for one subject: inactive, pending, firing, resolved.

==========  =============================================  =====================================
state       event                                          next state
==========  =============================================  =====================================
inactive    the condition is true                          pending, or firing if ``for`` is 0
pending     true for at least ``for``                      firing
pending     false, the subject ends, or rows stop          inactive
firing      false for at least ``keep_firing_for``         resolved
firing      the subject ends or rows stop                  resolved, once ``keep_firing_for`` is over
==========  =============================================  =====================================

After the windows job has lost its state, a row can lack the facts from before the loss.
If the condition of a rule is false for such a row, the condition may still hold: the row resolves no finding of an
earlier epoch, and does not lower the severity of a firing rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.limits import MOVING_TASK_ROW_MS
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.training_samples import capped_severity
from sparkfuse_stream_jobs.detect.lifecycle_state import FindingWriter, RuleInstance, RuleTiming, worst
from sparkfuse_stream_jobs.detect.subjects import EVENT_ROWS, subject_part

# A subject without a row for this many windows is gone, like a series that Prometheus no longer scrapes.
STALE_WINDOWS = 3
# The activity of a task that makes progress; such a task has one row in MOVING_TASK_ROW_MS.
MOVING = "moving"
# Interval at which a firing rule emits its newest evidence even if nothing changed. People are notified once a minute,
# and in a fleet hundreds of stages have an info finding while they run.
EVIDENCE_EVERY_MS = 30_000
# For this long, a row of an application that lacks its beginning resolves no finding of an earlier epoch. Rules about
# time, such as application_stalled, match again within this time if the condition still holds.
KEEP_OF_EPOCH_MS = 3_600_000


@dataclass(frozen=True)
class RuleEvaluation:
    """Evaluates rules on rows, with the length of a window and the function that creates findings."""

    rules: Mapping[str, RuleTiming]
    window_ms: int
    write: FindingWriter

    @property
    def stale_ms(self) -> int:
        """The time without a row after which a subject is gone."""
        return STALE_WINDOWS * self.window_ms

    def evaluate(
        self, rule_id: str, before: RuleInstance | None, severity: str | None, row: LiveRow
    ) -> tuple[RuleInstance | None, Finding | None]:
        """Evaluate one rule on one row.

        ``severity`` is None if the rule's condition is false. Returns the rule's new state, None for inactive, and the
        finding if it is to be emitted.
        """
        rule, at_ms, part = self.rules.get(rule_id), row.window_end_ms, subject_part(row)
        if rule is None or severity is None:
            other_part = rule is not None and before is not None and before.part != part
            if before is not None and _lacks_what_held(before, row):
                return replace(before, row_ms=at_ms), None
            return (before, None) if other_part else self._condition_false(rule_id, before, at_ms)
        severity = worst(_allowed(rule, severity, row), _severity_before(rule, before, row))
        present_ms = at_ms + _row_interval_ms(row)
        instance = replace(
            before or RuleInstance(severity, at_ms, at_ms, at_ms),
            severity=severity, held_ms=at_ms, row_ms=present_ms, part=part, epoch_ms=row.row_epoch_ms,
        )  # fmt: skip
        # An event has one row, so no later row can satisfy `for`.
        event = row.WhichOneof("row") in EVENT_ROWS
        if not instance.firing and not event and at_ms - instance.since_ms < rule.for_ms:
            return instance, None
        started_ms = at_ms if instance.started_ms is None else instance.started_ms
        after = replace(instance, started_ms=started_ms, over=event)
        if not _must_emit(before, after):
            return replace(after, row=row.SerializeToString()), None
        finding = self.write(rule_id, row, severity, started_ms)
        return replace(after, finding=finding.SerializeToString(), row=b"", evidence_ms=at_ms), finding

    def end_subject(
        self, rule_id: str, instance: RuleInstance, at_ms: int
    ) -> tuple[RuleInstance | None, Finding | None]:
        """End a firing rule because its subject ended, unless the rule keeps firing."""
        if self._keeps_firing(rule_id, instance, at_ms):
            return replace(instance, over=True), None
        return None, self.resolve(rule_id, instance, at_ms)

    def resolve(self, rule_id: str, instance: RuleInstance, at_ms: int) -> Finding:
        """Return the finding of a firing rule, resolved at ``at_ms``, with its last evidence."""
        finding = Finding.FromString(instance.finding)
        if instance.row and rule_id in self.rules:
            row, started_ms = LiveRow.FromString(instance.row), instance.started_ms or 0
            # If a value cannot be formatted, the finding must still resolve, with the evidence that was emitted last.
            with suppress(ArithmeticError, LookupError, TypeError, ValueError):
                finding = self.write(rule_id, row, instance.severity, started_ms)
        finding.state = finding.runs[0].state = "resolved"
        finding.resolved_ms = finding.runs[0].resolved_ms = at_ms
        return finding

    def due_ms(self, rule_id: str, instance: RuleInstance) -> int:
        """Return when the rule becomes inactive if no further row comes."""
        rule = self.rules.get(rule_id)
        kept_ms = instance.held_ms + rule.keep_firing_ms if rule and instance.firing else 0
        gone_ms = 0 if instance.over else instance.row_ms + self.stale_ms
        # While rows arrive, the next row decides; the timer matters only after the rows stop.
        return max(kept_ms, gone_ms)

    def _condition_false(
        self, rule_id: str, before: RuleInstance | None, at_ms: int
    ) -> tuple[RuleInstance | None, Finding | None]:
        if before is None or not before.firing:
            return None, None
        if self._keeps_firing(rule_id, before, at_ms):
            return replace(before, row_ms=at_ms), None
        return None, self.resolve(rule_id, before, at_ms)

    def _keeps_firing(self, rule_id: str, instance: RuleInstance, at_ms: int) -> bool:
        rule = self.rules.get(rule_id)
        return rule is not None and at_ms < instance.held_ms + rule.keep_firing_ms


def _must_emit(before: RuleInstance | None, after: RuleInstance) -> bool:
    """Return whether the finding is to be emitted: the finding changed, or the emitted evidence is old."""
    if before is None or not before.firing or after.held_ms >= before.evidence_ms + EVIDENCE_EVERY_MS:
        return True
    return after.over or (after.severity, after.part) != (before.severity, before.part)


def _row_interval_ms(row: LiveRow) -> int:
    """Return how long the subject can be without a row although it still exists; 0 if it has a row in each window."""
    return MOVING_TASK_ROW_MS if row.task.activity == MOVING else 0


def _lacks_what_held(before: RuleInstance, row: LiveRow) -> bool:
    """Return whether the rule fires because of an earlier epoch, and the row lacks the facts of that epoch."""
    if not before.firing or not row.incomplete_since_ms or before.epoch_ms == row.row_epoch_ms:
        return False
    of_application = row.HasField("application")
    return not of_application or row.window_end_ms < row.incomplete_since_ms + KEEP_OF_EPOCH_MS


def _severity_before(rule: RuleTiming, before: RuleInstance | None, row: LiveRow) -> str:
    """Return the severity so far; a row that lacks its beginning does not lower the severity of a firing rule."""
    if before is None:
        return "info"
    return before.severity if before.firing and row.incomplete_since_ms else _allowed(rule, before.severity, row)


def _allowed(rule: RuleTiming, severity: str, row: LiveRow) -> str:
    """Return the severity: at most warning for incomplete evidence, unless the rule detects an absence."""
    return severity if rule.absence else capped_severity(severity, row.completeness)
