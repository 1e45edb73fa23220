from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Analysis(_message.Message):
    __slots__ = ("application", "evidence", "jobs", "stages", "executors", "findings", "not_decidable", "queries")
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    EXECUTORS_FIELD_NUMBER: _ClassVar[int]
    FINDINGS_FIELD_NUMBER: _ClassVar[int]
    NOT_DECIDABLE_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    application: AnalysedApplication
    evidence: AnalysisEvidence
    jobs: _containers.RepeatedCompositeFieldContainer[AnalysedJob]
    stages: _containers.RepeatedCompositeFieldContainer[AnalysedStage]
    executors: _containers.RepeatedCompositeFieldContainer[AnalysedExecutor]
    findings: _containers.RepeatedCompositeFieldContainer[AnalysisFinding]
    not_decidable: _containers.RepeatedCompositeFieldContainer[UndecidableRule]
    queries: _containers.RepeatedCompositeFieldContainer[AnalysedQuery]
    def __init__(self, application: _Optional[_Union[AnalysedApplication, _Mapping]] = ..., evidence: _Optional[_Union[AnalysisEvidence, _Mapping]] = ..., jobs: _Optional[_Iterable[_Union[AnalysedJob, _Mapping]]] = ..., stages: _Optional[_Iterable[_Union[AnalysedStage, _Mapping]]] = ..., executors: _Optional[_Iterable[_Union[AnalysedExecutor, _Mapping]]] = ..., findings: _Optional[_Iterable[_Union[AnalysisFinding, _Mapping]]] = ..., not_decidable: _Optional[_Iterable[_Union[UndecidableRule, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[AnalysedQuery, _Mapping]]] = ...) -> None: ...

class AnalysedQuery(_message.Message):
    __slots__ = ("query_id", "root_query_id", "name", "title", "description", "call_site", "status", "started_ms", "ended_ms", "elapsed_ms", "failure_reason", "sources", "sink", "job_ids", "stage_ids", "failed_stages", "tasks", "run_ms", "input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes", "disk_spilled_bytes")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    ROOT_QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SINK_FIELD_NUMBER: _ClassVar[int]
    JOB_IDS_FIELD_NUMBER: _ClassVar[int]
    STAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    FAILED_STAGES_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    RUN_MS_FIELD_NUMBER: _ClassVar[int]
    INPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    query_id: int
    root_query_id: int
    name: str
    title: str
    description: str
    call_site: str
    status: str
    started_ms: int
    ended_ms: int
    elapsed_ms: int
    failure_reason: str
    sources: str
    sink: str
    job_ids: _containers.RepeatedScalarFieldContainer[int]
    stage_ids: _containers.RepeatedScalarFieldContainer[int]
    failed_stages: int
    tasks: int
    run_ms: int
    input_bytes: int
    output_bytes: int
    shuffle_read_bytes: int
    shuffle_write_bytes: int
    disk_spilled_bytes: int
    def __init__(self, query_id: _Optional[int] = ..., root_query_id: _Optional[int] = ..., name: _Optional[str] = ..., title: _Optional[str] = ..., description: _Optional[str] = ..., call_site: _Optional[str] = ..., status: _Optional[str] = ..., started_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., elapsed_ms: _Optional[int] = ..., failure_reason: _Optional[str] = ..., sources: _Optional[str] = ..., sink: _Optional[str] = ..., job_ids: _Optional[_Iterable[int]] = ..., stage_ids: _Optional[_Iterable[int]] = ..., failed_stages: _Optional[int] = ..., tasks: _Optional[int] = ..., run_ms: _Optional[int] = ..., input_bytes: _Optional[int] = ..., output_bytes: _Optional[int] = ..., shuffle_read_bytes: _Optional[int] = ..., shuffle_write_bytes: _Optional[int] = ..., disk_spilled_bytes: _Optional[int] = ...) -> None: ...

class AnalysedApplication(_message.Message):
    __slots__ = ("app_id", "attempt", "name", "spark_version", "started_ms", "ended_ms", "job_key", "run_key", "status", "elapsed_ms", "baseline_runs", "expected_ms", "expected_p95_ms", "moved", "work_measure")
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    SPARK_VERSION_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    BASELINE_RUNS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_P95_MS_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    WORK_MEASURE_FIELD_NUMBER: _ClassVar[int]
    app_id: str
    attempt: str
    name: str
    spark_version: str
    started_ms: int
    ended_ms: int
    job_key: str
    run_key: str
    status: str
    elapsed_ms: int
    baseline_runs: int
    expected_ms: int
    expected_p95_ms: int
    moved: str
    work_measure: str
    def __init__(self, app_id: _Optional[str] = ..., attempt: _Optional[str] = ..., name: _Optional[str] = ..., spark_version: _Optional[str] = ..., started_ms: _Optional[int] = ..., ended_ms: _Optional[int] = ..., job_key: _Optional[str] = ..., run_key: _Optional[str] = ..., status: _Optional[str] = ..., elapsed_ms: _Optional[int] = ..., baseline_runs: _Optional[int] = ..., expected_ms: _Optional[int] = ..., expected_p95_ms: _Optional[int] = ..., moved: _Optional[str] = ..., work_measure: _Optional[str] = ...) -> None: ...

class AnalysisEvidence(_message.Message):
    __slots__ = ("files", "plain_bytes", "codecs", "events", "events_by_kind", "malformed_lines", "truncated", "complete", "unfinished_tasks", "duplicate_task_ends", "malformed", "missing_files", "completeness", "left_out", "odd_values")
    class EventsByKindEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    FILES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_BYTES_FIELD_NUMBER: _ClassVar[int]
    CODECS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    EVENTS_BY_KIND_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_LINES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    COMPLETE_FIELD_NUMBER: _ClassVar[int]
    UNFINISHED_TASKS_FIELD_NUMBER: _ClassVar[int]
    DUPLICATE_TASK_ENDS_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_FIELD_NUMBER: _ClassVar[int]
    MISSING_FILES_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    ODD_VALUES_FIELD_NUMBER: _ClassVar[int]
    files: _containers.RepeatedCompositeFieldContainer[ReadFile]
    plain_bytes: int
    codecs: _containers.RepeatedScalarFieldContainer[str]
    events: int
    events_by_kind: _containers.ScalarMap[str, int]
    malformed_lines: _containers.RepeatedCompositeFieldContainer[MalformedLine]
    truncated: bool
    complete: bool
    unfinished_tasks: int
    duplicate_task_ends: int
    malformed: int
    missing_files: _containers.RepeatedScalarFieldContainer[str]
    completeness: float
    left_out: int
    odd_values: int
    def __init__(self, files: _Optional[_Iterable[_Union[ReadFile, _Mapping]]] = ..., plain_bytes: _Optional[int] = ..., codecs: _Optional[_Iterable[str]] = ..., events: _Optional[int] = ..., events_by_kind: _Optional[_Mapping[str, int]] = ..., malformed_lines: _Optional[_Iterable[_Union[MalformedLine, _Mapping]]] = ..., truncated: bool = ..., complete: bool = ..., unfinished_tasks: _Optional[int] = ..., duplicate_task_ends: _Optional[int] = ..., malformed: _Optional[int] = ..., missing_files: _Optional[_Iterable[str]] = ..., completeness: _Optional[float] = ..., left_out: _Optional[int] = ..., odd_values: _Optional[int] = ...) -> None: ...

class MalformedLine(_message.Message):
    __slots__ = ("file", "line", "reason")
    FILE_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    file: str
    line: int
    reason: str
    def __init__(self, file: _Optional[str] = ..., line: _Optional[int] = ..., reason: _Optional[str] = ...) -> None: ...

class ReadFile(_message.Message):
    __slots__ = ("name", "codec", "bytes", "plain_bytes", "lines", "truncated", "error")
    NAME_FIELD_NUMBER: _ClassVar[int]
    CODEC_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    PLAIN_BYTES_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    TRUNCATED_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    name: str
    codec: str
    bytes: int
    plain_bytes: int
    lines: int
    truncated: bool
    error: str
    def __init__(self, name: _Optional[str] = ..., codec: _Optional[str] = ..., bytes: _Optional[int] = ..., plain_bytes: _Optional[int] = ..., lines: _Optional[int] = ..., truncated: bool = ..., error: _Optional[str] = ...) -> None: ...

class AnalysedJob(_message.Message):
    __slots__ = ("job_id", "description", "submitted_ms", "completed_ms", "result", "failure_reason", "stage_ids", "failure_kind", "failure", "retry")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_MS_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    STAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_KIND_FIELD_NUMBER: _ClassVar[int]
    FAILURE_FIELD_NUMBER: _ClassVar[int]
    RETRY_FIELD_NUMBER: _ClassVar[int]
    job_id: int
    description: str
    submitted_ms: int
    completed_ms: int
    result: str
    failure_reason: str
    stage_ids: _containers.RepeatedScalarFieldContainer[int]
    failure_kind: str
    failure: str
    retry: str
    def __init__(self, job_id: _Optional[int] = ..., description: _Optional[str] = ..., submitted_ms: _Optional[int] = ..., completed_ms: _Optional[int] = ..., result: _Optional[str] = ..., failure_reason: _Optional[str] = ..., stage_ids: _Optional[_Iterable[int]] = ..., failure_kind: _Optional[str] = ..., failure: _Optional[str] = ..., retry: _Optional[str] = ...) -> None: ...

class AnalysedStage(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "fingerprint", "name", "job_description", "status", "num_tasks", "submitted_ms", "completed_ms", "failure_reason", "tasks", "succeeded", "failed", "killed", "speculative", "without_metrics", "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "memory_spilled_bytes", "disk_spilled_bytes", "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records", "input_bytes", "input_records", "output_bytes", "output_records", "wall_ms", "task_run_ms", "task_shuffle_read_bytes", "task_input_bytes", "job_id", "sql_execution_id", "started_tasks", "completeness", "baseline_runs", "expected_ms", "expected_p95_ms", "moved", "work_measure", "stage_name", "stage_title", "call_site")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    JOB_DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    STATUS_FIELD_NUMBER: _ClassVar[int]
    NUM_TASKS_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_MS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    KILLED_FIELD_NUMBER: _ClassVar[int]
    SPECULATIVE_FIELD_NUMBER: _ClassVar[int]
    WITHOUT_METRICS_FIELD_NUMBER: _ClassVar[int]
    RUN_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    GC_MS_FIELD_NUMBER: _ClassVar[int]
    DESERIALIZE_MS_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_RECORDS_FIELD_NUMBER: _ClassVar[int]
    FETCH_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_RECORDS_FIELD_NUMBER: _ClassVar[int]
    INPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    INPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    WALL_MS_FIELD_NUMBER: _ClassVar[int]
    TASK_RUN_MS_FIELD_NUMBER: _ClassVar[int]
    TASK_SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    TASK_INPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_TASKS_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    BASELINE_RUNS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_MS_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_P95_MS_FIELD_NUMBER: _ClassVar[int]
    MOVED_FIELD_NUMBER: _ClassVar[int]
    WORK_MEASURE_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    STAGE_TITLE_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    fingerprint: str
    name: str
    job_description: str
    status: str
    num_tasks: int
    submitted_ms: int
    completed_ms: int
    failure_reason: str
    tasks: int
    succeeded: int
    failed: int
    killed: int
    speculative: int
    without_metrics: int
    run_ms: int
    cpu_ns: int
    gc_ms: int
    deserialize_ms: int
    result_bytes: int
    memory_spilled_bytes: int
    disk_spilled_bytes: int
    shuffle_read_bytes: int
    shuffle_read_records: int
    fetch_wait_ms: int
    shuffle_write_bytes: int
    shuffle_write_records: int
    input_bytes: int
    input_records: int
    output_bytes: int
    output_records: int
    wall_ms: Distribution
    task_run_ms: Distribution
    task_shuffle_read_bytes: Distribution
    task_input_bytes: Distribution
    job_id: int
    sql_execution_id: int
    started_tasks: int
    completeness: float
    baseline_runs: int
    expected_ms: int
    expected_p95_ms: int
    moved: str
    work_measure: str
    stage_name: str
    stage_title: str
    call_site: str
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., fingerprint: _Optional[str] = ..., name: _Optional[str] = ..., job_description: _Optional[str] = ..., status: _Optional[str] = ..., num_tasks: _Optional[int] = ..., submitted_ms: _Optional[int] = ..., completed_ms: _Optional[int] = ..., failure_reason: _Optional[str] = ..., tasks: _Optional[int] = ..., succeeded: _Optional[int] = ..., failed: _Optional[int] = ..., killed: _Optional[int] = ..., speculative: _Optional[int] = ..., without_metrics: _Optional[int] = ..., run_ms: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., gc_ms: _Optional[int] = ..., deserialize_ms: _Optional[int] = ..., result_bytes: _Optional[int] = ..., memory_spilled_bytes: _Optional[int] = ..., disk_spilled_bytes: _Optional[int] = ..., shuffle_read_bytes: _Optional[int] = ..., shuffle_read_records: _Optional[int] = ..., fetch_wait_ms: _Optional[int] = ..., shuffle_write_bytes: _Optional[int] = ..., shuffle_write_records: _Optional[int] = ..., input_bytes: _Optional[int] = ..., input_records: _Optional[int] = ..., output_bytes: _Optional[int] = ..., output_records: _Optional[int] = ..., wall_ms: _Optional[_Union[Distribution, _Mapping]] = ..., task_run_ms: _Optional[_Union[Distribution, _Mapping]] = ..., task_shuffle_read_bytes: _Optional[_Union[Distribution, _Mapping]] = ..., task_input_bytes: _Optional[_Union[Distribution, _Mapping]] = ..., job_id: _Optional[int] = ..., sql_execution_id: _Optional[int] = ..., started_tasks: _Optional[int] = ..., completeness: _Optional[float] = ..., baseline_runs: _Optional[int] = ..., expected_ms: _Optional[int] = ..., expected_p95_ms: _Optional[int] = ..., moved: _Optional[str] = ..., work_measure: _Optional[str] = ..., stage_name: _Optional[str] = ..., stage_title: _Optional[str] = ..., call_site: _Optional[str] = ...) -> None: ...

class Distribution(_message.Message):
    __slots__ = ("n", "sum", "min", "median", "p95", "max")
    N_FIELD_NUMBER: _ClassVar[int]
    SUM_FIELD_NUMBER: _ClassVar[int]
    MIN_FIELD_NUMBER: _ClassVar[int]
    MEDIAN_FIELD_NUMBER: _ClassVar[int]
    P95_FIELD_NUMBER: _ClassVar[int]
    MAX_FIELD_NUMBER: _ClassVar[int]
    n: int
    sum: int
    min: int
    median: float
    p95: int
    max: int
    def __init__(self, n: _Optional[int] = ..., sum: _Optional[int] = ..., min: _Optional[int] = ..., median: _Optional[float] = ..., p95: _Optional[int] = ..., max: _Optional[int] = ...) -> None: ...

class AnalysedExecutor(_message.Message):
    __slots__ = ("executor_id", "host", "added_ms", "removed_ms", "removed_reason", "cores")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    ADDED_MS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_MS_FIELD_NUMBER: _ClassVar[int]
    REMOVED_REASON_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    host: str
    added_ms: int
    removed_ms: int
    removed_reason: str
    cores: int
    def __init__(self, executor_id: _Optional[str] = ..., host: _Optional[str] = ..., added_ms: _Optional[int] = ..., removed_ms: _Optional[int] = ..., removed_reason: _Optional[str] = ..., cores: _Optional[int] = ...) -> None: ...

class AnalysisFinding(_message.Message):
    __slots__ = ("rule", "severity", "stage_id", "stage_attempt", "executor_id", "summary", "description", "evidence", "completeness", "runbook", "job_id", "count", "inhibited_by", "query_id", "stage_name")
    class EvidenceEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: _struct_pb2.Value
        def __init__(self, key: _Optional[str] = ..., value: _Optional[_Union[_struct_pb2.Value, _Mapping]] = ...) -> None: ...
    RULE_FIELD_NUMBER: _ClassVar[int]
    SEVERITY_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    RUNBOOK_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    INHIBITED_BY_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    rule: str
    severity: str
    stage_id: int
    stage_attempt: int
    executor_id: str
    summary: str
    description: str
    evidence: _containers.MessageMap[str, _struct_pb2.Value]
    completeness: float
    runbook: str
    job_id: int
    count: int
    inhibited_by: str
    query_id: int
    stage_name: str
    def __init__(self, rule: _Optional[str] = ..., severity: _Optional[str] = ..., stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., executor_id: _Optional[str] = ..., summary: _Optional[str] = ..., description: _Optional[str] = ..., evidence: _Optional[_Mapping[str, _struct_pb2.Value]] = ..., completeness: _Optional[float] = ..., runbook: _Optional[str] = ..., job_id: _Optional[int] = ..., count: _Optional[int] = ..., inhibited_by: _Optional[str] = ..., query_id: _Optional[int] = ..., stage_name: _Optional[str] = ...) -> None: ...

class UndecidableRule(_message.Message):
    __slots__ = ("rule", "reason")
    RULE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    rule: str
    reason: str
    def __init__(self, rule: _Optional[str] = ..., reason: _Optional[str] = ...) -> None: ...
