"""Reads the state of the fuse from its topics: controls, audit log, receipts, and scores of probes."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_contracts.generated.control_pb2 import Control
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_native_analytics.fuse_controller.act_registry import ACT_MODE, SENT, VERIFIED
from sparkfuse_native_analytics.fuse_controller.approvals import REQUEST_LIFE_MS, REQUESTED
from sparkfuse_native_analytics.fuse_controller.audit_chain import chain_errors
from sparkfuse_native_analytics.fuse_controller.controller import STARTED
from sparkfuse_native_analytics.fuse_controller.controls import ControlBook
from sparkfuse_native_analytics.fuse_controller.keys import KeyRing
from sparkfuse_native_analytics.fuse_controller.probes import (
    FALSE_NEGATIVE,
    FALSE_POSITIVE,
    TRUE_NEGATIVE,
    TRUE_POSITIVE,
    ProbeRecords,
    probe_records,
)
from sparkfuse_native_analytics.fuse_controller.recorded_refusals import PAUSED, RESUMED
from sparkfuse_native_analytics.fuse_operator.rule_costs import RuleCosts, costs_of
from sparkfuse_native_analytics.topic_records import read_all

DAY_MS = 24 * 3_600_000


@dataclass(frozen=True)
class AuditLogView:
    """The records of the audit log, and the places where its chain is broken."""

    records: Sequence[AuditRecord]
    errors: Sequence[str]

    @property
    def epoch(self) -> int:
        """The epoch of the last controller that started."""
        return max((record.epoch for record in self.records), default=0)

    def of_application(self, app_id: str) -> list[AuditRecord]:
        """Return the records about one application."""
        return [record for record in self.records if record.app_id == app_id]

    def about(self, app_id: str, now_ms: int) -> list[AuditRecord]:
        """Return the records about one application, and the pauses of the controller while the application ran.

        If no record states when the application started, the pauses of the last day are returned.
        """
        own = self.of_application(app_id)
        since_ms = min((record.app_start_ms for record in own if record.app_start_ms), default=now_ms - DAY_MS)
        pauses = [record for record in self.records if record.step in (PAUSED, RESUMED) and record.at_ms >= since_ms]
        return own + pauses

    def pause(self) -> AuditRecord | None:
        """Return the record of the pause that has not ended; None if the controller evaluates findings."""
        last = None
        for record in self.records:
            if record.step in (PAUSED, RESUMED, STARTED):
                last = record
        return last if last is not None and last.step == PAUSED else None

    def pending_approvals(self, now_ms: int) -> list[AuditRecord]:
        """Return the last hour's requests for approval that no later record used."""
        pending: dict[str, AuditRecord] = {}
        for record in self.records:
            if record.step == REQUESTED and now_ms - record.at_ms < REQUEST_LIFE_MS:
                pending[record.digest] = record
            elif record.step == SENT and record.digest:
                pending.pop(record.digest, None)
        return list(pending.values())

    def probed(self, rule: str) -> set[str]:
        """Return the ids of all applications for which a record about this rule exists, such as a probe."""
        return {record.app_id for record in self.records if record.rule == rule and record.app_id}

    def probes(self) -> ProbeRecords:
        """Return the scores of all probes."""
        return probe_records(self.records)


@dataclass(frozen=True)
class RuleReport:
    """A summary of one policy: the runs by score of their probes, and the acts by outcome."""

    rule: str
    policy_hash: str
    healthy_runs: int
    false_positives: int
    true_positives: int
    false_negatives: int
    acts: int
    ended: int
    unfreed: int
    median_seconds_saved: float | None
    costs: RuleCosts


def read_controls(settings: Settings, keys: KeyRing) -> tuple[ControlBook, list[Control]]:
    """Return all controls, and the list of those that are in force. Raises TopicError."""
    book = ControlBook(keys)
    for record in read_all(settings, "controls"):
        book.put(record.key, record.content, record.appended_ms)
    return book, book.in_force(_now_ms())


def read_audit(settings: Settings) -> AuditLogView:
    """Return the whole audit log. Raises TopicError."""
    contents = [record.content or b"" for record in read_all(settings, "audit")]
    return AuditLogView(_parsed(contents), list(chain_errors(contents)))


def read_receipts(settings: Settings, app_id: str) -> list[Receipt]:
    """Return the receipts of one application; a job writes its receipts, so they are only hints. Raises TopicError."""
    found = []
    for record in read_all(settings, "receipts"):
        if record.key == app_id:
            try:
                found.append(from_json(Receipt, record.content or b""))
            except RecordError:
                continue  # the fuse controller writes a dead letter for this record
    return found


def report(audit: AuditLogView) -> list[RuleReport]:
    """Return a summary of each policy, sorted by rule.

    The saved time is the time from a probe to the end of its stage, for stages that failed.
    """
    probes = audit.probes()
    found = []
    for (rule, policy_hash), record in probes.items():
        # A later receipt can change an outcome, so the last record of each signal counts.
        verified = {each.signal_id: each for each in audit.records if each.rule == rule and each.step == VERIFIED}
        outcomes = [each.outcome for each in verified.values()]
        acts = [each for each in audit.records if each.rule == rule and each.step == SENT and each.mode == ACT_MODE]
        found.append(
            RuleReport(
                rule=rule,
                policy_hash=policy_hash,
                healthy_runs=len(record.runs.get(TRUE_NEGATIVE, set()) | record.false_runs),
                false_positives=len(record.runs.get(FALSE_POSITIVE, ())),
                true_positives=len(record.runs.get(TRUE_POSITIVE, ())),
                false_negatives=len(record.runs.get(FALSE_NEGATIVE, ())),
                acts=len(acts),
                ended=outcomes.count("ended"),
                unfreed=outcomes.count("unfreed"),
                median_seconds_saved=_median_saved(audit.records, rule, policy_hash),
                costs=costs_of(audit.records, rule, policy_hash),
            )
        )
    return found


def _median_saved(records: Iterable[AuditRecord], rule: str, policy_hash: str) -> float | None:
    seconds = sorted(
        int(record.observed["ended_after_ms"]) / 1000
        for record in records
        if (record.rule, record.policy_hash, record.outcome) == (rule, policy_hash, TRUE_POSITIVE)
        and "ended_after_ms" in record.observed
    )
    return seconds[len(seconds) // 2] if seconds else None


def _parsed(contents: Iterable[bytes]) -> list[AuditRecord]:
    found = []
    for content in contents:
        try:
            found.append(from_json(AuditRecord, content))
        except RecordError:
            continue  # `chain_errors` reports the place of this record
    return found


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
