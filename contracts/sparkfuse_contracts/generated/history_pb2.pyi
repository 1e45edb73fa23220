from sparkfuse_contracts.generated import live_pb2 as _live_pb2
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class HistoryRow(_message.Message):
    __slots__ = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "app_ended_ms", "source", "completeness", "job_key", "run_key", "app_succeeded", "stage", "application", "query")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    APP_ENDED_MS_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    COMPLETENESS_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    RUN_KEY_FIELD_NUMBER: _ClassVar[int]
    APP_SUCCEEDED_FIELD_NUMBER: _ClassVar[int]
    STAGE_FIELD_NUMBER: _ClassVar[int]
    APPLICATION_FIELD_NUMBER: _ClassVar[int]
    QUERY_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    app_ended_ms: int
    source: str
    completeness: float
    job_key: str
    run_key: str
    app_succeeded: bool
    stage: _live_pb2.StageLive
    application: _live_pb2.AppLive
    query: _live_pb2.QueryLive
    def __init__(self, cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., app_ended_ms: _Optional[int] = ..., source: _Optional[str] = ..., completeness: _Optional[float] = ..., job_key: _Optional[str] = ..., run_key: _Optional[str] = ..., app_succeeded: bool = ..., stage: _Optional[_Union[_live_pb2.StageLive, _Mapping]] = ..., application: _Optional[_Union[_live_pb2.AppLive, _Mapping]] = ..., query: _Optional[_Union[_live_pb2.QueryLive, _Mapping]] = ...) -> None: ...
