from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Fact(_message.Message):
    __slots__ = ("event_id", "event_time_ms", "cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "collector", "lane", "seq", "application_started", "application_ended", "job_started", "job_ended", "sql_started", "sql_ended", "stage_started", "stage_ended", "task_started", "task_ended", "task_progress", "executor_added", "executor_removed", "executor_sample", "collector_health", "tick", "sql_plan", "sql_metrics", "block_manager_added", "block_manager_removed", "streaming_started", "streaming_progress", "streaming_ended", "resource_profile_added", "node_event", "pod_changed", "undecodable")
    EVENT_ID_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_FIELD_NUMBER: _ClassVar[int]
    LANE_FIELD_NUMBER: _ClassVar[int]
    SEQ_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_STARTED_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_ENDED_FIELD_NUMBER: _ClassVar[int]
    JOB_STARTED_FIELD_NUMBER: _ClassVar[int]
    JOB_ENDED_FIELD_NUMBER: _ClassVar[int]
    SQL_STARTED_FIELD_NUMBER: _ClassVar[int]
    SQL_ENDED_FIELD_NUMBER: _ClassVar[int]
    STAGE_STARTED_FIELD_NUMBER: _ClassVar[int]
    STAGE_ENDED_FIELD_NUMBER: _ClassVar[int]
    TASK_STARTED_FIELD_NUMBER: _ClassVar[int]
    TASK_ENDED_FIELD_NUMBER: _ClassVar[int]
    TASK_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ADDED_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_REMOVED_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_SAMPLE_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_HEALTH_FIELD_NUMBER: _ClassVar[int]
    TICK_FIELD_NUMBER: _ClassVar[int]
    SQL_PLAN_FIELD_NUMBER: _ClassVar[int]
    SQL_METRICS_FIELD_NUMBER: _ClassVar[int]
    BLOCK_MANAGER_ADDED_FIELD_NUMBER: _ClassVar[int]
    BLOCK_MANAGER_REMOVED_FIELD_NUMBER: _ClassVar[int]
    STREAMING_STARTED_FIELD_NUMBER: _ClassVar[int]
    STREAMING_PROGRESS_FIELD_NUMBER: _ClassVar[int]
    STREAMING_ENDED_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_PROFILE_ADDED_FIELD_NUMBER: _ClassVar[int]
    NODE_EVENT_FIELD_NUMBER: _ClassVar[int]
    POD_CHANGED_FIELD_NUMBER: _ClassVar[int]
    UNDECODABLE_FIELD_NUMBER: _ClassVar[int]
    event_id: bytes
    event_time_ms: int
    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    collector: str
    lane: str
    seq: int
    application_started: ApplicationStarted
    application_ended: ApplicationEnded
    job_started: JobStarted
    job_ended: JobEnded
    sql_started: SqlStarted
    sql_ended: SqlEnded
    stage_started: StageStarted
    stage_ended: StageEnded
    task_started: TaskStarted
    task_ended: TaskEnded
    task_progress: TaskProgress
    executor_added: ExecutorAdded
    executor_removed: ExecutorRemoved
    executor_sample: ExecutorSample
    collector_health: CollectorHealth
    tick: Tick
    sql_plan: SqlPlan
    sql_metrics: SqlMetrics
    block_manager_added: BlockManagerAdded
    block_manager_removed: BlockManagerRemoved
    streaming_started: StreamingStarted
    streaming_progress: StreamingProgress
    streaming_ended: StreamingEnded
    resource_profile_added: ResourceProfileAdded
    node_event: NodeEvent
    pod_changed: PodChanged
    undecodable: Undecodable
    def __init__(self, event_id: _Optional[bytes] = ..., event_time_ms: _Optional[int] = ..., cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., collector: _Optional[str] = ..., lane: _Optional[str] = ..., seq: _Optional[int] = ..., application_started: _Optional[_Union[ApplicationStarted, _Mapping]] = ..., application_ended: _Optional[_Union[ApplicationEnded, _Mapping]] = ..., job_started: _Optional[_Union[JobStarted, _Mapping]] = ..., job_ended: _Optional[_Union[JobEnded, _Mapping]] = ..., sql_started: _Optional[_Union[SqlStarted, _Mapping]] = ..., sql_ended: _Optional[_Union[SqlEnded, _Mapping]] = ..., stage_started: _Optional[_Union[StageStarted, _Mapping]] = ..., stage_ended: _Optional[_Union[StageEnded, _Mapping]] = ..., task_started: _Optional[_Union[TaskStarted, _Mapping]] = ..., task_ended: _Optional[_Union[TaskEnded, _Mapping]] = ..., task_progress: _Optional[_Union[TaskProgress, _Mapping]] = ..., executor_added: _Optional[_Union[ExecutorAdded, _Mapping]] = ..., executor_removed: _Optional[_Union[ExecutorRemoved, _Mapping]] = ..., executor_sample: _Optional[_Union[ExecutorSample, _Mapping]] = ..., collector_health: _Optional[_Union[CollectorHealth, _Mapping]] = ..., tick: _Optional[_Union[Tick, _Mapping]] = ..., sql_plan: _Optional[_Union[SqlPlan, _Mapping]] = ..., sql_metrics: _Optional[_Union[SqlMetrics, _Mapping]] = ..., block_manager_added: _Optional[_Union[BlockManagerAdded, _Mapping]] = ..., block_manager_removed: _Optional[_Union[BlockManagerRemoved, _Mapping]] = ..., streaming_started: _Optional[_Union[StreamingStarted, _Mapping]] = ..., streaming_progress: _Optional[_Union[StreamingProgress, _Mapping]] = ..., streaming_ended: _Optional[_Union[StreamingEnded, _Mapping]] = ..., resource_profile_added: _Optional[_Union[ResourceProfileAdded, _Mapping]] = ..., node_event: _Optional[_Union[NodeEvent, _Mapping]] = ..., pod_changed: _Optional[_Union[PodChanged, _Mapping]] = ..., undecodable: _Optional[_Union[Undecodable, _Mapping]] = ...) -> None: ...

class ApplicationStarted(_message.Message):
    __slots__ = ("name", "user_name", "spark_version", "plugin_version", "master", "properties", "configuration")
    class PropertiesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class ConfigurationEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    USER_NAME_FIELD_NUMBER: _ClassVar[int]
    SPARK_VERSION_FIELD_NUMBER: _ClassVar[int]
    PLUGIN_VERSION_FIELD_NUMBER: _ClassVar[int]
    MASTER_FIELD_NUMBER: _ClassVar[int]
    PROPERTIES_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    name: str
    user_name: str
    spark_version: str
    plugin_version: str
    master: str
    properties: _containers.ScalarMap[str, str]
    configuration: _containers.ScalarMap[str, str]
    def __init__(self, name: _Optional[str] = ..., user_name: _Optional[str] = ..., spark_version: _Optional[str] = ..., plugin_version: _Optional[str] = ..., master: _Optional[str] = ..., properties: _Optional[_Mapping[str, str]] = ..., configuration: _Optional[_Mapping[str, str]] = ...) -> None: ...

class ApplicationEnded(_message.Message):
    __slots__ = ("ended_ms", "succeeded_jobs", "failed_jobs")
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_JOBS_FIELD_NUMBER: _ClassVar[int]
    FAILED_JOBS_FIELD_NUMBER: _ClassVar[int]
    ended_ms: int
    succeeded_jobs: int
    failed_jobs: int
    def __init__(self, ended_ms: _Optional[int] = ..., succeeded_jobs: _Optional[int] = ..., failed_jobs: _Optional[int] = ...) -> None: ...

class JobStarted(_message.Message):
    __slots__ = ("job_id", "submitted_ms", "stage_ids", "description", "sql_execution_id", "job_group", "job_tags")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    STAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    JOB_GROUP_FIELD_NUMBER: _ClassVar[int]
    JOB_TAGS_FIELD_NUMBER: _ClassVar[int]
    job_id: int
    submitted_ms: int
    stage_ids: _containers.RepeatedScalarFieldContainer[int]
    description: str
    sql_execution_id: int
    job_group: str
    job_tags: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, job_id: _Optional[int] = ..., submitted_ms: _Optional[int] = ..., stage_ids: _Optional[_Iterable[int]] = ..., description: _Optional[str] = ..., sql_execution_id: _Optional[int] = ..., job_group: _Optional[str] = ..., job_tags: _Optional[_Iterable[str]] = ...) -> None: ...

class JobEnded(_message.Message):
    __slots__ = ("job_id", "completed_ms", "succeeded", "failure_reason")
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_MS_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    job_id: int
    completed_ms: int
    succeeded: bool
    failure_reason: str
    def __init__(self, job_id: _Optional[int] = ..., completed_ms: _Optional[int] = ..., succeeded: bool = ..., failure_reason: _Optional[str] = ...) -> None: ...

class SqlStarted(_message.Message):
    __slots__ = ("sql_execution_id", "started_ms", "description", "plan_nodes", "root_execution_id", "call_site")
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    PLAN_NODES_FIELD_NUMBER: _ClassVar[int]
    ROOT_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    sql_execution_id: int
    started_ms: int
    description: str
    plan_nodes: _containers.RepeatedScalarFieldContainer[str]
    root_execution_id: int
    call_site: str
    def __init__(self, sql_execution_id: _Optional[int] = ..., started_ms: _Optional[int] = ..., description: _Optional[str] = ..., plan_nodes: _Optional[_Iterable[str]] = ..., root_execution_id: _Optional[int] = ..., call_site: _Optional[str] = ...) -> None: ...

class SqlEnded(_message.Message):
    __slots__ = ("sql_execution_id", "ended_ms", "failure_reason", "succeeded")
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    sql_execution_id: int
    ended_ms: int
    failure_reason: str
    succeeded: bool
    def __init__(self, sql_execution_id: _Optional[int] = ..., ended_ms: _Optional[int] = ..., failure_reason: _Optional[str] = ..., succeeded: bool = ...) -> None: ...

class SqlPlan(_message.Message):
    __slots__ = ("sql_execution_id", "plan_version", "node_names", "node_parents", "metrics", "left_out_nodes", "left_out_metrics", "node_details")
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    PLAN_VERSION_FIELD_NUMBER: _ClassVar[int]
    NODE_NAMES_FIELD_NUMBER: _ClassVar[int]
    NODE_PARENTS_FIELD_NUMBER: _ClassVar[int]
    METRICS_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_NODES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_METRICS_FIELD_NUMBER: _ClassVar[int]
    NODE_DETAILS_FIELD_NUMBER: _ClassVar[int]
    sql_execution_id: int
    plan_version: int
    node_names: _containers.RepeatedScalarFieldContainer[str]
    node_parents: _containers.RepeatedScalarFieldContainer[int]
    metrics: _containers.RepeatedCompositeFieldContainer[SqlPlanMetric]
    left_out_nodes: int
    left_out_metrics: int
    node_details: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, sql_execution_id: _Optional[int] = ..., plan_version: _Optional[int] = ..., node_names: _Optional[_Iterable[str]] = ..., node_parents: _Optional[_Iterable[int]] = ..., metrics: _Optional[_Iterable[_Union[SqlPlanMetric, _Mapping]]] = ..., left_out_nodes: _Optional[int] = ..., left_out_metrics: _Optional[int] = ..., node_details: _Optional[_Iterable[str]] = ...) -> None: ...

class SqlPlanMetric(_message.Message):
    __slots__ = ("node", "accumulator_id", "name", "type")
    NODE_FIELD_NUMBER: _ClassVar[int]
    ACCUMULATOR_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    node: int
    accumulator_id: int
    name: str
    type: str
    def __init__(self, node: _Optional[int] = ..., accumulator_id: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[str] = ...) -> None: ...

class SqlMetrics(_message.Message):
    __slots__ = ("sql_execution_id", "accumulator_ids", "values", "left_out")
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    ACCUMULATOR_IDS_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    sql_execution_id: int
    accumulator_ids: _containers.RepeatedScalarFieldContainer[int]
    values: _containers.RepeatedScalarFieldContainer[int]
    left_out: int
    def __init__(self, sql_execution_id: _Optional[int] = ..., accumulator_ids: _Optional[_Iterable[int]] = ..., values: _Optional[_Iterable[int]] = ..., left_out: _Optional[int] = ...) -> None: ...

class StageStarted(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "name", "num_tasks", "parent_stage_ids", "scope_names", "submitted_ms", "job_id", "sql_execution_id", "resource_profile_id", "depth", "call_site")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUM_TASKS_FIELD_NUMBER: _ClassVar[int]
    PARENT_STAGE_IDS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_NAMES_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    JOB_ID_FIELD_NUMBER: _ClassVar[int]
    SQL_EXECUTION_ID_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_PROFILE_ID_FIELD_NUMBER: _ClassVar[int]
    DEPTH_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    name: str
    num_tasks: int
    parent_stage_ids: _containers.RepeatedScalarFieldContainer[int]
    scope_names: _containers.RepeatedScalarFieldContainer[str]
    submitted_ms: int
    job_id: int
    sql_execution_id: int
    resource_profile_id: int
    depth: int
    call_site: str
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., name: _Optional[str] = ..., num_tasks: _Optional[int] = ..., parent_stage_ids: _Optional[_Iterable[int]] = ..., scope_names: _Optional[_Iterable[str]] = ..., submitted_ms: _Optional[int] = ..., job_id: _Optional[int] = ..., sql_execution_id: _Optional[int] = ..., resource_profile_id: _Optional[int] = ..., depth: _Optional[int] = ..., call_site: _Optional[str] = ...) -> None: ...

class StageEnded(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "num_tasks", "submitted_ms", "completed_ms", "succeeded", "failure_reason", "operator_rows_max", "result_bytes")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    NUM_TASKS_FIELD_NUMBER: _ClassVar[int]
    SUBMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    COMPLETED_MS_FIELD_NUMBER: _ClassVar[int]
    SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    OPERATOR_ROWS_MAX_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    num_tasks: int
    submitted_ms: int
    completed_ms: int
    succeeded: bool
    failure_reason: str
    operator_rows_max: int
    result_bytes: int
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., num_tasks: _Optional[int] = ..., submitted_ms: _Optional[int] = ..., completed_ms: _Optional[int] = ..., succeeded: bool = ..., failure_reason: _Optional[str] = ..., operator_rows_max: _Optional[int] = ..., result_bytes: _Optional[int] = ...) -> None: ...

class TaskStarted(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "task_id", "task_index", "task_attempt", "executor_id", "host", "speculative", "launched_ms", "locality")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_INDEX_FIELD_NUMBER: _ClassVar[int]
    TASK_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    SPECULATIVE_FIELD_NUMBER: _ClassVar[int]
    LAUNCHED_MS_FIELD_NUMBER: _ClassVar[int]
    LOCALITY_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    task_id: int
    task_index: int
    task_attempt: int
    executor_id: str
    host: str
    speculative: bool
    launched_ms: int
    locality: str
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., task_index: _Optional[int] = ..., task_attempt: _Optional[int] = ..., executor_id: _Optional[str] = ..., host: _Optional[str] = ..., speculative: bool = ..., launched_ms: _Optional[int] = ..., locality: _Optional[str] = ...) -> None: ...

class TaskEnded(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "task_id", "task_index", "task_attempt", "executor_id", "host", "speculative", "launched_ms", "finished_ms", "duration_ms", "outcome", "failure_class", "failure_reason", "has_metrics", "run_ms", "cpu_ns", "gc_ms", "deserialize_ms", "result_bytes", "peak_execution_memory_bytes", "memory_spilled_bytes", "disk_spilled_bytes", "input_bytes", "input_records", "output_bytes", "output_records", "shuffle_read_bytes", "shuffle_read_records", "fetch_wait_ms", "shuffle_write_bytes", "shuffle_write_records", "result_serialization_ms", "getting_result_ms", "deserialize_cpu_ns", "shuffle_write_ns", "remote_shuffle_read_bytes", "remote_shuffle_to_disk_bytes", "local_shuffle_read_bytes", "remote_shuffle_blocks", "local_shuffle_blocks", "remote_requests_ms", "merged_shuffle_read_bytes", "corrupt_merged_chunks", "merged_fallbacks", "peak_on_heap_execution_memory_bytes", "peak_off_heap_execution_memory_bytes", "exit_code", "exit_caused_by_app", "fetch_failed_host", "fetch_failed_executor_id", "fetch_failed_shuffle_id", "locality")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_INDEX_FIELD_NUMBER: _ClassVar[int]
    TASK_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    SPECULATIVE_FIELD_NUMBER: _ClassVar[int]
    LAUNCHED_MS_FIELD_NUMBER: _ClassVar[int]
    FINISHED_MS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    FAILURE_CLASS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    HAS_METRICS_FIELD_NUMBER: _ClassVar[int]
    RUN_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    GC_MS_FIELD_NUMBER: _ClassVar[int]
    DESERIALIZE_MS_FIELD_NUMBER: _ClassVar[int]
    RESULT_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEAK_EXECUTION_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    INPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    INPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_RECORDS_FIELD_NUMBER: _ClassVar[int]
    FETCH_WAIT_MS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_RECORDS_FIELD_NUMBER: _ClassVar[int]
    RESULT_SERIALIZATION_MS_FIELD_NUMBER: _ClassVar[int]
    GETTING_RESULT_MS_FIELD_NUMBER: _ClassVar[int]
    DESERIALIZE_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_NS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    REMOTE_SHUFFLE_TO_DISK_BYTES_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    REMOTE_SHUFFLE_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    LOCAL_SHUFFLE_BLOCKS_FIELD_NUMBER: _ClassVar[int]
    REMOTE_REQUESTS_MS_FIELD_NUMBER: _ClassVar[int]
    MERGED_SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    CORRUPT_MERGED_CHUNKS_FIELD_NUMBER: _ClassVar[int]
    MERGED_FALLBACKS_FIELD_NUMBER: _ClassVar[int]
    PEAK_ON_HEAP_EXECUTION_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    PEAK_OFF_HEAP_EXECUTION_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CAUSED_BY_APP_FIELD_NUMBER: _ClassVar[int]
    FETCH_FAILED_HOST_FIELD_NUMBER: _ClassVar[int]
    FETCH_FAILED_EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    FETCH_FAILED_SHUFFLE_ID_FIELD_NUMBER: _ClassVar[int]
    LOCALITY_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    task_id: int
    task_index: int
    task_attempt: int
    executor_id: str
    host: str
    speculative: bool
    launched_ms: int
    finished_ms: int
    duration_ms: int
    outcome: str
    failure_class: str
    failure_reason: str
    has_metrics: bool
    run_ms: int
    cpu_ns: int
    gc_ms: int
    deserialize_ms: int
    result_bytes: int
    peak_execution_memory_bytes: int
    memory_spilled_bytes: int
    disk_spilled_bytes: int
    input_bytes: int
    input_records: int
    output_bytes: int
    output_records: int
    shuffle_read_bytes: int
    shuffle_read_records: int
    fetch_wait_ms: int
    shuffle_write_bytes: int
    shuffle_write_records: int
    result_serialization_ms: int
    getting_result_ms: int
    deserialize_cpu_ns: int
    shuffle_write_ns: int
    remote_shuffle_read_bytes: int
    remote_shuffle_to_disk_bytes: int
    local_shuffle_read_bytes: int
    remote_shuffle_blocks: int
    local_shuffle_blocks: int
    remote_requests_ms: int
    merged_shuffle_read_bytes: int
    corrupt_merged_chunks: int
    merged_fallbacks: int
    peak_on_heap_execution_memory_bytes: int
    peak_off_heap_execution_memory_bytes: int
    exit_code: int
    exit_caused_by_app: bool
    fetch_failed_host: str
    fetch_failed_executor_id: str
    fetch_failed_shuffle_id: int
    locality: str
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., task_index: _Optional[int] = ..., task_attempt: _Optional[int] = ..., executor_id: _Optional[str] = ..., host: _Optional[str] = ..., speculative: bool = ..., launched_ms: _Optional[int] = ..., finished_ms: _Optional[int] = ..., duration_ms: _Optional[int] = ..., outcome: _Optional[str] = ..., failure_class: _Optional[str] = ..., failure_reason: _Optional[str] = ..., has_metrics: bool = ..., run_ms: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., gc_ms: _Optional[int] = ..., deserialize_ms: _Optional[int] = ..., result_bytes: _Optional[int] = ..., peak_execution_memory_bytes: _Optional[int] = ..., memory_spilled_bytes: _Optional[int] = ..., disk_spilled_bytes: _Optional[int] = ..., input_bytes: _Optional[int] = ..., input_records: _Optional[int] = ..., output_bytes: _Optional[int] = ..., output_records: _Optional[int] = ..., shuffle_read_bytes: _Optional[int] = ..., shuffle_read_records: _Optional[int] = ..., fetch_wait_ms: _Optional[int] = ..., shuffle_write_bytes: _Optional[int] = ..., shuffle_write_records: _Optional[int] = ..., result_serialization_ms: _Optional[int] = ..., getting_result_ms: _Optional[int] = ..., deserialize_cpu_ns: _Optional[int] = ..., shuffle_write_ns: _Optional[int] = ..., remote_shuffle_read_bytes: _Optional[int] = ..., remote_shuffle_to_disk_bytes: _Optional[int] = ..., local_shuffle_read_bytes: _Optional[int] = ..., remote_shuffle_blocks: _Optional[int] = ..., local_shuffle_blocks: _Optional[int] = ..., remote_requests_ms: _Optional[int] = ..., merged_shuffle_read_bytes: _Optional[int] = ..., corrupt_merged_chunks: _Optional[int] = ..., merged_fallbacks: _Optional[int] = ..., peak_on_heap_execution_memory_bytes: _Optional[int] = ..., peak_off_heap_execution_memory_bytes: _Optional[int] = ..., exit_code: _Optional[int] = ..., exit_caused_by_app: bool = ..., fetch_failed_host: _Optional[str] = ..., fetch_failed_executor_id: _Optional[str] = ..., fetch_failed_shuffle_id: _Optional[int] = ..., locality: _Optional[str] = ...) -> None: ...

class TaskProgress(_message.Message):
    __slots__ = ("stage_id", "stage_attempt", "task_id", "task_index", "task_attempt", "executor_id", "host", "age_ms", "stalled_ms", "cpu_since_progress_ms", "cpu_ns", "activity", "memory_spilled_bytes", "disk_spilled_bytes", "input_bytes", "input_records", "output_bytes", "output_records", "shuffle_read_bytes", "shuffle_read_records", "shuffle_write_bytes", "shuffle_write_records", "stack", "python_worker", "since_progress_ms", "spilled_since_progress_bytes", "since_spill_ms")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    TASK_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_INDEX_FIELD_NUMBER: _ClassVar[int]
    TASK_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    AGE_MS_FIELD_NUMBER: _ClassVar[int]
    STALLED_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_SINCE_PROGRESS_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    ACTIVITY_FIELD_NUMBER: _ClassVar[int]
    MEMORY_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    DISK_SPILLED_BYTES_FIELD_NUMBER: _ClassVar[int]
    INPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    INPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_BYTES_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_RECORDS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_READ_RECORDS_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHUFFLE_WRITE_RECORDS_FIELD_NUMBER: _ClassVar[int]
    STACK_FIELD_NUMBER: _ClassVar[int]
    PYTHON_WORKER_FIELD_NUMBER: _ClassVar[int]
    SINCE_PROGRESS_MS_FIELD_NUMBER: _ClassVar[int]
    SPILLED_SINCE_PROGRESS_BYTES_FIELD_NUMBER: _ClassVar[int]
    SINCE_SPILL_MS_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    stage_attempt: int
    task_id: int
    task_index: int
    task_attempt: int
    executor_id: str
    host: str
    age_ms: int
    stalled_ms: int
    cpu_since_progress_ms: int
    cpu_ns: int
    activity: str
    memory_spilled_bytes: int
    disk_spilled_bytes: int
    input_bytes: int
    input_records: int
    output_bytes: int
    output_records: int
    shuffle_read_bytes: int
    shuffle_read_records: int
    shuffle_write_bytes: int
    shuffle_write_records: int
    stack: str
    python_worker: str
    since_progress_ms: int
    spilled_since_progress_bytes: int
    since_spill_ms: int
    def __init__(self, stage_id: _Optional[int] = ..., stage_attempt: _Optional[int] = ..., task_id: _Optional[int] = ..., task_index: _Optional[int] = ..., task_attempt: _Optional[int] = ..., executor_id: _Optional[str] = ..., host: _Optional[str] = ..., age_ms: _Optional[int] = ..., stalled_ms: _Optional[int] = ..., cpu_since_progress_ms: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., activity: _Optional[str] = ..., memory_spilled_bytes: _Optional[int] = ..., disk_spilled_bytes: _Optional[int] = ..., input_bytes: _Optional[int] = ..., input_records: _Optional[int] = ..., output_bytes: _Optional[int] = ..., output_records: _Optional[int] = ..., shuffle_read_bytes: _Optional[int] = ..., shuffle_read_records: _Optional[int] = ..., shuffle_write_bytes: _Optional[int] = ..., shuffle_write_records: _Optional[int] = ..., stack: _Optional[str] = ..., python_worker: _Optional[str] = ..., since_progress_ms: _Optional[int] = ..., spilled_since_progress_bytes: _Optional[int] = ..., since_spill_ms: _Optional[int] = ...) -> None: ...

class ExecutorAdded(_message.Message):
    __slots__ = ("executor_id", "host", "cores", "added_ms", "resource_profile_id")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    CORES_FIELD_NUMBER: _ClassVar[int]
    ADDED_MS_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_PROFILE_ID_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    host: str
    cores: int
    added_ms: int
    resource_profile_id: int
    def __init__(self, executor_id: _Optional[str] = ..., host: _Optional[str] = ..., cores: _Optional[int] = ..., added_ms: _Optional[int] = ..., resource_profile_id: _Optional[int] = ...) -> None: ...

class ExecutorRemoved(_message.Message):
    __slots__ = ("executor_id", "removed_ms", "reason", "exit_code")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    REMOVED_MS_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    removed_ms: int
    reason: str
    exit_code: int
    def __init__(self, executor_id: _Optional[str] = ..., removed_ms: _Optional[int] = ..., reason: _Optional[str] = ..., exit_code: _Optional[int] = ...) -> None: ...

class BlockManagerAdded(_message.Message):
    __slots__ = ("executor_id", "host", "max_memory_bytes", "max_on_heap_memory_bytes", "max_off_heap_memory_bytes", "added_ms")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    MAX_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_ON_HEAP_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAX_OFF_HEAP_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    ADDED_MS_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    host: str
    max_memory_bytes: int
    max_on_heap_memory_bytes: int
    max_off_heap_memory_bytes: int
    added_ms: int
    def __init__(self, executor_id: _Optional[str] = ..., host: _Optional[str] = ..., max_memory_bytes: _Optional[int] = ..., max_on_heap_memory_bytes: _Optional[int] = ..., max_off_heap_memory_bytes: _Optional[int] = ..., added_ms: _Optional[int] = ...) -> None: ...

class BlockManagerRemoved(_message.Message):
    __slots__ = ("executor_id", "host", "removed_ms")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    REMOVED_MS_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    host: str
    removed_ms: int
    def __init__(self, executor_id: _Optional[str] = ..., host: _Optional[str] = ..., removed_ms: _Optional[int] = ...) -> None: ...

class ExecutorSample(_message.Message):
    __slots__ = ("executor_id", "host", "interval_ms", "heap_used_bytes", "heap_max_bytes", "non_heap_used_bytes", "gc_count", "gc_ms", "gc_delta_ms", "cpu_ns", "rss_bytes", "python_rss_bytes", "running_tasks", "gc_pauses", "gc_pause_max_ms", "gc_pauses_left_out", "direct_memory_bytes", "mapped_memory_bytes", "open_files", "max_open_files", "threads", "python_workers", "python_cpu_ns", "storage_memory_used_bytes", "execution_memory_used_bytes")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    HEAP_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEAP_MAX_BYTES_FIELD_NUMBER: _ClassVar[int]
    NON_HEAP_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    GC_COUNT_FIELD_NUMBER: _ClassVar[int]
    GC_MS_FIELD_NUMBER: _ClassVar[int]
    GC_DELTA_MS_FIELD_NUMBER: _ClassVar[int]
    CPU_NS_FIELD_NUMBER: _ClassVar[int]
    RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    PYTHON_RSS_BYTES_FIELD_NUMBER: _ClassVar[int]
    RUNNING_TASKS_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSES_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSE_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    GC_PAUSES_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    DIRECT_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MAPPED_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    MAX_OPEN_FILES_FIELD_NUMBER: _ClassVar[int]
    THREADS_FIELD_NUMBER: _ClassVar[int]
    PYTHON_WORKERS_FIELD_NUMBER: _ClassVar[int]
    PYTHON_CPU_NS_FIELD_NUMBER: _ClassVar[int]
    STORAGE_MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    EXECUTION_MEMORY_USED_BYTES_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    host: str
    interval_ms: int
    heap_used_bytes: int
    heap_max_bytes: int
    non_heap_used_bytes: int
    gc_count: int
    gc_ms: int
    gc_delta_ms: int
    cpu_ns: int
    rss_bytes: int
    python_rss_bytes: int
    running_tasks: int
    gc_pauses: _containers.RepeatedCompositeFieldContainer[GcPause]
    gc_pause_max_ms: int
    gc_pauses_left_out: int
    direct_memory_bytes: int
    mapped_memory_bytes: int
    open_files: int
    max_open_files: int
    threads: int
    python_workers: int
    python_cpu_ns: int
    storage_memory_used_bytes: int
    execution_memory_used_bytes: int
    def __init__(self, executor_id: _Optional[str] = ..., host: _Optional[str] = ..., interval_ms: _Optional[int] = ..., heap_used_bytes: _Optional[int] = ..., heap_max_bytes: _Optional[int] = ..., non_heap_used_bytes: _Optional[int] = ..., gc_count: _Optional[int] = ..., gc_ms: _Optional[int] = ..., gc_delta_ms: _Optional[int] = ..., cpu_ns: _Optional[int] = ..., rss_bytes: _Optional[int] = ..., python_rss_bytes: _Optional[int] = ..., running_tasks: _Optional[int] = ..., gc_pauses: _Optional[_Iterable[_Union[GcPause, _Mapping]]] = ..., gc_pause_max_ms: _Optional[int] = ..., gc_pauses_left_out: _Optional[int] = ..., direct_memory_bytes: _Optional[int] = ..., mapped_memory_bytes: _Optional[int] = ..., open_files: _Optional[int] = ..., max_open_files: _Optional[int] = ..., threads: _Optional[int] = ..., python_workers: _Optional[int] = ..., python_cpu_ns: _Optional[int] = ..., storage_memory_used_bytes: _Optional[int] = ..., execution_memory_used_bytes: _Optional[int] = ...) -> None: ...

class CollectorHealth(_message.Message):
    __slots__ = ("queued", "dropped_bulk", "dropped_reserved", "acknowledged", "send_errors", "faults", "protection", "spark_dropped_events", "callback_p99_ns", "callback_p999_ns", "callback_max_ns", "protection_reason", "passed_over", "cut_facts", "queued_bytes", "behind_bytes", "malformed_lines", "torn", "on_fallback", "fallback_acknowledged", "resent")
    QUEUED_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BULK_FIELD_NUMBER: _ClassVar[int]
    DROPPED_RESERVED_FIELD_NUMBER: _ClassVar[int]
    ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    SEND_ERRORS_FIELD_NUMBER: _ClassVar[int]
    FAULTS_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_FIELD_NUMBER: _ClassVar[int]
    SPARK_DROPPED_EVENTS_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_P99_NS_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_P999_NS_FIELD_NUMBER: _ClassVar[int]
    CALLBACK_MAX_NS_FIELD_NUMBER: _ClassVar[int]
    PROTECTION_REASON_FIELD_NUMBER: _ClassVar[int]
    PASSED_OVER_FIELD_NUMBER: _ClassVar[int]
    CUT_FACTS_FIELD_NUMBER: _ClassVar[int]
    QUEUED_BYTES_FIELD_NUMBER: _ClassVar[int]
    BEHIND_BYTES_FIELD_NUMBER: _ClassVar[int]
    MALFORMED_LINES_FIELD_NUMBER: _ClassVar[int]
    TORN_FIELD_NUMBER: _ClassVar[int]
    ON_FALLBACK_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_ACKNOWLEDGED_FIELD_NUMBER: _ClassVar[int]
    RESENT_FIELD_NUMBER: _ClassVar[int]
    queued: int
    dropped_bulk: int
    dropped_reserved: int
    acknowledged: int
    send_errors: int
    faults: int
    protection: str
    spark_dropped_events: int
    callback_p99_ns: int
    callback_p999_ns: int
    callback_max_ns: int
    protection_reason: str
    passed_over: int
    cut_facts: int
    queued_bytes: int
    behind_bytes: int
    malformed_lines: int
    torn: bool
    on_fallback: bool
    fallback_acknowledged: int
    resent: int
    def __init__(self, queued: _Optional[int] = ..., dropped_bulk: _Optional[int] = ..., dropped_reserved: _Optional[int] = ..., acknowledged: _Optional[int] = ..., send_errors: _Optional[int] = ..., faults: _Optional[int] = ..., protection: _Optional[str] = ..., spark_dropped_events: _Optional[int] = ..., callback_p99_ns: _Optional[int] = ..., callback_p999_ns: _Optional[int] = ..., callback_max_ns: _Optional[int] = ..., protection_reason: _Optional[str] = ..., passed_over: _Optional[int] = ..., cut_facts: _Optional[int] = ..., queued_bytes: _Optional[int] = ..., behind_bytes: _Optional[int] = ..., malformed_lines: _Optional[int] = ..., torn: bool = ..., on_fallback: bool = ..., fallback_acknowledged: _Optional[int] = ..., resent: _Optional[int] = ...) -> None: ...

class GcPause(_message.Message):
    __slots__ = ("started_ms", "duration_ms", "collector", "cause", "heap_before_bytes", "heap_after_bytes")
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    COLLECTOR_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    HEAP_BEFORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    HEAP_AFTER_BYTES_FIELD_NUMBER: _ClassVar[int]
    started_ms: int
    duration_ms: int
    collector: str
    cause: str
    heap_before_bytes: int
    heap_after_bytes: int
    def __init__(self, started_ms: _Optional[int] = ..., duration_ms: _Optional[int] = ..., collector: _Optional[str] = ..., cause: _Optional[str] = ..., heap_before_bytes: _Optional[int] = ..., heap_after_bytes: _Optional[int] = ...) -> None: ...

class StreamingStarted(_message.Message):
    __slots__ = ("query_id", "run_id", "name", "started_ms", "trigger_interval_ms")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    TRIGGER_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    run_id: str
    name: str
    started_ms: int
    trigger_interval_ms: int
    def __init__(self, query_id: _Optional[str] = ..., run_id: _Optional[str] = ..., name: _Optional[str] = ..., started_ms: _Optional[int] = ..., trigger_interval_ms: _Optional[int] = ...) -> None: ...

class StreamingProgress(_message.Message):
    __slots__ = ("query_id", "run_id", "name", "batch_id", "triggered_ms", "batch_duration_ms", "add_batch_ms", "latest_offset_ms", "input_rows", "input_rows_per_second", "processed_rows_per_second", "state_rows", "state_memory_bytes", "dropped_by_watermark_rows", "watermark_ms", "source_lag_records", "source_lag_bytes", "sources", "event_time_max_ms")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BATCH_ID_FIELD_NUMBER: _ClassVar[int]
    TRIGGERED_MS_FIELD_NUMBER: _ClassVar[int]
    BATCH_DURATION_MS_FIELD_NUMBER: _ClassVar[int]
    ADD_BATCH_MS_FIELD_NUMBER: _ClassVar[int]
    LATEST_OFFSET_MS_FIELD_NUMBER: _ClassVar[int]
    INPUT_ROWS_FIELD_NUMBER: _ClassVar[int]
    INPUT_ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    PROCESSED_ROWS_PER_SECOND_FIELD_NUMBER: _ClassVar[int]
    STATE_ROWS_FIELD_NUMBER: _ClassVar[int]
    STATE_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    DROPPED_BY_WATERMARK_ROWS_FIELD_NUMBER: _ClassVar[int]
    WATERMARK_MS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LAG_RECORDS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_LAG_BYTES_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    EVENT_TIME_MAX_MS_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    run_id: str
    name: str
    batch_id: int
    triggered_ms: int
    batch_duration_ms: int
    add_batch_ms: int
    latest_offset_ms: int
    input_rows: int
    input_rows_per_second: float
    processed_rows_per_second: float
    state_rows: int
    state_memory_bytes: int
    dropped_by_watermark_rows: int
    watermark_ms: int
    source_lag_records: int
    source_lag_bytes: int
    sources: _containers.RepeatedScalarFieldContainer[str]
    event_time_max_ms: int
    def __init__(self, query_id: _Optional[str] = ..., run_id: _Optional[str] = ..., name: _Optional[str] = ..., batch_id: _Optional[int] = ..., triggered_ms: _Optional[int] = ..., batch_duration_ms: _Optional[int] = ..., add_batch_ms: _Optional[int] = ..., latest_offset_ms: _Optional[int] = ..., input_rows: _Optional[int] = ..., input_rows_per_second: _Optional[float] = ..., processed_rows_per_second: _Optional[float] = ..., state_rows: _Optional[int] = ..., state_memory_bytes: _Optional[int] = ..., dropped_by_watermark_rows: _Optional[int] = ..., watermark_ms: _Optional[int] = ..., source_lag_records: _Optional[int] = ..., source_lag_bytes: _Optional[int] = ..., sources: _Optional[_Iterable[str]] = ..., event_time_max_ms: _Optional[int] = ...) -> None: ...

class StreamingEnded(_message.Message):
    __slots__ = ("query_id", "run_id", "ended_ms", "failure_reason")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    RUN_ID_FIELD_NUMBER: _ClassVar[int]
    ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    FAILURE_REASON_FIELD_NUMBER: _ClassVar[int]
    query_id: str
    run_id: str
    ended_ms: int
    failure_reason: str
    def __init__(self, query_id: _Optional[str] = ..., run_id: _Optional[str] = ..., ended_ms: _Optional[int] = ..., failure_reason: _Optional[str] = ...) -> None: ...

class ResourceProfileAdded(_message.Message):
    __slots__ = ("profile_id", "executor_cores", "executor_memory_bytes", "memory_overhead_bytes", "pyspark_memory_bytes", "off_heap_memory_bytes", "task_cpus", "resources")
    class ResourcesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    PROFILE_ID_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_CORES_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    MEMORY_OVERHEAD_BYTES_FIELD_NUMBER: _ClassVar[int]
    PYSPARK_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    OFF_HEAP_MEMORY_BYTES_FIELD_NUMBER: _ClassVar[int]
    TASK_CPUS_FIELD_NUMBER: _ClassVar[int]
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    profile_id: int
    executor_cores: int
    executor_memory_bytes: int
    memory_overhead_bytes: int
    pyspark_memory_bytes: int
    off_heap_memory_bytes: int
    task_cpus: float
    resources: _containers.ScalarMap[str, str]
    def __init__(self, profile_id: _Optional[int] = ..., executor_cores: _Optional[int] = ..., executor_memory_bytes: _Optional[int] = ..., memory_overhead_bytes: _Optional[int] = ..., pyspark_memory_bytes: _Optional[int] = ..., off_heap_memory_bytes: _Optional[int] = ..., task_cpus: _Optional[float] = ..., resources: _Optional[_Mapping[str, str]] = ...) -> None: ...

class NodeEvent(_message.Message):
    __slots__ = ("event", "host", "executor_id", "stage_id", "task_failures", "happened_ms")
    EVENT_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    TASK_FAILURES_FIELD_NUMBER: _ClassVar[int]
    HAPPENED_MS_FIELD_NUMBER: _ClassVar[int]
    event: str
    host: str
    executor_id: str
    stage_id: int
    task_failures: int
    happened_ms: int
    def __init__(self, event: _Optional[str] = ..., host: _Optional[str] = ..., executor_id: _Optional[str] = ..., stage_id: _Optional[int] = ..., task_failures: _Optional[int] = ..., happened_ms: _Optional[int] = ...) -> None: ...

class PodChanged(_message.Message):
    __slots__ = ("executor_id", "pod", "node", "zone", "cause", "message", "exit_code", "changed_ms")
    EXECUTOR_ID_FIELD_NUMBER: _ClassVar[int]
    POD_FIELD_NUMBER: _ClassVar[int]
    NODE_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    EXIT_CODE_FIELD_NUMBER: _ClassVar[int]
    CHANGED_MS_FIELD_NUMBER: _ClassVar[int]
    executor_id: str
    pod: str
    node: str
    zone: str
    cause: str
    message: str
    exit_code: int
    changed_ms: int
    def __init__(self, executor_id: _Optional[str] = ..., pod: _Optional[str] = ..., node: _Optional[str] = ..., zone: _Optional[str] = ..., cause: _Optional[str] = ..., message: _Optional[str] = ..., exit_code: _Optional[int] = ..., changed_ms: _Optional[int] = ...) -> None: ...

class Tick(_message.Message):
    __slots__ = ("sent_ms",)
    SENT_MS_FIELD_NUMBER: _ClassVar[int]
    sent_ms: int
    def __init__(self, sent_ms: _Optional[int] = ...) -> None: ...

class Undecodable(_message.Message):
    __slots__ = ("payload", "reason")
    PAYLOAD_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    payload: bytes
    reason: str
    def __init__(self, payload: _Optional[bytes] = ..., reason: _Optional[str] = ...) -> None: ...
