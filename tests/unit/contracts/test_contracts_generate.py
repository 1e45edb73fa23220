"""Tests that the generated files are up to date, and that the generator rejects a message that violates a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_contracts.generate import protoc
from sparkfuse_contracts.generate.__main__ import ROOT, differences, generate, main
from sparkfuse_contracts.schema import Schema, SchemaError, read_schema

CODEGEN_PYTHON = ROOT / "build/envs/codegen/bin/python"


@pytest.fixture(scope="module")
def java_protoc() -> Path:
    return protoc.fetch_java_protoc(ROOT / "build/protoc")


def test_generated_files_are_up_to_date() -> None:
    """Generating again changes no file; `make check` makes the same comparison."""
    assert main(["--check"]) == 0


def test_differences_name_each_file(java_protoc, tmp_path) -> None:
    """The names of changed, missing and superfluous files are reported."""
    generate(ROOT / "contracts", tmp_path / "made", CODEGEN_PYTHON, java_protoc)
    made = tmp_path / "made"
    (made / "generated/views.json").write_text("{}")
    (made / "documents/fact.md").unlink()
    (made / "python/extra_pb2.py").write_text("")

    assert differences(made) == [
        "contracts/sparkfuse_contracts/generated/extra_pb2.py",
        "contracts/generated/views.json",
        "docs/contract/fact.md",
    ]


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        pytest.param("optional int32 a = 1;", "M.a has no description with a unit", id="no comment"),
        pytest.param("// Something.\n optional int32 a = 1;", "M.a has no description with a unit", id="no unit"),
        pytest.param("// Time. [seconds]\n optional int32 a = 1;", "unknown unit 'seconds'", id="unknown unit"),
        pytest.param("// Time. [ms, dead]\n optional int32 a = 1;", "unknown tag 'dead'", id="unknown tag"),
        pytest.param("// Time. [ms]\n int32 a = 1;", "M.a has no field presence", id="no presence"),
        pytest.param("// Time. [ms]\n optional float a = 1;", "M.a has a type that the contract", id="other type"),
        pytest.param("// Map. [text]\n map<string, int64> a = 1;", "M.a is a map, but not from string", id="other map"),
        pytest.param("// Map. [text]\n map<int64, string> a = 1;", "M.a is a map, but not from string", id="other key"),
    ],
)
def test_error_contains_file_and_field(java_protoc, tmp_path, field, reason) -> None:
    """The generator rejects a field without description, unit or presence, and names its file."""
    (tmp_path / "bad.proto").write_text(f'syntax = "proto3";\n// A message.\nmessage M {{\n {field}\n}}\n')
    described = protoc.describe(java_protoc, tmp_path, tmp_path / "out")

    with pytest.raises(SchemaError) as refused:
        read_schema(described)

    assert "contracts/messages/bad.proto" in str(refused.value)
    assert reason in str(refused.value)


def written(tmp_path) -> Schema:
    described = protoc.describe_documents(CODEGEN_PYTHON, ROOT / "contracts/documents", tmp_path / "documents")
    return read_schema(described, documents=True)


def test_documents_may_have_maps_of_counts_and_values(tmp_path) -> None:
    """Documents, but not messages, may have maps of counts and of values."""
    types = {field.name: field.type for message in written(tmp_path).values() for field in message.fields}

    assert types["events_by_kind"] == "map of counts"
    assert types["wall_ms"] == "Distribution"
    assert "map of values" in types.values()


def test_field_names_contain_the_unit(java_protoc, tmp_path) -> None:
    """The name of a field in ms, ns or bytes contains the unit."""
    sent = read_schema(protoc.describe(java_protoc, ROOT / "contracts/messages", tmp_path / "out"))
    schema = {**sent, **written(tmp_path)}
    fields = [(f"{name}.{field.name}", field) for name, message in schema.items() for field in message.fields]
    wanted = {"ms": "_ms", "ms since epoch": "_ms", "ns": "_ns", "bytes": "bytes"}
    silent = [place for place, field in fields if wanted.get(field.unit, "") not in field.name]

    assert silent == ["DeadLetter.payload", "Undecodable.payload"]
