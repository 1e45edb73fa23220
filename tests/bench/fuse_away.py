"""Measures what a fuse that cannot work costs a job: the broker is away, no controller runs, or signals are forged.

Each pair is the same workload in one JVM, with the fuse in mode act and with ``spark.sparkfuse.fuse=off``; the plugin
collects in both. The job must end with the same result in both.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path

from confluent_kafka import OFFSET_END, Consumer, TopicPartition

from tests.bench.bench_plugin import middle
from tests.bench.bench_windows import broker
from tests.integration.collectors.broker_states import broker_in_state
from tests.integration.collectors.spark_runs import ENVIRONMENTS, SETTINGS, TopicReader, create_topics
from tests.integration.hook.conftest import Signer
from tests.kafka import in_order

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).parent / "jobs" / "fuse_away_job.py"
PREFIX = "bench"
# How the broker is, and which wrong signals somebody sends: signed by an unknown key, or with a wrong signature and the
# id of the right key, which the hook must verify.
UNKNOWN_KEY, WRONG_SIGNATURE = "unknown key", "wrong signature"
FAULTS: Mapping[str, tuple[str, str]] = {
    "Kafka refuses connections": ("refused", ""),
    "Kafka never answers": ("silent", ""),
    "no controller runs": ("up", ""),
    "10 signals a second with a wrong key": ("up", UNKNOWN_KEY),
    "10 signals a second with a wrong signature": ("up", WRONG_SIGNATURE),
}
FORGED_SECONDS = 0.1
OUTSIDE = "CPU outside of tasks and JIT compiler"
Ratios = Mapping[str, Sequence[float]]


def measure(pairs: int, tasks: int, faults: Collection[str]) -> Iterator[tuple[str, Ratios]]:
    """Yield each fault with the logarithms of the ratios of its pairs, for wall time, CPU time and ``OUTSIDE``."""
    for fault in faults:
        state, forged = FAULTS[fault]
        with tempfile.TemporaryDirectory() as name, _broker(Path(name), state) as bootstrap:
            folder, signer = Path(name), Signer()
            with (
                broker_in_state(state, bootstrap, folder) as addresses,
                _forger(bootstrap, signer.key_id if forged == WRONG_SIGNATURE else "") if forged else nullcontext(),
            ):
                ratios = _run({**addresses, "spark.bench.tasks": str(tasks)}, signer.inline, state, pairs)
            if forged and not _reported(bootstrap):
                raise SystemExit("the hook reported no record with a wrong key, so it did not read them")
        print(fault, ratios, flush=True)
        yield fault, ratios


def rows(measured: Mapping[str, Ratios]) -> Iterator[str]:
    """Yield a row of the table for each fault: Hodges-Lehmann estimates of the ratios with their intervals."""
    for fault, ratios in measured.items():
        figures = ", ".join(f"{what} {_figure(middle(logs))}" for what, logs in ratios.items())
        yield f"| {fault}, {len(ratios['wall'])} pairs | {figures} |"


def _figure(found: Mapping[str, float]) -> str:
    return f"{found['middle']:+.1%} ({found['middle_low']:+.1%} to {found['middle_high']:+.1%})"


def _run(addresses: Mapping[str, str], keys: str, state: str, pairs: int) -> Ratios:
    settings = {**SETTINGS, "spark.driver.memory": "1g", "spark.sparkfuse.topic.prefix": PREFIX, **addresses}
    for key in ("spark.sparkfuse.sample.interval", "spark.driver.extraJavaOptions"):
        del settings[key]
    options = " ".join(f"--conf '{key}={value}'" for key, value in settings.items())
    python = str(ENVIRONMENTS["spark35"])
    environment = {
        **os.environ, "PYSPARK_SUBMIT_ARGS": f"{options} pyspark-shell", "PYSPARK_PYTHON": python,
        "PYTHONPATH": str(ROOT / "cli"), "BENCH_KEYS": keys, "BENCH_BROKER": state, "BENCH_PAIRS": str(pairs),
    }  # fmt: skip
    done = subprocess.run([python, str(JOB)], env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"the job failed:\n{done.stderr[-3000:]}")
    found = [json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines() if line.startswith("PAIR")]
    ratios = {
        what: [math.log(pair["with"][what] / pair["without"][what]) for pair in found] for what in ("wall", "cpu")
    }
    return {**ratios, OUTSIDE: [_outside(pair["with"], pair["without"]) for pair in found]}


def _outside(with_fuse: Mapping[str, float], without: Mapping[str, float]) -> float:
    """Return the additional CPU time of threads without tasks and compiler, as a part of the CPU time of the job."""
    return math.log1p((with_fuse["outside"] - without["outside"]) / without["cpu"])


@contextmanager
def _broker(folder: Path, state: str) -> Iterator[str]:
    if state == "up":
        with broker(folder) as bootstrap:
            create_topics(bootstrap, PREFIX)
            yield bootstrap
    else:
        yield ""


@contextmanager
def _forger(bootstrap: str, key_id: str) -> Iterator[None]:
    """Send signals that an unknown key signed to the newest application, until the end of the block.

    If ``key_id`` is not empty, the signals claim to be signed by this key.
    """
    stop, wrong, producer = threading.Event(), Signer(), in_order(bootstrap)
    facts = Consumer({"bootstrap.servers": bootstrap, "group.id": "forger", "enable.auto.commit": False})
    facts.assign([TopicPartition(f"{PREFIX}.facts", number, OFFSET_END) for number in range(2)])
    envelope = wrong.envelope(json.dumps({"signal_id": "forged", "action": "stop_application"}), key_id)

    def send() -> None:
        application = b""
        while not stop.is_set():
            for message in facts.consume(1_000, FORGED_SECONDS):
                application = message.key() or application
            if application:
                producer.produce(f"{PREFIX}.signals", envelope, key=application)
                producer.poll(0)

    thread = threading.Thread(target=send, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(10)
        facts.close()
        producer.flush(10)


def _reported(bootstrap: str) -> bool:
    reader = TopicReader(bootstrap, f"{PREFIX}.receipts")
    try:
        return any(json.loads(value).get("unverified_records", 0) for value in reader.read())
    finally:
        reader.close()
