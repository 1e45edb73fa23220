"""The state of findings within one run: which rules are pending or firing, for which subjects."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect.state.codec import Codec, field_names, known_fields, unpickle
from sparkfuse_stream_jobs.detect.state.values import MapState, ValueState

SEVERITIES = ("info", "warning", "critical")


class RuleTiming(Protocol):
    """The properties of a rule that the lifecycle uses."""

    @property
    def view(self) -> str:
        """The view on whose rows the rule is evaluated."""

    @property
    def for_ms(self) -> int:
        """How long the condition must be true before the rule fires, in ms."""

    @property
    def keep_firing_ms(self) -> int:
        """How long the rule continues to fire after the condition was last true, in ms."""

    @property
    def absence(self) -> bool:
        """Whether the rule reports that something is missing, so that lost facts do not weaken its evidence."""


class FindingWriter(Protocol):
    """Creates the finding of a rule that matches a row; the finding contains the run of that row."""

    def __call__(self, rule_id: str, row: LiveRow, severity: str, started_ms: int) -> Finding:
        """Return the finding in the state firing."""
        ...


@dataclass(frozen=True)
class RuleInstance:
    """One rule that is pending or firing for one subject. Times are ends of windows in ms since epoch."""

    severity: str
    since_ms: int  # when the condition became true
    held_ms: int  # the last evaluation in which the condition was true
    row_ms: int  # until when the last row of the subject shows that it exists
    started_ms: int | None = None  # when the rule began to fire; None while it is pending
    over: bool = False  # the subject ended: no further row will come
    finding: bytes = b""  # the Finding that was emitted last, while it fires
    row: bytes = (
        b""  # the newest LiveRow; a finding is expensive, so it is created from this row only if no later row comes
    )
    part: str = ""  # part of the subject for which the condition was last true; rows of other parts do not reset it
    evidence_ms: int = 0  # the time of the row from which the last emitted finding was created
    epoch_ms: int = 0  # the epoch of the last row on which the condition was true

    @property
    def firing(self) -> bool:
        """Whether the rule fires; otherwise it is pending."""
        return self.started_ms is not None


@dataclass(frozen=True)
class SubjectState:
    """One subject of a run and its rules; ``settled`` are the rules that resolved when the subject ended."""

    rules: Mapping[str, RuleInstance] = field(default_factory=dict)
    settled: tuple[str, ...] = ()


@dataclass(frozen=True)
class LifecycleState:
    """The findings of one run: when the run ended, its subjects and their number, and the time of the next timer.

    A run has one timer at a time, because each timer costs as much as several rows.
    """

    ended_ms: ValueState[int]
    subject_count: ValueState[int]
    subjects: MapState[SubjectState]
    timer_ms: ValueState[int]


@dataclass(frozen=True)
class Timer:
    """Requests a call of ``on_timer`` when event time (the end of the newest window) reaches ``at_ms``."""

    at_ms: int


def subject_codec() -> Codec[SubjectState]:
    """Return the codec of a subject with its rules."""
    names = field_names(RuleInstance)

    def decode(content: bytes) -> SubjectState:
        values = unpickle(content)
        rules = {rule: RuleInstance(**known_fields(each, names)) for rule, each in values["holdings"].items()}
        return SubjectState(rules, tuple(values.get("settled", ())))

    def encode(subject: SubjectState) -> bytes:
        rules = {rule: vars(each) for rule, each in subject.rules.items()}
        # This key must not change, because all saved states contain it.
        return pickle.dumps({"holdings": rules, "settled": subject.settled})

    return Codec(encode, decode)


def worst(*severities: str) -> str:
    """Return the most severe of the severities. Raises ValueError for an unknown severity."""
    return max(severities, key=SEVERITIES.index)
