"""Measures how many facts and rows a task causes, and how many bytes they take in Kafka and in the store.

``python -m tests.bench.bench_sizes`` starts a whole stack and runs two real Spark applications: one with many short
tasks, one with a few long ones. The long tasks run a Python function, so their counters change all the time.
Bytes are those on disk after compression; the store's tables are merged before.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name, topics
from sparkfuse_native_analytics.store.client import connect
from tests.bench.bench_kernel import machine
from tests.e2e.conftest import RunningStack, running_stack
from tests.waiting import wait_for

JOB = Path(__file__).parent / "jobs" / "sizes_job.py"
SECONDS = 1_800
# In these topics and tables, the number of records depends on the number of tasks and stages.
TOPICS = ("facts", "live", "names")
TABLES = ("facts", "live", "names", "ended_stages")


def main() -> None:
    """Run both applications and print the counts and sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=400, help="queries with 100 short tasks each")
    parser.add_argument("--seconds", type=int, default=300, help="duration of the long tasks")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory() as folder, running_stack(Path(folder), "", ()) as stack:
        short = run(stack, "short", options.queries)
        long = run(stack, "long", options.seconds)
        settings = Settings.from_environment(stack.addresses)
        wait_for(lambda: stored(settings, (short, long)), SECONDS, "the rows of both applications in the store")
        counts(settings, "short", short)
        counts(settings, "long", long)
        kafka_sizes(stack.home, settings)
        store_sizes(settings)


def run(stack: RunningStack, kind: str, amount: int) -> str:
    """Run one application; return its id."""
    job = stack.start_job(f"sizes_{kind}", JOB, (kind, str(amount)))
    wait_for(lambda: job.exit_code() is not None, SECONDS, f"the end of the job {kind}")
    lines = job.last_lines(50).splitlines()
    found = [line.split()[1] for line in lines if line.startswith("APPLICATION")]
    assert found, f"the job {kind} failed:\n{job.last_lines(200)}"
    return found[0]


def stored(settings: Settings, applications: Sequence[str]) -> bool:
    """Return whether the last rows of all applications are in the store."""
    ended = "SELECT uniqExact(app_id) FROM live WHERE view = 'app_live' AND app_id IN {ids:Array(String)} AND {ended}"
    found = connect(settings).query(
        ended.replace("{ended}", "application_status IN ('succeeded', 'failed')"), {"ids": list(applications)}
    )
    return int(found.first_row[0]) == len(applications)


def counts(settings: Settings, kind: str, app_id: str) -> None:
    """Print facts and rows of one application, per task and per second of a running task."""
    client = connect(settings)

    def ask(sql: str) -> Any:
        return client.query(sql, {"app": app_id}).first_row

    tasks, seconds = ask(
        "SELECT count(), sum(task_ended_finished_ms - task_ended_launched_ms) / 1000 FROM facts FINAL "
        "WHERE kind = 'task_ended' AND app_id = {app:String}"
    )
    for table, column in (("facts", "kind"), ("live", "view")):
        sql = (
            f"SELECT {column}, count() AS n FROM {table} FINAL WHERE app_id = {{app:String}} GROUP BY 1 ORDER BY n DESC"
        )
        found = client.query(sql, {"app": app_id}).result_rows
        total = sum(number for _, number in found)
        print(
            f"{kind}: {tasks} tasks of {seconds / tasks:.2f} s: {total} {table}, {total / tasks:.2f} per task, "
            f"{total / seconds:.3f} per second of a task: {', '.join(f'{name} {number}' for name, number in found)}"
        )


def kafka_sizes(home: Path, settings: Settings) -> None:
    """Print the bytes of one record of each topic in the files of the broker."""
    for name in TOPICS:
        topic = topic_name(name, settings.topic_prefix)
        size = sum(path.stat().st_size for path in home.glob(f"**/{topic}-[0-9]*/*.log"))
        consumer = Consumer({"bootstrap.servers": settings.kafka_bootstrap, "group.id": "bench"})
        try:
            places = [TopicPartition(topic, number) for number in range(topics()[name].partitions)]
            number = sum(consumer.get_watermark_offsets(place, timeout=30)[1] for place in places)
        finally:
            consumer.close()
        print(f"Kafka, {name}: {number} records of {size / max(1, number):.0f} bytes")


def store_sizes(settings: Settings) -> None:
    """Print the bytes of one row of each table."""
    client = connect(settings)
    for table in TABLES:
        client.command(f"OPTIMIZE TABLE {table} FINAL")
    sql = (
        "SELECT table, sum(rows), sum(bytes_on_disk) FROM system.parts "
        "WHERE active AND database = currentDatabase() GROUP BY table"
    )
    for table, rows, size in client.query(sql).result_rows:
        if rows:
            print(f"store, {table}: {rows} rows of {size / rows:.0f} bytes")


if __name__ == "__main__":
    main()
