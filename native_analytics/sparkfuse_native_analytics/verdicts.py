"""Records people's verdicts on findings in the topic feedback."""

from __future__ import annotations

from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_native_analytics.queries import Finding
from sparkfuse_native_analytics.topic_records import TopicWriter
from sparkfuse_rules.knowledge.precision import VERDICTS

NOTE_CHARACTERS = 1000
PERSON_CHARACTERS = 200
_COPIED = ("rule", "job_key", "cluster", "tenant", "team")


class VerdictError(ValueError):
    """The verdict of a person is refused; the message is a sentence without a full stop."""


def verdict_on(finding: Finding, verdict: str, note: str, person: str, at_ms: int) -> Feedback:
    """Return the record of a verdict on a finding, given at ``at_ms`` (ms since the epoch).

    Raises VerdictError if the verdict is not one of VERDICTS, or if the note or the name of the person is too long.
    """
    if verdict not in VERDICTS:
        raise VerdictError(f"the verdict must be one of {', '.join(VERDICTS)}, but is {verdict[:50]!r}")
    if len(note) > NOTE_CHARACTERS:
        raise VerdictError(f"a note has at most {NOTE_CHARACTERS} characters, but this note has {len(note)}")
    if len(person) > PERSON_CHARACTERS:
        raise VerdictError(f"the name of a person has at most {PERSON_CHARACTERS} characters, but has {len(person)}")
    record = Feedback(finding_id=finding.finding_id, person=person, verdict=verdict, at_ms=at_ms)
    for name, value in {"note": note, **{name: getattr(finding, name) for name in _COPIED}}.items():
        if value:
            setattr(record, name, value)
    return record


def record_verdict(writer: TopicWriter, record: Feedback) -> None:
    """Append a verdict to the topic, and wait until the broker has stored it. Raises TopicError."""
    key = record_key("feedback", record)
    assert key is not None
    writer.append("feedback", key.decode(), to_json(record))
