"""Tests that shipper and plugin produce equal facts with equal ids for one run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from google.protobuf import json_format

from sparkfuse_collectors.logs.files import LocalFiles
from sparkfuse_collectors.logs.find import find_logs
from sparkfuse_collectors.logs.lines import LineReader
from sparkfuse_collectors.ship.translation import EVENTS, Shipper, Translation
from sparkfuse_contracts.generated.fact_pb2 import Fact

pytestmark = pytest.mark.timeout(900)
ONLY_LIVE = {"task_progress", "executor_sample", "collector_health"}
# Kinds of facts whose events contain no time: the plugin uses its clock, the shipper the time of the event before.
WITHOUT_TIME = {"resource_profile_added": (), "sql_plan": (), "streaming_ended": ("ended_ms",)}
ONLY_THE_PLUGIN = {"application_started": ("plugin_version",)}
CLUSTER = {
    "spark__master": "local-cluster[2,1,700]",
    "spark__executor__memory": "600m",
    "spark__sql__autoBroadcastJoinThreshold": "-1",
    "spark__shuffle__spill__numElementsForceSpillThreshold": "3000",
    "spark__excludeOnFailure__enabled": "true",
    "spark__excludeOnFailure__stage__maxFailedTasksPerExecutor": "1",
    "spark__excludeOnFailure__application__maxFailedTasksPerExecutor": "50",
    "spark__excludeOnFailure__task__maxTaskAttemptsPerExecutor": "1",
    "spark__my__password": "hunter2",
}


def shipped(folder: Path) -> list[Fact]:
    """Return the facts that the shipper creates from a log, although the plugin reports the application."""
    files = LocalFiles(str(folder))
    (log,) = find_logs(files)
    translation = Translation(Shipper("test", "default", "default"))
    records = []
    for part in log.parts:
        chunk = LineReader(files, part.path, 0, None, EVENTS).read(1 << 40)
        records += translation.records(chunk)
    assert translation.malformed == 0
    assert translation.has_plugin
    return [Fact.FromString(record) for record in records]


def comparable(fact: Fact) -> Fact:
    """Return the fact without its collector and without the fields that only one of plugin and shipper can fill."""
    copy = Fact.FromString(fact.SerializeToString())
    for name in ("collector", "lane", "seq"):
        copy.ClearField(name)
    kind = str(copy.WhichOneof("kind"))
    message = getattr(copy, kind)
    for name in (*WITHOUT_TIME.get(kind, ()), *ONLY_THE_PLUGIN.get(kind, ())):
        message.ClearField(name)
    if kind in WITHOUT_TIME:
        copy.ClearField("event_time_ms")
    return copy


def by_id(facts: list[Fact]) -> dict[bytes, Fact]:
    kept = [fact for fact in facts if fact.WhichOneof("kind") not in ONLY_LIVE]
    found = {fact.event_id: comparable(fact) for fact in kept}
    assert len(found) == len(kept), "two facts have the same id"
    return found


def difference(live: Fact, logged: Fact) -> dict[str, tuple[object, object]]:
    """Return the fields in which the two facts differ, with both values."""
    one, other = (json_format.MessageToDict(fact, preserving_proto_field_name=True) for fact in (live, logged))
    kind = name(live)
    pairs = [(one, other), (one.pop(kind, {}), other.pop(kind, {}))]
    return {
        field: (left.get(field), right.get(field))
        for left, right in pairs
        for field in {**left, **right}
        if left.get(field) != right.get(field)
    }


def name(fact: Fact) -> str:
    return str(fact.WhichOneof("kind"))


def may_lack_start(fact: Fact, live: Iterable[Fact]) -> bool:
    """Return whether the plugin may have dropped this task start because the task ended while the start was queued."""
    ends = {each.task_ended.task_id for each in live if name(each) == "task_ended"}
    return name(fact) == "task_started" and fact.task_started.task_id in ends


@pytest.mark.parametrize(
    ("version", "script"),
    [
        pytest.param(version, script, marks=pytest.mark.long)
        for version in ("spark4", "spark35")
        for script in ("whole_job.py", "streaming_job.py")
    ],
)
def test_shipper_and_plugin_produce_the_same_facts(
    run_job, kafka_bootstrap, topics, facts, tmp_path: Path, version: str, script: str
):
    """Each fact that both plugin and shipper can produce has the same id, time and fields from both."""
    folder = tmp_path / "log"
    folder.mkdir()
    settings = {"spark__eventLog__enabled": "true", "spark__eventLog__dir": folder.as_uri()}
    if script == "whole_job.py":
        settings |= {**CLUSTER, "spark__test__folder": str(tmp_path / "orders")}
    job = run_job(version, script, kafka_bootstrap, topics, **settings)
    job.wait_for_line("STOPPED")
    assert job.ended() == 0

    live, logged = by_id(facts.all()), by_id(shipped(folder))
    assert [live[each] for each in live.keys() - logged.keys()] == []
    only_logged = [logged[each] for each in logged.keys() - live.keys()]
    assert [fact for fact in only_logged if not may_lack_start(fact, live.values())] == []
    found = {name(fact): difference(fact, logged[each]) for each, fact in live.items() if fact != logged[each]}
    assert found == {}
