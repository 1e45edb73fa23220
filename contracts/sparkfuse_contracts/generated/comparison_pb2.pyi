from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Comparison(_message.Message):
    __slots__ = ("before", "after", "difference_ms", "causes", "stages", "outside", "configuration", "plan", "queries")
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    OUTSIDE_FIELD_NUMBER: _ClassVar[int]
    CONFIGURATION_FIELD_NUMBER: _ClassVar[int]
    PLAN_FIELD_NUMBER: _ClassVar[int]
    QUERIES_FIELD_NUMBER: _ClassVar[int]
    before: ComparedRun
    after: ComparedRun
    difference_ms: int
    causes: _containers.RepeatedCompositeFieldContainer[ComparedCause]
    stages: _containers.RepeatedCompositeFieldContainer[ComparedStage]
    outside: _containers.RepeatedCompositeFieldContainer[ComparedOutside]
    configuration: _containers.RepeatedCompositeFieldContainer[ComparedProperty]
    plan: _containers.RepeatedCompositeFieldContainer[ComparedPlanNode]
    queries: _containers.RepeatedCompositeFieldContainer[ComparedQuery]
    def __init__(self, before: _Optional[_Union[ComparedRun, _Mapping]] = ..., after: _Optional[_Union[ComparedRun, _Mapping]] = ..., difference_ms: _Optional[int] = ..., causes: _Optional[_Iterable[_Union[ComparedCause, _Mapping]]] = ..., stages: _Optional[_Iterable[_Union[ComparedStage, _Mapping]]] = ..., outside: _Optional[_Iterable[_Union[ComparedOutside, _Mapping]]] = ..., configuration: _Optional[_Iterable[_Union[ComparedProperty, _Mapping]]] = ..., plan: _Optional[_Iterable[_Union[ComparedPlanNode, _Mapping]]] = ..., queries: _Optional[_Iterable[_Union[ComparedQuery, _Mapping]]] = ...) -> None: ...

class ComparedQuery(_message.Message):
    __slots__ = ("name", "before", "after", "difference_ms")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    name: str
    before: ComparedQueryRun
    after: ComparedQueryRun
    difference_ms: int
    def __init__(self, name: _Optional[str] = ..., before: _Optional[_Union[ComparedQueryRun, _Mapping]] = ..., after: _Optional[_Union[ComparedQueryRun, _Mapping]] = ..., difference_ms: _Optional[int] = ...) -> None: ...

class ComparedQueryRun(_message.Message):
    __slots__ = ("query_id", "name", "title", "call_site", "elapsed_ms", "on_path_ms", "stages")
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TITLE_FIELD_NUMBER: _ClassVar[int]
    CALL_SITE_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    ON_PATH_MS_FIELD_NUMBER: _ClassVar[int]
    STAGES_FIELD_NUMBER: _ClassVar[int]
    query_id: int
    name: str
    title: str
    call_site: str
    elapsed_ms: int
    on_path_ms: int
    stages: int
    def __init__(self, query_id: _Optional[int] = ..., name: _Optional[str] = ..., title: _Optional[str] = ..., call_site: _Optional[str] = ..., elapsed_ms: _Optional[int] = ..., on_path_ms: _Optional[int] = ..., stages: _Optional[int] = ...) -> None: ...

class ComparedRun(_message.Message):
    __slots__ = ("log", "name", "app_id", "started_ms", "elapsed_ms", "slots", "limits")
    LOG_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    APP_ID_FIELD_NUMBER: _ClassVar[int]
    STARTED_MS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    LIMITS_FIELD_NUMBER: _ClassVar[int]
    log: str
    name: str
    app_id: str
    started_ms: int
    elapsed_ms: int
    slots: float
    limits: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, log: _Optional[str] = ..., name: _Optional[str] = ..., app_id: _Optional[str] = ..., started_ms: _Optional[int] = ..., elapsed_ms: _Optional[int] = ..., slots: _Optional[float] = ..., limits: _Optional[_Iterable[str]] = ...) -> None: ...

class ComparedCause(_message.Message):
    __slots__ = ("cause", "difference_ms", "meaning")
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    cause: str
    difference_ms: int
    meaning: str
    def __init__(self, cause: _Optional[str] = ..., difference_ms: _Optional[int] = ..., meaning: _Optional[str] = ...) -> None: ...

class ComparedStage(_message.Message):
    __slots__ = ("fingerprint", "occurrence", "name", "before", "after", "difference_ms", "parts", "stage_name")
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    OCCURRENCE_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    fingerprint: str
    occurrence: int
    name: str
    before: ComparedStageRun
    after: ComparedStageRun
    difference_ms: int
    parts: _containers.RepeatedCompositeFieldContainer[ComparedPart]
    stage_name: str
    def __init__(self, fingerprint: _Optional[str] = ..., occurrence: _Optional[int] = ..., name: _Optional[str] = ..., before: _Optional[_Union[ComparedStageRun, _Mapping]] = ..., after: _Optional[_Union[ComparedStageRun, _Mapping]] = ..., difference_ms: _Optional[int] = ..., parts: _Optional[_Iterable[_Union[ComparedPart, _Mapping]]] = ..., stage_name: _Optional[str] = ...) -> None: ...

class ComparedStageRun(_message.Message):
    __slots__ = ("stage_id", "attempts", "elapsed_ms", "on_path_ms", "tasks", "failed", "read_bytes", "read_records", "task_wall_ms", "slots", "query_id", "stage_name")
    STAGE_ID_FIELD_NUMBER: _ClassVar[int]
    ATTEMPTS_FIELD_NUMBER: _ClassVar[int]
    ELAPSED_MS_FIELD_NUMBER: _ClassVar[int]
    ON_PATH_MS_FIELD_NUMBER: _ClassVar[int]
    TASKS_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    READ_BYTES_FIELD_NUMBER: _ClassVar[int]
    READ_RECORDS_FIELD_NUMBER: _ClassVar[int]
    TASK_WALL_MS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    QUERY_ID_FIELD_NUMBER: _ClassVar[int]
    STAGE_NAME_FIELD_NUMBER: _ClassVar[int]
    stage_id: int
    attempts: int
    elapsed_ms: int
    on_path_ms: int
    tasks: int
    failed: int
    read_bytes: int
    read_records: int
    task_wall_ms: int
    slots: float
    query_id: int
    stage_name: str
    def __init__(self, stage_id: _Optional[int] = ..., attempts: _Optional[int] = ..., elapsed_ms: _Optional[int] = ..., on_path_ms: _Optional[int] = ..., tasks: _Optional[int] = ..., failed: _Optional[int] = ..., read_bytes: _Optional[int] = ..., read_records: _Optional[int] = ..., task_wall_ms: _Optional[int] = ..., slots: _Optional[float] = ..., query_id: _Optional[int] = ..., stage_name: _Optional[str] = ...) -> None: ...

class ComparedPart(_message.Message):
    __slots__ = ("part", "cause", "difference_ms", "meaning")
    PART_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    MEANING_FIELD_NUMBER: _ClassVar[int]
    part: str
    cause: str
    difference_ms: int
    meaning: str
    def __init__(self, part: _Optional[str] = ..., cause: _Optional[str] = ..., difference_ms: _Optional[int] = ..., meaning: _Optional[str] = ...) -> None: ...

class ComparedOutside(_message.Message):
    __slots__ = ("kind", "cause", "before_ms", "after_ms", "difference_ms")
    KIND_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_MS_FIELD_NUMBER: _ClassVar[int]
    AFTER_MS_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCE_MS_FIELD_NUMBER: _ClassVar[int]
    kind: str
    cause: str
    before_ms: int
    after_ms: int
    difference_ms: int
    def __init__(self, kind: _Optional[str] = ..., cause: _Optional[str] = ..., before_ms: _Optional[int] = ..., after_ms: _Optional[int] = ..., difference_ms: _Optional[int] = ...) -> None: ...

class ComparedProperty(_message.Message):
    __slots__ = ("key", "before", "after", "bears_on")
    KEY_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    BEARS_ON_FIELD_NUMBER: _ClassVar[int]
    key: str
    before: str
    after: str
    bears_on: str
    def __init__(self, key: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., bears_on: _Optional[str] = ...) -> None: ...

class ComparedPlanNode(_message.Message):
    __slots__ = ("name", "before", "after")
    NAME_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    name: str
    before: int
    after: int
    def __init__(self, name: _Optional[str] = ..., before: _Optional[int] = ..., after: _Optional[int] = ...) -> None: ...
