from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Finding(_message.Message):
    __slots__ = ("finding_id", "rule", "severity", "state", "job_key", "scope", "summary", "description", "runbook_url", "cluster", "tenant", "started_ms", "updated_ms", "resolved_ms", "evidence_ms", "completeness", "runs", "owner", "team", "currency", "precision_target")
    FINDING_ID_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    RUNBOOK_URL_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATED_MS_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_MS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_MS_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    RUNS_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    PRECISION_TARGET_FIELD_NUMBER: _ClassVar[int]
    finding_id: str
    rule: str
    severity: str
    state: str
    job_key: str
    scope: str
    summary: str
    description: str
    runbook_url: str
    cluster: str
    tenant: str
    started_ms: int
    updated_ms: int
    resolved_ms: int
    evidence_ms: int
    completeness: float
    runs: _containers.RepeatedCompositeFieldContainer[FindingRun]
    owner: str
    team: str
    currency: str
    precision_target: float
    def __init__(self, finding_id: _Optional[str] = ..., rule: _Optional[str] = ..., severity: _Optional[str] = ..., state: _Optional[str] = ..., job_key: _Optional[str] = ..., scope: _Optional[str] = ..., summary: _Optional[str] = ..., description: _Optional[str] = ..., runbook_url: _Optional[str] = ..., cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., started_ms: _Optional[int] = ..., updated_ms: _Optional[int] = ..., resolved_ms: _Optional[int] = ..., evidence_ms: _Optional[int] = ..., completeness: _Optional[float] = ..., runs: _Optional[_Iterable[_Union[FindingRun, _Mapping]]] = ..., owner: _Optional[str] = ..., team: _Optional[str] = ..., currency: _Optional[str] = ..., precision_target: _Optional[float] = ...) -> None: ...

class FindingRun(_message.Message):
    __slots__ = ("run_key", "app_id", "app_attempt", "app_start_ms", "stage_id", "stage_attempt", "task_id", "executor_id", "state", "severity", "started_ms", "resolved_ms", "evidence", "query_id", "stage_name", "cost", "cost_avoidable")
    class EvidenceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    RESOLVED_MS_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    COST_AVOIDABLE_FIELD_NUMBER: _ClassVar[int]
    run_key: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    stage_id: int
    stage_attempt: int
    task_id: int
    executor_id: str
    state: str
    severity: str
    started_ms: int
    resolved_ms: int
    evidence: _containers.ScalarMap[str, str]
    query_id: int
    stage_name: str
    cost: float
    cost_avoidable: float
    def __init__(self, run_key: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., executor_id: _Optional[str] = ..., state: _Optional[str] = ..., severity: _Optional[str] = ..., started_ms: _Optional[int] = ..., resolved_ms: _Optional[int] = ..., evidence: _Optional[_Mapping[str, str]] = ..., query_id: _Optional[int] = ..., stage_name: _Optional[str] = ..., cost: _Optional[float] = ..., cost_avoidable: _Optional[float] = ...) -> None: ...
