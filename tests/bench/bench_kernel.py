"""Measures how fast the kernel converts facts to columns, compared with the generated Python classes, on one core.

``python -m tests.bench.bench_kernel [--write]``; ``--write`` replaces the section "Kernel" of docs/benchmarks.md. The
decoders take turns of a few runs each, so that load on the machine affects all of them and caches are warm. The best
run of each decoder is reported.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import platform
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from google.protobuf import json_format

from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_kernel import Decoder

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "contracts" / "examples" / "fact"
# The facts of a stage: each task starts, reports progress, and ends.
MIX = ("task_started", "task_progress", "task_ended")
RUNS_A_TURN = 4
HEADING = "## Kernel"


def records(count: int, kinds: Sequence[str] = MIX) -> list[bytes]:
    """Create facts from the contract's examples, one of each kind in turn; each fact has its own ids and time."""
    facts = [json_format.Parse((EXAMPLES / f"{kind}.json").read_text(), Fact()) for kind in kinds]
    created = []
    for number in range(count):
        fact = facts[number % len(facts)]
        fact.event_id = number.to_bytes(16, "big")
        fact.seq = number
        fact.event_time_ms += 1
        created.append(fact.SerializeToString())
    return created


def kernel(facts: list[bytes]) -> Callable[[], object]:
    """Return a function in which the kernel decodes all columns of the facts to an Arrow table."""
    decoder = Decoder(descriptor_set(), "sparkfuse.contracts.Fact")
    return lambda: pa.table(decoder.decode(facts).batches)


def generated_parse(facts: list[bytes]) -> Callable[[], object]:
    """Return a function that only parses with the generated class (upb, in C)."""
    return lambda: [Fact.FromString(fact) for fact in facts]


def generated_columns(facts: list[bytes]) -> Callable[[], object]:
    """Return a function that parses with the generated class and builds three Arrow columns in a Python loop."""

    def run() -> object:
        messages = [Fact.FromString(fact) for fact in facts]
        return pa.table({
            "event_time_ms": [message.event_time_ms for message in messages],
            "run_ms": [message.task_ended.run_ms if message.HasField("task_ended") else None for message in messages],
            "input_bytes": [
                message.task_ended.input_bytes if message.HasField("task_ended") else None for message in messages
            ],
        })  # fmt: skip

    return run


def best(runs: Sequence[Callable[[], object]], turns: int) -> list[float]:
    """Return the smallest CPU time of each function in any turn, in seconds."""
    least = [float("inf")] * len(runs)
    for _ in range(turns):
        for index, run in enumerate(runs):
            for _ in range(RUNS_A_TURN):
                started = time.process_time()
                run()
                least[index] = min(least[index], time.process_time() - started)
    return least


def measure(count: int, turns: int) -> str:
    """Return the table of results in Markdown."""
    lines = [
        "| facts | bytes each | kernel, all columns | generated class, parsing only | generated class, 3 columns |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, kinds in (("started, progress, ended", MIX), ("ended only", MIX[2:])):
        facts = records(count, kinds)
        seconds = best([kernel(facts), generated_parse(facts), generated_columns(facts)], turns)
        rates = " | ".join(f"{count / each / 1e6:.2f} M/s" for each in seconds)
        lines.append(f"| {name} | {sum(map(len, facts)) / count:.0f} | {rates} |")
    return "\n".join(lines)


def machine() -> str:
    """Describe the machine."""
    info = Path("/proc/cpuinfo").read_text()
    model = re.search(r"model name\s*: (.+)", info)
    name = model.group(1) if model else platform.machine()
    return f"{os.cpu_count()} cores of {name}, load {os.getloadavg()[0]:.1f} before the start"


def write(table: str, count: int, turns: int, where: str) -> None:
    """Replace the section in docs/benchmarks.md."""
    document = ROOT / "docs" / "benchmarks.md"
    section = "\n".join([
        HEADING,
        "",
        f"`make bench-kernel`, {dt.datetime.now(dt.UTC).date().isoformat()}, {where}.",
        f"Batches of {count} facts from the contract's examples, with every field of their kinds.",
        f"Facts per CPU second in one process, best of {turns * RUNS_A_TURN} runs.",
        "The generated class is Google's upb, in C. Parsing alone builds no columns.",
        "",
        table,
    ])  # fmt: skip
    text = document.read_text() if document.exists() else "# Benchmarks\n"
    pattern = re.compile(rf"^{HEADING}\n.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    if pattern.search(text):
        text = pattern.sub(lambda _: section + "\n\n", text)
    else:
        text = text.rstrip("\n") + "\n\n" + section + "\n"
    document.write_text(text.rstrip("\n") + "\n")


def main() -> None:
    """Print the figures, and write them to the document if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=25_000, help="facts in a batch; the default is the loader's")
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--write", action="store_true", help="write docs/benchmarks.md")
    options = parser.parse_args()
    where = machine()
    table = measure(options.facts, options.turns)
    print(where)
    print(table)
    if options.write:
        write(table, options.facts, options.turns, where)


if __name__ == "__main__":
    main()
