"""The JSON of the JSON topics is what people and other languages read without loss."""

from __future__ import annotations

import json
import math

import pytest
from google.protobuf.struct_pb2 import Struct, Value
from google.protobuf.type_pb2 import Enum
from google.protobuf.wrappers_pb2 import FloatValue

from sparkfuse_contracts.examples import MODULES, examples
from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.dead_letter_pb2 import DeadLetter
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.wire import RecordError, from_json, record_key, to_json

ALL = [pytest.param(message, id=f"{name}-{case}") for name in MODULES for case, message in examples(name).items()]


@pytest.mark.parametrize("message", ALL)
def test_round_trip(message) -> None:
    """Every example is the same after JSON, and after the binary form."""
    assert from_json(type(message), to_json(message)) == message
    assert type(message).FromString(message.SerializeToString()) == message


def test_json_as_people_read_it() -> None:
    """Names as in the protos, longs as numbers, text as it is, absent fields left out, zeros kept."""
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
def test_what_is_no_number_has_a_word(value: float, said: object) -> None:
    """JSON has none of its own; whoever reads by Protobuf's mapping finds it again."""
    finding = Finding(completeness=value)

    assert json.loads(to_json(finding)) == {"completeness": said}
    assert from_json(Finding, to_json(finding)) == finding


@pytest.mark.parametrize(
    "message", [FloatValue(value=1), Enum(syntax="SYNTAX_PROTO3"), Struct(fields={"a": Value(bool_value=True)})]
)
def test_kinds_of_fields_that_the_contract_does_not_have_are_refused(message) -> None:
    """A 32-bit float, an enum, a map of other things than text: written as they are they would be read otherwise."""
    with pytest.raises(TypeError, match=r"google\.protobuf"):
        to_json(message)


def test_newer_writers_are_read() -> None:
    """A field that this version does not know is no error."""
    assert from_json(Action, b'{"action_id": "a", "of_tomorrow": [1]}') == Action(action_id="a")


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff", b"no json", b"[]", b"7", b"null", b'{"at_ms": "soon"}', b'{"at_ms": 1e40}', b'{"observed": []}',
     b"[" * 100_000],
)  # fmt: skip
def test_other_content_is_refused_with_a_reason(content) -> None:
    """What is no such message raises RecordError and nothing else."""
    with pytest.raises(RecordError) as refused:
        from_json(Action, content)

    assert str(refused.value).startswith("not a Action in JSON: ")
    assert len(str(refused.value)) < 350


def test_record_key() -> None:
    """The key of a record is the field that the topic names, several fields as JSON, none where none is named."""
    baseline = Baseline(job_key="größe", stage_fingerprint="9d")
    of_tenant = Baseline(cluster="prod", tenant="shop", job_key="größe", stage_fingerprint="9d")

    assert record_key("findings", Finding(finding_id="5be0")) == b"5be0"
    assert record_key("baselines", baseline) == '{"job_key":"größe","stage_fingerprint":"9d"}'.encode()
    assert record_key("baselines", of_tenant) == (
        '{"cluster":"prod","tenant":"shop","job_key":"größe","stage_fingerprint":"9d"}'.encode()
    )
    assert record_key("signals", Signal(app_id="app-1")) == b"app-1"
    assert record_key("dead-letters", DeadLetter(reason="x")) is None
