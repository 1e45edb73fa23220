from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Baseline(_message.Message):
    __slots__ = ("job_key", "stage_fingerprint", "stage_name", "updated_ms", "samples", "cluster", "tenant", "level_changed_ms", "accepted_ms")
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    STAGE_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    UPDATED_MS_FIELD_NUMBER: _ClassVar[int]
    SAMPLES_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    LEVEL_CHANGED_MS_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_MS_FIELD_NUMBER: _ClassVar[int]
    job_key: str
    stage_fingerprint: str
    stage_name: str
    updated_ms: int
    samples: _containers.RepeatedCompositeFieldContainer[BaselineSample]
    cluster: str
    tenant: str
    level_changed_ms: int
    accepted_ms: int
    def __init__(self, job_key: _Optional[str] = ..., stage_fingerprint: _Optional[str] = ..., stage_name: _Optional[str] = ..., updated_ms: _Optional[int] = ..., samples: _Optional[_Iterable[_Union[BaselineSample, _Mapping]]] = ..., cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., level_changed_ms: _Optional[int] = ..., accepted_ms: _Optional[int] = ...) -> None: ...

class BaselineSample(_message.Message):
    __slots__ = ("run_key", "learned_ms", "wall_ms", "cpu_ms", "work_bytes", "work_records", "num_tasks", "abnormal", "operator_rows", "between_jobs_ms", "disk_spilled_bytes", "reference", "slow_runs", "level_ratio", "spark_version", "executors", "plan")
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    LEARNED_MS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_MS_FIELD_NUMBER: _ClassVar[int]
    WORK_BYTES_FIELD_NUMBER: _ClassVar[int]
    WORK_RECORDS_FIELD_NUMBER: _ClassVar[int]
    NUM_TASKS_FIELD_NUMBER: _ClassVar[int]
    ABNORMAL_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_ROWS_FIELD_NUMBER: _ClassVar[int]
    BETWEEN_JOBS_MS_FIELD_NUMBER: _ClassVar[int]
    DISK_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    REFERENCE_FIELD_NUMBER: _ClassVar[int]
    SLOW_RUNS_FIELD_NUMBER: _ClassVar[int]
    LEVEL_RATIO_FIELD_NUMBER: _ClassVar[int]
    SPARK_VERSION_FIELD_NUMBER: _ClassVar[int]
    EXECUTORS_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    run_key: str
    learned_ms: int
    wall_ms: int
    cpu_ms: int
    work_bytes: int
    work_records: int
    num_tasks: int
    abnormal: bool
    operator_rows: int
    between_jobs_ms: int
    disk_spilled_bytes: int
    reference: bool
    slow_runs: int
    level_ratio: float
    spark_version: str
    executors: int
    plan: str
    def __init__(self, run_key: _Optional[str] = ..., learned_ms: _Optional[int] = ..., wall_ms: _Optional[int] = ..., cpu_ms: _Optional[int] = ..., work_bytes: _Optional[int] = ..., work_records: _Optional[int] = ..., num_tasks: _Optional[int] = ..., abnormal: bool = ..., operator_rows: _Optional[int] = ..., between_jobs_ms: _Optional[int] = ..., disk_spilled_bytes: _Optional[int] = ..., reference: bool = ..., slow_runs: _Optional[int] = ..., level_ratio: _Optional[float] = ..., spark_version: _Optional[str] = ..., executors: _Optional[int] = ..., plan: _Optional[str] = ...) -> None: ...
