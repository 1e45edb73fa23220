"""Reads the real examples of every message; the tests of all components use these examples."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping
from types import MappingProxyType

from google.protobuf.message import Message

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.wire import MessageType, from_json

# The generated module of each message that is sent as a record.
MODULES: Mapping[str, str] = {
    "Approval": "approval_pb2",
    "AuditRecord": "audit_record_pb2",
    "Baseline": "baseline_pb2",
    "Control": "control_pb2",
    "DeadLetter": "dead_letter_pb2",
    "DisplayName": "names_pb2",
    "Fact": "fact_pb2",
    "Feedback": "feedback_pb2",
    "Finding": "finding_pb2",
    "HistoryRow": "history_pb2",
    "LiveRow": "live_pb2",
    "Page": "page_pb2",
    "Position": "position_pb2",
    "Receipt": "receipt_pb2",
    "Signal": "signal_pb2",
    "SignedMessage": "signed_message_pb2",
    "StageExpectation": "stage_expectation_pb2",
}
# The generated module of each document. Documents are written to files and never sent.
DOCUMENTS: Mapping[str, str] = {"Analysis": "analysis_pb2", "Comparison": "comparison_pb2"}


def message_class(name: str) -> type[Message]:
    """Return the generated class of a message or document, for example ``Fact``."""
    module = importlib.import_module(f"sparkfuse_contracts.generated.{({**MODULES, **DOCUMENTS})[name]}")
    found: type[Message] = getattr(module, name)
    return found


def examples(name: str) -> Mapping[str, Message]:
    """Return the examples of a message by case, from contracts/examples/<message>/<case>.json, sorted by case."""
    return examples_of(message_class(name))


def examples_of(message: type[MessageType]) -> Mapping[str, MessageType]:
    """Return the examples of a message, given its generated class."""
    folder = asset("sparkfuse_contracts", "examples", snake_case(message.DESCRIPTOR.name))
    paths = sorted(folder.glob("*.json"))
    return MappingProxyType({path.stem: from_json(message, path.read_bytes()) for path in paths})


def snake_case(name: str) -> str:
    """Return a name in snake case: ``LiveRow`` becomes ``live_row``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
