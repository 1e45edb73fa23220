from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class DisplayName(_message.Message):
    __slots__ = ("cluster", "tenant", "app_id", "app_attempt", "app_start_ms", "kind", "query_id", "stage_id", "name", "title", "sources", "sink", "call_site", "job_key", "stage_fingerprint", "updated_ms")
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    TENANT_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    APP_ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    APP_START_MS_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    SINK_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    JOB_KEY_FIELD_NUMBER: _ClassVar[int]
    STAGE_FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    UPDATED_MS_FIELD_NUMBER: _ClassVar[int]
    cluster: str
    tenant: str
    app_id: str
    app_attempt: int
    app_start_ms: int
    kind: str
    query_id: int
    stage_id: int
    name: str
    title: str
    sources: str
    sink: str
    call_site: str
    job_key: str
    stage_fingerprint: str
    updated_ms: int
    def __init__(self, cluster: _Optional[str] = ..., tenant: _Optional[str] = ..., app_id: _Optional[str] = ..., app_attempt: _Optional[int] = ..., app_start_ms: _Optional[int] = ..., kind: _Optional[str] = ..., query_id: _Optional[int] = ..., stage_id: _Optional[int] = ..., name: _Optional[str] = ..., title: _Optional[str] = ..., sources: _Optional[str] = ..., sink: _Optional[str] = ..., call_site: _Optional[str] = ..., job_key: _Optional[str] = ..., stage_fingerprint: _Optional[str] = ..., updated_ms: _Optional[int] = ...) -> None: ...
