"""Yields the facts about a recorded event log, as the shipper sends them; facts about tasks are left out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from sparkfuse_collectors.ship.redaction import Redaction
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_kernel import INFREQUENT_EVENTS, FactTranslator
from tests.oracle.containers import unpack


def facts_of_log(path: Path) -> Iterator[Fact]:
    """Yield the facts about everything but tasks, in the order of the log."""
    translator = FactTranslator(Redaction(), cluster="test", tenant="", collector="test")
    events = []
    for line in unpack(path.read_bytes()).data.splitlines():
        name = json.loads(line)["Event"].rpartition(".")[2].removeprefix("SparkListener")
        if name in INFREQUENT_EVENTS:
            events.append((name, line))
    for record in translator.translate(events):
        yield Fact.FromString(record)
