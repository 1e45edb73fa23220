from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class SignedSignal(_message.Message):
    __slots__ = ("payload", "signature", "key_id")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    payload: str
    signature: str
    key_id: str
    def __init__(self, payload: _Optional[str] = ..., signature: _Optional[str] = ..., key_id: _Optional[str] = ...) -> None: ...

class Signal(_message.Message):
    __slots__ = ("signal_id", "cluster", "app_id", "app_attempt", "app_start_ms", "generation", "rule", "action", "stage_id", "stage_attempt", "predicate", "evidence", "finding_id", "issued_ms", "expires_ms", "override_hint", "dashboard_url")
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    PREDICATE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_HINT_FIELD_NUMBER: _ClassVar[int]
    DASHBOARD_URL_FIELD_NUMBER: _ClassVar[int]
    signal_id: str
    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    generation: int
    rule: str
    action: str
    stage_id: int
    stage_attempt: int
    predicate: _containers.RepeatedCompositeFieldContainer[Condition]
    evidence: str
    finding_id: str
    issued_ms: int
    expires_ms: int
    override_hint: str
    dashboard_url: str
    def __init__(self, signal_id: _Optional[str] = ..., cluster: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., generation: _Optional[int] = ..., rule: _Optional[str] = ..., action: _Optional[str] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., predicate: _Optional[_Iterable[_Union[Condition, _Mapping]]] = ..., evidence: _Optional[str] = ..., finding_id: _Optional[str] = ..., issued_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ..., override_hint: _Optional[str] = ..., dashboard_url: _Optional[str] = ...) -> None: ...

class Condition(_message.Message):
    __slots__ = ("column", "operator", "threshold")
    COLUMN_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    column: str
    operator: str
    threshold: float
    def __init__(self, column: _Optional[str] = ..., operator: _Optional[str] = ..., threshold: _Optional[float] = ...) -> None: ...
