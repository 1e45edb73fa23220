from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Position(_message.Message):
    __slots__ = ("shipper", "log", "app_id", "app_attempt", "app_start_ms", "file_index", "read_plain_bytes", "next_seq", "state", "updated_ms")
    class NextSeqEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SHIPPER_FIELD_NUMBER: _ClassVar[int]
    LOG_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    FILE_INDEX_FIELD_NUMBER: _ClassVar[int]
    READ_PLAIN_BYTES_FIELD_NUMBER: _ClassVar[int]
    NEXT_SEQ_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    UPDATED_MS_FIELD_NUMBER: _ClassVar[int]
    shipper: str
    log: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    file_index: int
    read_plain_bytes: int
    next_seq: _containers.ScalarMap[str, str]
    state: str
    updated_ms: int
    def __init__(self, shipper: _Optional[str] = ..., log: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., file_index: _Optional[int] = ..., read_plain_bytes: _Optional[int] = ..., next_seq: _Optional[_Mapping[str, str]] = ..., state: _Optional[str] = ..., updated_ms: _Optional[int] = ...) -> None: ...
