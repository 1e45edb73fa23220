"""Tests that topics, views, tables, metrics and examples are consistent."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import jsonschema
import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet

from sparkfuse_contracts import columns, metric_names
from sparkfuse_contracts.assets import AssetMissingError, asset
from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_contracts.examples import DOCUMENTS, MODULES, examples, message_class, snake_case
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.live_pb2 import LiveRow, StageLive
from sparkfuse_contracts.tables import tables
from sparkfuse_contracts.topics import topic_name, topics


@pytest.mark.parametrize(("message", "oneof"), [(Fact, "kind"), (LiveRow, "row")])
def test_every_kind_has_an_example(message, oneof) -> None:
    """Each kind of fact and each kind of live row has a real example."""
    shown = {example.WhichOneof(oneof) for example in examples(message.DESCRIPTOR.name).values()}

    assert shown == {field.name for field in message.DESCRIPTOR.oneofs_by_name[oneof].fields}


def test_every_message_has_examples() -> None:
    """Each message of a topic has examples, and each folder of examples belongs to a message."""
    folders = {path.name for path in asset("sparkfuse_contracts", "examples").iterdir()} - {"golden"}

    assert {topic.message for topic in topics().values()} <= MODULES.keys()
    assert all(examples(name) for name in MODULES)
    assert len(folders) == len(MODULES) + len(DOCUMENTS)


def test_every_field_appears_in_an_example() -> None:
    """Each field of a message has a value in at least one example."""
    seen: set[str] = set()
    for name in MODULES:
        for example in examples(name).values():
            _note(example, seen)
    every = {field.full_name for name in MODULES for field in _fields(message_class(name).DESCRIPTOR)}

    assert sorted(every - seen) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_field_appears_in_an_example(name) -> None:
    """Each field of a document has a value in at least one example."""
    seen: set[str] = set()
    for example in examples(name).values():
        _note(example, seen)
    every = {field.full_name for field in _fields(message_class(name).DESCRIPTOR)}

    assert sorted(every - seen) == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_examples_match_their_json_schema(name) -> None:
    """The generated JSON Schema of a document accepts each of its examples."""
    folder = asset("sparkfuse_contracts", "generated", "json_schema")
    schema = json.loads((folder / f"{snake_case(name)}.json").read_text())
    paths = sorted(asset("sparkfuse_contracts", "examples", snake_case(name)).glob("*.json"))

    assert paths
    for path in paths:
        jsonschema.Draft202012Validator(schema).validate(json.loads(path.read_text()))


def _note(message, seen: set[str]) -> None:
    for field, value in message.ListFields():
        seen.add(field.full_name)
        if field.message_type and not field.message_type.GetOptions().map_entry:
            for inner in value if field.label == field.LABEL_REPEATED else [value]:
                _note(inner, seen)


def _fields(descriptor) -> Iterator[FieldDescriptor]:
    for field in descriptor.fields:
        yield field
        if field.message_type and not field.message_type.GetOptions().map_entry:
            yield from _fields(field.message_type)


def test_topics_have_prefix_keys_and_arrival_time() -> None:
    """Topic names start with the prefix, and keys are fields of the message.

    The topics whose arrival times matter, such as facts and live, have the broker's timestamps.
    """
    assert topic_name("dead-letters", "test") == "test.dead-letters"
    for topic in topics().values():
        keyed = {"signals": "Signal", "controls": "Control", "approvals": "Approval"}.get(topic.name, topic.message)
        assert set(topic.key) <= set(message_class(keyed).DESCRIPTOR.fields_by_name)
    arrival = {name for name, topic in topics().items() if "message.timestamp.type" in topic.config}
    assert arrival == {"facts", "live", "pages", "signals", "controls", "approvals", "audit", "receipts"}


def test_views_have_types_units_and_tags() -> None:
    """The views have all columns, in the order and with the types of their messages."""
    assert set(columns.VIEWS) == {
        "stage_live", "task_live", "executor_live", "app_live", "failure_live", "job_live", "executor_loss",
        "host_live", "query_live", "streaming_live",
    }  # fmt: skip
    assert list(columns.VIEWS["stage_live"]) == [field.name for field in StageLive.DESCRIPTOR.fields]
    assert columns.VIEWS["stage_live"]["duration_p95_ms"] == columns.Column(
        "duration_p95_ms", "double", "ms", "95th percentile of the duration of succeeded tasks.", ("sketch",)
    )
    assert columns.view_specs()["app_live"].row == "application"
    assert {"app_id", "window_end_ms", "completeness"} <= set(columns.envelope())


def test_tables_have_one_column_for_each_field() -> None:
    """A table has one column for each field of each kind, and its key columns cannot be NULL."""
    for table in tables().values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names))
        assert set(table.key) <= set(names)
        assert not [column for column in table.columns if column.name in table.key and "Nullable" in column.type]
    kinds = {column.path[0] for column in tables()["facts"].columns if len(column.path) == 2}
    assert kinds == {field.name for field in Fact.DESCRIPTOR.oneofs_by_name["kind"].fields}


def test_descriptors_are_complete() -> None:
    """The descriptor set contains every message."""
    files = FileDescriptorSet.FromString(descriptor_set()).file
    found = {message.name for file in files for message in file.message_type}

    assert found >= set(MODULES)


def test_metric_names_follow_prometheus_conventions() -> None:
    """Metric names have the prefix, counters end in _total, and no label has an unlimited number of values."""
    for metric in metric_names.ALL.values():
        assert re.fullmatch(r"sparkfuse_[a-z_]+", metric.name)
        assert (metric.kind == "counter") == metric.name.endswith("_total")
        assert not {"app_id", "job_key", "stage_id", "task_id"} & set(metric.labels)


def test_assets_are_found_in_checkout_and_wheel(tmp_path, monkeypatch) -> None:
    """The files of a component are found beside its package (checkout) and inside it (wheel)."""
    wheel = tmp_path / "installed_room"
    (wheel / "assets/catalog").mkdir(parents=True)
    (wheel / "__init__.py").touch()
    (wheel / "assets/catalog/rule.yaml").touch()
    monkeypatch.syspath_prepend(tmp_path)

    assert asset("installed_room", "catalog", "rule.yaml") == wheel / "assets/catalog/rule.yaml"
    assert asset("sparkfuse_contracts", "topics.yaml").is_file()
    with pytest.raises(AssetMissingError, match=r"nothing\.yaml of installed_room is in neither"):
        asset("installed_room", "nothing.yaml")
