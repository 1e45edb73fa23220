from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Feedback(_message.Message):
    __slots__ = ("finding_id", "person", "verdict", "note", "at_ms", "rule", "job_key", "cluster", "tenant", "team")
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    PERSON_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    NOTE_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    finding_id: str
    person: str
    verdict: str
    note: str
    at_ms: int
    rule: str
    job_key: str
    cluster: str
    tenant: str
    team: str
    def __init__(self, finding_id: _Optional[str] = ..., person: _Optional[str] = ..., verdict: _Optional[str] = ..., note: _Optional[str] = ..., at_ms: _Optional[int] = ..., rule: _Optional[str] = ..., job_key: _Optional[str] = ..., cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., team: _Optional[str] = ...) -> None: ...
