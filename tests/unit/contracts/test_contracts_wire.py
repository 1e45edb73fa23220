"""Tests that messages are converted to JSON and back without loss."""

from __future__ import annotations

import json
import math

import pytest
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.type_pb2 import SYNTAX_PROTO3, Enum
from google.protobuf.wrappers_pb2 import FloatValue

from sparkfuse_contracts.examples import MODULES, examples
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.receipt_pb2 import Receipt
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.wire import RecordError, from_json, record_key, to_json

ALL = [pytest.param(message, id=f"{name}-{case}") for name in MODULES for case, message in examples(name).items()]


@pytest.mark.parametrize("message", ALL)
def test_examples_survive_json_and_binary_form(message) -> None:
    """Each example is unchanged after conversion to JSON and back, and to Protobuf and back."""
    assert from_json(type(message), to_json(message)) == message
    assert type(message).FromString(message.SerializeToString()) == message


def test_json_has_plain_names_and_numbers() -> None:
    """JSON messages have the proto field names, int64 as numbers, unescaped text and zeros, but no absent fields."""
    finding = Finding(finding_id="5be0", summary="größer 🧯", updated_ms=2**63 - 1, started_ms=0)
    finding.runs.add(task_id=7, evidence={"a": "1"})

    assert json.loads(to_json(finding)) == {
        "finding_id": "5be0",
        "summary": "größer 🧯",
        "started_ms": 0,
        "updated_ms": 9223372036854775807,
        "runs": [{"task_id": 7, "evidence": {"a": "1"}}],
    }
    assert "größer 🧯".encode() in to_json(finding)


@pytest.mark.parametrize("value, said", [(math.inf, "Infinity"), (-math.inf, "-Infinity"), (1e300, 1e300)])
def test_nan_and_infinity_are_texts(value: float, said: object) -> None:
    """NaN and infinite numbers are written as strings, as Protobuf's JSON mapping defines, and read back."""
    finding = Finding(completeness=value)

    assert json.loads(to_json(finding)) == {"completeness": said}
    assert from_json(Finding, to_json(finding)) == finding


@pytest.mark.parametrize(
    "message", [FloatValue(value=1), Enum(syntax=SYNTAX_PROTO3), Struct(fields={"a": Value(bool_value=True)})]
)
def test_unsupported_field_types_are_rejected(message) -> None:
    """A 32-bit float, an enum, or a map whose values are not strings raises TypeError."""
    with pytest.raises(TypeError, match=r"google\.protobuf"):
        to_json(message)


def test_unknown_fields_are_ignored() -> None:
    """A field that a newer version added is ignored."""
    assert from_json(Receipt, b'{"receipt_id": "a", "of_tomorrow": [1]}') == Receipt(receipt_id="a")


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"no json", b"[]", b"7", b"null", b'{"at_ms": "soon"}', b'{"at_ms": 1e40}', b'{"observed": []}',
     b"[" * 100_000],
)  # fmt: skip
def test_invalid_content_raises_record_error(content) -> None:
    """Content that is not a valid message raises RecordError and no other error."""
    with pytest.raises(RecordError) as refused:
        from_json(Receipt, content)

    assert str(refused.value).startswith("not a Receipt in JSON: ")
    assert len(str(refused.value)) < 350


def test_record_key_has_the_fields_of_the_topic() -> None:
    """As the topic defines, a record key is one field as text, several fields as JSON, or None."""
    baseline = Baseline(job_key="größe", stage_fingerprint="9d")
    of_tenant = Baseline(cluster="prod", tenant="shop", job_key="größe", stage_fingerprint="9d")

    assert record_key("findings", Finding(finding_id="5be0")) == b"5be0"
    assert record_key("baselines", baseline) == '{"job_key":"größe","stage_fingerprint":"9d"}'.encode()
    assert record_key("baselines", of_tenant) == (
        '{"cluster":"prod","tenant":"shop","job_key":"größe","stage_fingerprint":"9d"}'.encode()
    )
    assert record_key("signals", Signal(app_id="app-1")) == b"app-1"
    assert record_key("dead-letters", DeadLetter(reason="x")) is None
