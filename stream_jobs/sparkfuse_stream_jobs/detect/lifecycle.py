"""Turns rows on which rules match into findings that start, continue and resolve, one run at a time.

States and names are those of Prometheus alerting rules: inactive, pending (``for``), firing, and ``keep_firing_for``
after the condition was last true. Time is the end of the windows: while the windows job is down, no time passes and
nothing resolves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, RuleInstance, SubjectState, Timer
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.subjects import (
    APPLICATION,
    EVENT_ROWS,
    ended_subjects,
    ends_subjects,
    is_event_subject,
    subject_name,
)

# Maximum number of stored subjects of one run; even a thousand stuck tasks of a stage are only one finding.
MAX_SUBJECTS = 500


@dataclass(frozen=True)
class Lifecycle:
    """Applies rules to the rows of a run.

    ``post_end_rules`` are evaluated even after an end: for processes after the end of their application, and for tasks
    after the end of their stage.
    """

    evaluation: RuleEvaluation
    post_end_rules: frozenset[str] = frozenset()

    def step(self, row: LiveRow, severities: Mapping[str, str], state: LifecycleState) -> Iterator[Finding | Timer]:
        """Apply one row; ``severities`` maps each rule whose condition is true to its severity.

        Returns a finding when it starts to fire, changes or resolves, and every ``EVIDENCE_EVERY_MS`` while it fires.
        Returns timers as well. After the end of the application, only events and rows for ``post_end_rules`` are
        evaluated.
        """
        if row.HasField("application_ended"):
            if state.ended_ms.value() is None:
                state.ended_ms.update(row.window_end_ms)
                yield from self._end_application(row.window_end_ms, state)
            return
        counting = self._counting(row, severities, state)
        if counting is None:
            return
        if name := subject_name(row):
            yield from self._observe(name, row, counting, state)
        if state.subject_count.value() and ends_subjects(row):
            for ended in ended_subjects(row, list(state.subjects.keys())):
                yield from self._end_subject(ended, row.window_end_ms, state)

    def on_timer(self, now_ms: int, state: LifecycleState) -> Iterator[Finding | Timer]:
        """Resolve each rule whose condition was false for long enough, or whose subject had no row for long enough."""
        state.timer_ms.clear()
        due_ms: list[int] = []
        for name, subject in state.subjects.items():
            kept: dict[str, RuleInstance] = {}
            for rule_id, instance in subject.rules.items():
                if now_ms < self.evaluation.due_ms(rule_id, instance):
                    kept[rule_id] = instance
                elif instance.firing:
                    yield self.evaluation.resolve(rule_id, instance, now_ms)
            if len(kept) != len(subject.rules):
                _store(name, subject, replace(subject, rules=kept), state)
            due_ms += (self.evaluation.due_ms(rule_id, instance) for rule_id, instance in kept.items())
        if due_ms:
            yield from _set_timer(min(due_ms), state)

    def _counting(self, row: LiveRow, severities: Mapping[str, str], state: LifecycleState) -> Mapping[str, str] | None:
        """Return the severities of the rules to evaluate on the row; None if the row is too late for all rules."""
        kind = row.WhichOneof("row")
        if kind in EVENT_ROWS:
            return severities
        ended = state.ended_ms.value() is not None
        outlived = kind == "task" and row.task.HasField("outlived_ms")
        if ended and kind != "application" and not outlived:
            return None
        if ended or outlived:
            return {rule_id: severity for rule_id, severity in severities.items() if rule_id in self.post_end_rules}
        return severities

    def _observe(
        self, name: str, row: LiveRow, severities: Mapping[str, str], state: LifecycleState
    ) -> Iterator[Finding | Timer]:
        known = state.subjects.get(name)
        if known is None and (not severities or (state.subject_count.value() or 0) >= MAX_SUBJECTS):
            return
        before = known or SubjectState()
        after: dict[str, RuleInstance] = {}
        for rule_id in sorted({*before.rules, *severities} - set(before.settled)):
            instance, finding = self.evaluation.evaluate(
                rule_id, before.rules.get(rule_id), severities.get(rule_id), row
            )
            if instance:
                after[rule_id] = instance
            if finding:
                yield finding
        _store(name, known, replace(before, rules=after), state)
        yield from self._timer(after, state)

    def _end_subject(self, name: str, at_ms: int, state: LifecycleState) -> Iterator[Finding | Timer]:
        """Drop pending rules, and resolve firing rules, except those whose ``keep_firing_for`` has not expired."""
        subject = state.subjects.get(name)
        if subject is None:
            return
        kept: dict[str, RuleInstance] = {}
        settled = list(subject.settled)
        for rule_id, before in subject.rules.items():
            if not before.firing:
                continue
            settled.append(rule_id)
            instance, finding = self.evaluation.end_subject(rule_id, before, at_ms)
            if instance:
                kept[rule_id] = instance
            if finding:
                yield finding
        _store(name, subject, SubjectState(kept, tuple(settled)), state)
        yield from self._timer(kept, state)

    def _end_application(self, at_ms: int, state: LifecycleState) -> Iterator[Finding]:
        """Resolve everything except events, and rules for which the end of the application is evidence."""
        count = 0
        for name, subject in state.subjects.items():
            kept: dict[str, RuleInstance] = {}
            for rule_id, instance in subject.rules.items():
                if is_event_subject(name) or (name == APPLICATION and rule_id in self.post_end_rules):
                    kept[rule_id] = instance
                elif instance.firing:
                    yield self.evaluation.resolve(rule_id, instance, at_ms)
            if kept:
                state.subjects.put(name, SubjectState(kept))
                count += 1
            else:
                state.subjects.remove(name)
        state.subject_count.update(count)

    def _timer(self, rules: Mapping[str, RuleInstance], state: LifecycleState) -> Iterator[Timer]:
        if rules:
            due_ms = min(self.evaluation.due_ms(rule_id, instance) for rule_id, instance in rules.items())
            yield from _set_timer(due_ms, state)


def _store(name: str, before: SubjectState | None, after: SubjectState, state: LifecycleState) -> None:
    """Store the subject if it has active or settled rules, else remove it; update the number of stored subjects."""
    if after == before:
        return
    known = before is not None
    if after.rules or after.settled:
        state.subjects.put(name, after)
        if not known:
            state.subject_count.update((state.subject_count.value() or 0) + 1)
    elif known:
        state.subjects.remove(name)
        state.subject_count.update(max(0, (state.subject_count.value() or 0) - 1))


def _set_timer(at_ms: int, state: LifecycleState) -> Iterator[Timer]:
    """Request a timer, unless an earlier timer is set; that timer will request the next one."""
    set_ms = state.timer_ms.value()
    if set_ms is None or at_ms < set_ms:
        state.timer_ms.update(at_ms)
        yield Timer(at_ms)
