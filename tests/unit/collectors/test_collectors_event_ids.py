"""Tests that the ids of facts follow contracts/shared/event_ids.yaml, whichever collector sends the facts."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest

from sparkfuse_collectors.logs.files import LocalFiles
from sparkfuse_collectors.logs.find import find_logs
from sparkfuse_collectors.logs.lines import LineReader
from sparkfuse_collectors.ship.translation import EVENTS, Shipper, Translation
from sparkfuse_contracts.generated.event_ids import ID_BYTES, KEYS
from sparkfuse_contracts.generated.fact_pb2 import Fact

REAL = Path(__file__).parents[2] / "logs" / "real"
FIELDS = {kind: fields.split("|") if fields else [] for kind, fields in (key.split(": ") for key in KEYS)}
# Kinds that no collector sends, or that have no id.
WITHOUT_KEY = {"tick", "undecodable"}
EMPTY_IF_ABSENT = {"streaming_progress", "node_event"}


def event_id(fact: Fact) -> bytes:
    """Return the id of a fact as the shared keys define it."""
    kind = str(fact.WhichOneof("kind"))
    message = getattr(fact, kind)
    key = "|".join(_text(fact, message, kind, field) for field in FIELDS[kind])
    text = f"{fact.cluster}|{fact.app_id}|{fact.app_start_ms}|{fact.app_attempt}|{kind}|{key}"
    return sha256(text.encode()).digest()[:ID_BYTES]


def _text(fact: Fact, message, kind: str, field: str) -> str:
    holder, name = (fact, field.removeprefix("fact.")) if field.startswith("fact.") else (message, field)
    return "" if kind in EMPTY_IF_ABSENT and not holder.HasField(name) else str(getattr(holder, name))


def test_each_kind_of_fact_has_a_key() -> None:
    """Each kind of fact that collectors send has a key of existing fields."""
    kinds = {field.name: field.message_type for field in Fact.DESCRIPTOR.oneofs_by_name["kind"].fields}

    assert FIELDS.keys() == kinds.keys() - WITHOUT_KEY
    for kind, fields in FIELDS.items():
        known = {*kinds[kind].fields_by_name, *(f"fact.{name}" for name in Fact.DESCRIPTOR.fields_by_name)}
        assert set(fields) <= known


@pytest.mark.parametrize("name", ["failures-35", "lost-executor-4", "queries-4", "streaming-4"])
def test_facts_of_event_logs_have_the_shared_ids(name: str) -> None:
    """The kernel gives each fact of a real log the id that the shared keys define."""
    files = LocalFiles(str(REAL / name))
    (log,) = find_logs(files)
    translation = Translation(Shipper("test", "cluster", "tenant"))
    facts = [
        Fact.FromString(record)
        for part in log.parts
        for record in translation.records(LineReader(files, part.path, 0, None, EVENTS).read(1 << 40))
    ]

    assert facts
    assert [fact.event_id for fact in facts] == [event_id(fact) for fact in facts]
