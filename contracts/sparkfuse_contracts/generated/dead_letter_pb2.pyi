from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class DeadLetter(_message.Message):
    __slots__ = ("component", "topic", "kafka_partition", "kafka_offset", "reason", "payload", "seen_ms")
    COMPONENT_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    KAFKA_PARTITION_FIELD_NUMBER: _ClassVar[int]
    KAFKA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SEEN_MS_FIELD_NUMBER: _ClassVar[int]
    component: str
    topic: str
    kafka_partition: int
    kafka_offset: int
    reason: str
    payload: bytes
    seen_ms: int
    def __init__(self, component: _Optional[str] = ..., topic: _Optional[str] = ..., kafka_partition: _Optional[int] = ..., kafka_offset: _Optional[int] = ..., reason: _Optional[str] = ..., payload: _Optional[bytes] = ..., seen_ms: _Optional[int] = ...) -> None: ...
