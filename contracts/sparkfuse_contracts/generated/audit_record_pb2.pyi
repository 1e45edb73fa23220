from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class AuditRecord(_message.Message):
    __slots__ = ("sequence", "previous_hash", "epoch", "step", "actor", "cluster", "app_id", "app_attempt", "app_start_ms", "job_key", "tenant", "team", "rule", "action", "mode", "gate", "reason", "outcome", "query_id", "stage_id", "stage_attempt", "task_id", "signal_id", "finding_id", "policy_hash", "at_ms", "observed", "digest", "approval_id", "control_id", "cost", "cost_avoided", "currency")
    class ObservedEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_HASH_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    STEP_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    GATE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_ID_FIELD_NUMBER: _ClassVar[int]
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    POLICY_HASH_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    DIGEST_FIELD_NUMBER: _ClassVar[int]
    APPROVAL_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROL_ID_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    COST_AVOIDED_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    previous_hash: str
    epoch: int
    step: str
    actor: str
    cluster: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    job_key: str
    tenant: str
    team: str
    rule: str
    action: str
    mode: str
    gate: str
    reason: str
    outcome: str
    query_id: int
    stage_id: int
    stage_attempt: int
    task_id: int
    signal_id: str
    finding_id: str
    policy_hash: str
    at_ms: int
    observed: _containers.ScalarMap[str, str]
    digest: str
    approval_id: str
    control_id: str
    cost: float
    cost_avoided: float
    currency: str
    def __init__(self, sequence: _Optional[int] = ..., previous_hash: _Optional[str] = ..., epoch: _Optional[int] = ..., step: _Optional[str] = ..., actor: _Optional[str] = ..., cluster: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., job_key: _Optional[str] = ..., tenant: _Optional[str] = ..., team: _Optional[str] = ..., rule: _Optional[str] = ..., action: _Optional[str] = ..., mode: _Optional[str] = ..., gate: _Optional[str] = ..., reason: _Optional[str] = ..., outcome: _Optional[str] = ..., query_id: _Optional[int] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., signal_id: _Optional[str] = ..., finding_id: _Optional[str] = ..., policy_hash: _Optional[str] = ..., at_ms: _Optional[int] = ..., observed: _Optional[_Mapping[str, str]] = ..., digest: _Optional[str] = ..., approval_id: _Optional[str] = ..., control_id: _Optional[str] = ..., cost: _Optional[float] = ..., cost_avoided: _Optional[float] = ..., currency: _Optional[str] = ...) -> None: ...
