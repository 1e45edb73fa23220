from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Receipt(_message.Message):
    __slots__ = ("receipt_id", "signal_id", "cluster", "app_id", "app_attempt", "app_start_ms", "rule", "action", "mode", "outcome", "gate", "reason", "stage_id", "stage_attempt", "query_id", "task_id", "freed_tasks", "unfreed_tasks", "at_ms", "observed", "finding_id", "unverified_records", "actor")
    class ObservedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RECEIPT_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    FREED_TASKS_FIELD_NUMBER: _ClassVar[int]
    UNFREED_TASKS_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    UNVERIFIED_RECORDS_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    receipt_id: str
    signal_id: str
    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    rule: str
    action: str
    mode: str
    outcome: str
    gate: str
    reason: str
    stage_id: int
    stage_attempt: int
    query_id: int
    task_id: int
    freed_tasks: int
    unfreed_tasks: int
    at_ms: int
    observed: _containers.ScalarMap[str, str]
    finding_id: str
    unverified_records: int
    actor: str
    def __init__(self, receipt_id: _Optional[str] = ..., signal_id: _Optional[str] = ..., cluster: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., rule: _Optional[str] = ..., action: _Optional[str] = ..., mode: _Optional[str] = ..., outcome: _Optional[str] = ..., gate: _Optional[str] = ..., reason: _Optional[str] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., query_id: _Optional[int] = ..., task_id: _Optional[int] = ..., freed_tasks: _Optional[int] = ..., unfreed_tasks: _Optional[int] = ..., at_ms: _Optional[int] = ..., observed: _Optional[_Mapping[str, str]] = ..., finding_id: _Optional[str] = ..., unverified_records: _Optional[int] = ..., actor: _Optional[str] = ...) -> None: ...
