from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class StageExpectation(_message.Message):
    __slots__ = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "stage_id", "stage_attempt", "window_end_ms", "status", "job_key", "run_key", "owner", "team", "stage_fingerprint", "stage_name", "query_id", "query_name", "baseline_runs", "expected_ms", "expected_p95_ms", "work_measure", "deadline_ms", "deadline_source", "core_ms", "cost", "currency", "source")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    WINDOW_END_MS_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    OWNER_FIELD_NUMBER: _ClassVar[int]
    TEAM_FIELD_NUMBER: _ClassVar[int]
    STAGE_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    QUERY_NAME_FIELD_NUMBER: _ClassVar[int]
    BASELINE_RUNS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_P95_MS_FIELD_NUMBER: _ClassVar[int]
    WORK_MEASURE_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_MS_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_SOURCE_FIELD_NUMBER: _ClassVar[int]
    CORE_MS_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    CURRENCY_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    stage_id: int
    stage_attempt: int
    window_end_ms: int
    status: str
    job_key: str
    run_key: str
    owner: str
    team: str
    stage_fingerprint: str
    stage_name: str
    query_id: int
    query_name: str
    baseline_runs: int
    expected_ms: int
    expected_p95_ms: int
    work_measure: str
    deadline_ms: int
    deadline_source: str
    core_ms: int
    cost: float
    currency: str
    source: str
    def __init__(self, cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., window_end_ms: _Optional[int] = ..., status: _Optional[str] = ..., job_key: _Optional[str] = ..., run_key: _Optional[str] = ..., owner: _Optional[str] = ..., team: _Optional[str] = ..., stage_fingerprint: _Optional[str] = ..., stage_name: _Optional[str] = ..., query_id: _Optional[int] = ..., query_name: _Optional[str] = ..., baseline_runs: _Optional[int] = ..., expected_ms: _Optional[int] = ..., expected_p95_ms: _Optional[int] = ..., work_measure: _Optional[str] = ..., deadline_ms: _Optional[int] = ..., deadline_source: _Optional[str] = ..., core_ms: _Optional[int] = ..., cost: _Optional[float] = ..., currency: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...
