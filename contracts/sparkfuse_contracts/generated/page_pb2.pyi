from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Page(_message.Message):
    __slots__ = ("finding_id", "started_ms", "rule", "job_key", "tenant", "team")
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    finding_id: str
    started_ms: int
    rule: str
    job_key: str
    tenant: str
    team: str
    def __init__(self, finding_id: _Optional[str] = ..., started_ms: _Optional[int] = ..., rule: _Optional[str] = ..., job_key: _Optional[str] = ..., tenant: _Optional[str] = ..., team: _Optional[str] = ...) -> None: ...
