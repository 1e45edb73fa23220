from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class SignedMessage(_message.Message):
    __slots__ = ("payload", "signature", "key_id", "purpose")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    PURPOSE_FIELD_NUMBER: _ClassVar[int]
    payload: str
    signature: str
    key_id: str
    purpose: str
    def __init__(self, payload: _Optional[str] = ..., signature: _Optional[str] = ..., key_id: _Optional[str] = ..., purpose: _Optional[str] = ...) -> None: ...
