"""Records people's verdicts on findings in the topic feedback."""

from __future__ import annotations

from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_native_analytics.queries import Finding
from sparkfuse_native_analytics.topic_records import append

NOTE_CHARACTERS = 1000
PERSON_CHARACTERS = 200
_COPIED = ("rule", "job_key", "cluster", "tenant", "team")


def verdict_on(finding: Finding, verdict: str, note: str, person: str, at_ms: int) -> Feedback:
    """Return the record of a verdict on a finding, given at ``at_ms`` (ms since the epoch)."""
    record = Feedback(finding_id=finding.finding_id, person=person, verdict=verdict, at_ms=at_ms)
    for name, value in {"note": note, **{name: getattr(finding, name) for name in _COPIED}}.items():
        if value:
            setattr(record, name, value)
    return record


def record_verdict(settings: Settings, record: Feedback) -> None:
    """Append a verdict to the topic, and wait until the broker has stored it. Raises TopicError."""
    key = record_key("feedback", record)
    assert key is not None
    append(settings, "feedback", key.decode(), to_json(record))
