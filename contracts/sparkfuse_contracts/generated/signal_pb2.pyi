from sparkfuse_contracts.generated import signed_message_pb2 as _signed_message_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Signal(_message.Message):
    __slots__ = ("signal_id", "cluster", "app_id", "app_attempt", "app_start_ms", "epoch", "generation", "rule", "action", "probe", "policy_hash", "job_key", "query_id", "stage_id", "stage_attempt", "task_id", "job_tag", "exit_code", "evidence", "finding_id", "issued_ms", "expires_ms", "override_hint", "dashboard_url", "approval")
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    POLICY_HASH_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_TAG_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_MS_FIELD_NUMBER: _ClassVar[int]
    OVERRIDE_HINT_FIELD_NUMBER: _ClassVar[int]
    DASHBOARD_URL_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_FIELD_NUMBER: _ClassVar[int]
    signal_id: str
    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    epoch: int
    generation: int
    rule: str
    action: str
    probe: bool
    policy_hash: str
    job_key: str
    query_id: int
    stage_id: int
    stage_attempt: int
    task_id: int
    job_tag: str
    exit_code: int
    evidence: str
    finding_id: str
    issued_ms: int
    expires_ms: int
    override_hint: str
    dashboard_url: str
    approval: _signed_message_pb2.SignedMessage
    def __init__(self, signal_id: _Optional[str] = ..., cluster: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., epoch: _Optional[int] = ..., generation: _Optional[int] = ..., rule: _Optional[str] = ..., action: _Optional[str] = ..., probe: bool = ..., policy_hash: _Optional[str] = ..., job_key: _Optional[str] = ..., query_id: _Optional[int] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., job_tag: _Optional[str] = ..., exit_code: _Optional[int] = ..., evidence: _Optional[str] = ..., finding_id: _Optional[str] = ..., issued_ms: _Optional[int] = ..., expires_ms: _Optional[int] = ..., override_hint: _Optional[str] = ..., dashboard_url: _Optional[str] = ..., approval: _Optional[_Union[_signed_message_pb2.SignedMessage, _Mapping]] = ...) -> None: ...
