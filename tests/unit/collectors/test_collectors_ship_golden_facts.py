"""Compares the facts of real logs with golden files.

`python tests/unit/collectors/test_collectors_ship_golden_facts.py` rewrites the golden files.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import json_format

from sparkfuse_collectors.logs.files import LocalFiles
from sparkfuse_collectors.logs.find import find_logs
from sparkfuse_collectors.logs.lines import LineReader
from sparkfuse_collectors.ship.translation import EVENTS, Shipper, Translation
from sparkfuse_contracts.generated.fact_pb2 import Fact

LOGS = Path(__file__).parents[2] / "logs"
GOLDEN = LOGS / "facts"
NAMES = ("failures-35", "lost-executor-4", "queries-4", "streaming-4")
# Number of facts of each kind, enough to see every field.
MAX_FACTS_OF_KIND = 12


def facts_of(name: str) -> str:
    """Return the first facts of each kind in a log, one JSON document per line."""
    files = LocalFiles(str(LOGS / "real" / name))
    (log,) = find_logs(files)
    translation = Translation(Shipper("golden", "cluster", "tenant"))
    records = []
    for part in log.parts:
        records += translation.records(LineReader(files, part.path, 0, None, EVENTS).read(1 << 40))
    counts: dict[str, int] = {}
    lines = []
    for fact in map(Fact.FromString, records):
        kind = str(fact.WhichOneof("kind"))
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] <= MAX_FACTS_OF_KIND:
            lines.append(json_format.MessageToJson(fact, indent=None, preserving_proto_field_name=True, sort_keys=True))
    return "\n".join([*lines, str(sorted(counts.items()))]) + "\n"


@pytest.mark.parametrize("name", NAMES)
def test_facts_of_real_logs_equal_their_golden_file(name: str) -> None:
    """The ids, times, texts and numbers of the facts of real logs equal the golden files."""
    assert facts_of(name) == (GOLDEN / f"{name}.jsonl").read_text("utf-8")


if __name__ == "__main__":
    for each in NAMES:
        (GOLDEN / f"{each}.jsonl").write_text(facts_of(each), "utf-8")
