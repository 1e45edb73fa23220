from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Approval(_message.Message):
    __slots__ = ("approval_id", "digest", "approver", "issued_ms", "expires_ms")
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPROVER_FIELD_NUMBER: _ClassVar[int]
    ISSUED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    approval_id: str
    digest: str
    approver: str
    issued_ms: int
    expires_ms: int
    def __init__(self, approval_id: _Optional[str] = ..., digest: _Optional[str] = ..., approver: _Optional[str] = ..., issued_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ...) -> None: ...
