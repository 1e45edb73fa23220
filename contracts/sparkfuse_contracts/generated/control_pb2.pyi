from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class Control(_message.Message):
    __slots__ = ("control_id", "kind", "released", "actor", "reason", "cluster", "rule", "job", "app", "action", "key_id", "issued_ms", "until_ms", "replay", "replayed_runs", "replayed_ms")
    class ReplayedRunsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    CONTROL_ID_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    ACTOR_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    APP_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    ISSUED_MS_FIELD_NUMBER: _ClassVar[int]
    UNTIL_MS_FIELD_NUMBER: _ClassVar[int]
    REPLAY_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_RUNS_FIELD_NUMBER: _ClassVar[int]
    REPLAYED_MS_FIELD_NUMBER: _ClassVar[int]
    control_id: str
    kind: str
    released: bool
    actor: str
    reason: str
    cluster: str
    rule: str
    job: str
    app: str
    action: str
    key_id: str
    issued_ms: int
    until_ms: int
    replay: str
    replayed_runs: _containers.ScalarMap[str, str]
    replayed_ms: int
    def __init__(self, control_id: _Optional[str] = ..., kind: _Optional[str] = ..., released: bool = ..., actor: _Optional[str] = ..., reason: _Optional[str] = ..., cluster: _Optional[str] = ..., rule: _Optional[str] = ..., job: _Optional[str] = ..., app: _Optional[str] = ..., action: _Optional[str] = ..., key_id: _Optional[str] = ..., issued_ms: _Optional[int] = ..., until_ms: _Optional[int] = ..., replay: _Optional[str] = ..., replayed_runs: _Optional[_Mapping[str, str]] = ..., replayed_ms: _Optional[int] = ...) -> None: ...
