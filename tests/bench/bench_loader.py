"""Measures how fast facts are written to the embedded store: decoding, sending Arrow over HTTP, and inserting.

``python -m tests.bench.bench_loader`` needs no broker, because librdkafka, not Sparkfuse, reads from Kafka.
"""

from __future__ import annotations

import argparse
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
import psutil

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.loader.batch import Batch, Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.store.client import StoreUnavailableError, connect
from sparkfuse_native_analytics.store.migrate import migrate
from tests.bench.bench_kernel import machine, records

READY_SECONDS = 30.0
LOOK_SECONDS = 0.1


def main() -> None:
    """Measure and print the rate of each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--facts", type=int, default=25_000, help="facts in a batch; the loader's is the default")
    options = parser.parse_args()
    values = records(options.facts)
    print(machine())
    with tempfile.TemporaryDirectory() as folder:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        command = [
            sys.executable,
            "-m",
            "sparkfuse_native_analytics.store.server",
            "--path",
            folder,
            "--port",
            str(port),
        ]
        store = psutil.Popen(command, stderr=subprocess.DEVNULL)
        try:
            settings = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": f"http://127.0.0.1:{port}"})
            measure(settings, store, values, options)
        finally:
            store.terminate()
            store.wait()


def measure(settings: Settings, store: psutil.Popen, values: list[bytes], options: argparse.Namespace) -> None:
    """Decode and store batches one after the other, as the loader does."""
    client = client_when_ready(settings)
    migrate(client)
    feed = next(feed for feed in FEEDS if feed.table == "facts")
    decoding = storing = own = 0.0
    before = cpu_seconds(store)
    for number in range(options.batches):
        started, own_started = time.perf_counter(), time.process_time()
        offsets = np.arange(number * options.facts, (number + 1) * options.facts)
        batch: Batch = make_batch(feed, Records(0, offsets, values), "bench")
        decoded = time.perf_counter()
        own += time.process_time() - own_started
        for name, table in batch.tables:
            client.insert_arrow(name, table, settings={"insert_deduplication_token": batch.token})
        decoding, storing = decoding + decoded - started, storing + time.perf_counter() - decoded
    total = options.batches * options.facts
    print(f"{total} facts in batches of {options.facts}, {sum(map(len, values)) / len(values):.0f} bytes each")
    print(f"decode and arrange  {total / decoding:12,.0f} facts/s {total / own:12,.0f} per CPU second")
    stored = total / (cpu_seconds(store) - before)
    print(f"insert over HTTP    {total / storing:12,.0f} facts/s {stored:12,.0f} per CPU second of the store")
    print(f"together            {total / (decoding + storing):12,.0f} facts/s")
    assert client.command("SELECT max(kafka_offset) FROM facts") == total - 1


def cpu_seconds(process: psutil.Popen) -> float:
    """Return the CPU time of a process, including its background merges."""
    used = process.cpu_times()
    return float(used.user + used.system)


def client_when_ready(settings: Settings):
    """Return a client of the store as soon as the store answers."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            return connect(settings)
        except StoreUnavailableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main()
