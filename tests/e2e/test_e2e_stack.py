"""Tests with one stack and three real Spark jobs: a hung task, a runaway, and a job full of secrets.

The secrets must appear nowhere in Sparkfuse: not in Kafka, the store, alerts, logs or the report. The tests are in one
file so that the stack runs only as long as they need it.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from sparkfuse.stack.process import Process
from sparkfuse.stack.topics import ensure_topics
from tests.e2e.conftest import Jobs, RunningStack
from tests.e2e.planted import PLANTED, SOUGHT
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(1_800)
# Old enough that `backfill` does not treat the log as still being written.
ENDED_SECONDS = 2 * 3600


@dataclasses.dataclass
class Watched:
    """The output of the canary job, and the stack that watched it."""

    stack: RunningStack
    event_logs: Path


@pytest.fixture(scope="module")
def watched(stack: RunningStack, jobs: Jobs) -> Watched:
    """Wait until the last task of the canary job hangs, the webhook is called, and the store has the job's rows."""
    try:
        wait_for(lambda: _paged(stack) or jobs.canary.exit_code() is not None, 300, "the page about the hanging canary")
        assert jobs.canary.exit_code() is None, jobs.canary.last_lines(30)
    finally:
        jobs.canary.stop()
    wait_for(lambda: _stored(stack), 180, "the canary in the store")
    return Watched(stack, jobs.event_logs)


def _paged(stack: RunningStack) -> bool:
    alerts = [alert for delivery in stack.receiver.deliveries for alert in delivery.payload["alerts"]]
    labels = [alert["labels"] for alert in alerts]
    return any("dag" in each.get("job_key", "") and each.get("rule") == "task_stuck" for each in labels)


def _stored(stack: RunningStack) -> bool:
    return any(each["job_key"].startswith("dag") and each["finished_tasks"] for each in stack.ask("runs")["runs"])


def test_hung_task_pages_once_and_runaway_is_stopped(stack: RunningStack, jobs: Jobs) -> None:
    """A user's script that hangs causes one notification per severity: a warning, and after five minutes a page.

    Meanwhile the fuse stops a runaway sort; the job's code receives the reason, and the audit log has the verified
    outcome.
    """
    hung, runaway = jobs.hung, jobs.runaway
    try:
        wait_for_the_fuse(stack, runaway)
        assert runaway.exit_code() == 0, runaway.last_lines(40)
        assert "stage_runaway_spill" in runaway.last_lines(40)
        assert "the session is usable: 10 rows" in runaway.last_lines(40)

        wait_for(lambda: stack.pages("own_job", "task_stuck"), 300, "the page about the hung task")
        # Detection restarts with the new rules: firing findings continue and are not notified twice.
        assert stack.command("rules", "apply", "--home", str(stack.home)).returncode == 0
        (sent,) = of(stack.ask("fuse", "audit", "--home", str(stack.home)), step="sent")
        steps = stack.ask("fuse", "why", sent["app_id"], "--home", str(stack.home))
        stuck = {"rule": "task_stuck", "job_key": "own_job"}
        found = wait_for(lambda: of(stack.ask("findings"), **stuck), 120, "the finding in the store")
        runs = wait_for(lambda: ended(stack.ask("runs")["runs"], "runaway_sort"), 120, "the ended run in the store")
        wait_for(lambda: stack.pages("runaway_sort", "stage_runaway_spill"), 120, "the page about the runaway")

        assert [step["actor"] for step in of(steps, step="ended")] == ["hook"]
        assert [step["outcome"] for step in of(steps, step="verified")] == ["ended"]
        assert sent["rule"] == "stage_runaway_spill"
        assert len(found) == 1
        notified = [alert["labels"] for alert in stack.pages("own_job", "task_stuck")]
        assert len({labels["finding_id"] for labels in notified}) == 1, notified
        assert len({labels["severity"] for labels in notified}) == len(notified), notified
        assert len(stack.pages("runaway_sort", "stage_runaway_spill")) == 1
        assert runs[0]["completeness"] == 1.0
        checks = stack.ask("doctor", "--home", str(stack.home))
        assert [check for check in checks if check["state"] == "failed"] == []
        probe = stack.ask("canary", "--home", str(stack.home))
        assert probe["outcome"] == "found", probe
        assert 0 < probe["delay_seconds"] < 120
        assert stack.pages("sparkfuse-canary", "stage_retried") == []
    finally:
        for job in (hung, runaway):
            job.stop()
    wait_for(lambda: stack.pages("own_job", "task_stuck", "resolved"), 240, "the end of the page")


def wait_for_the_fuse(stack: RunningStack, runaway: Process) -> None:
    """Wait up to ten minutes until the runaway is stopped; on failure report the state of the stack."""
    try:
        # On two shared cores the sort needs minutes to spill 2.5 GB.
        wait_for(lambda: runaway.exit_code() is not None, 600, "the fuse")
    except TimeoutError as late:
        account = {what: stack.ask(what) for what in ("runs", "findings")}
        raise AssertionError(f"{late}; {account}; {runaway.last_lines(20)}") from late


def of(rows: list[dict[str, Any]], **wanted: object) -> list[dict[str, Any]]:
    """Return the rows that have all these values."""
    return [row for row in rows if all(row.get(key) == value for key, value in wanted.items())]


def ended(runs: list[dict[str, Any]], job_key: str) -> list[dict[str, Any]]:
    """Return the ended runs of a job, successful or not."""
    return [run for run in of(runs, job_key=job_key) if run["status"] != "running"]


def test_canary_contains_every_secret(watched: Watched) -> None:
    """The search that these tests use finds each secret in Spark's event log and in the job's output."""
    text = "".join(path.read_text() for path in watched.event_logs.rglob("*") if path.is_file())
    found = {name for name, secret in PLANTED.items() if secret in text}

    assert len(found) >= 30, sorted(found)
    assert (watched.stack.home / "logs" / "job-canary.log").read_text().count("failed as it should") == 3


def test_kafka_contains_no_secret(watched: Watched) -> None:
    """No key, value or header of any record in Kafka contains a secret."""
    records = list(_records(watched.stack.addresses["SPARKFUSE_KAFKA_BOOTSTRAP"]))

    assert len(records) > 100
    assert _found(b"\n".join(records)) == []


def test_store_contains_no_secret(watched: Watched) -> None:
    """No row of any table of the store contains a secret."""
    url = watched.stack.addresses["SPARKFUSE_CLICKHOUSE_URL"]
    tables = _select(url, "SELECT name FROM system.tables WHERE database = currentDatabase() FORMAT TSV").split()
    content = {table: _select(url, f"SELECT * FROM `{table}` FORMAT JSONEachRow") for table in tables}

    assert content["facts"].count("\n") > 50
    assert {table: _found(text.encode()) for table, text in content.items() if _found(text.encode())} == {}


def test_alerts_contain_no_secret(watched: Watched) -> None:
    """No delivery to the webhook contains a secret."""
    assert _found(json.dumps([each.payload for each in watched.stack.receiver.deliveries]).encode()) == []


def test_process_logs_contain_no_secret(watched: Watched) -> None:
    """No log of a process of the stack contains a secret; the job's own output is not searched."""
    logs = [path for path in watched.stack.home.rglob("*.log") if not path.name.startswith("job-")]

    assert logs
    assert {path.name: _found(path.read_bytes()) for path in logs if _found(path.read_bytes())} == {}


def test_analysis_contains_no_secret(watched: Watched, tmp_path: Path) -> None:
    """The text, JSON and HTML output of `analyze` contains no secret."""
    [log] = list(watched.event_logs.iterdir())
    report = tmp_path / "report.html"
    screen = _sparkfuse("analyze", str(log), "--html", str(report))
    document = _sparkfuse("analyze", str(log), "--json")

    assert "stage" in screen
    assert json.loads(document)
    assert _found(screen.encode()) == []
    assert _found(document.encode()) == []
    assert _found(report.read_bytes()) == []


@pytest.mark.parametrize("command", ["ship", "backfill"])
def test_shipped_event_log_contains_no_secret(watched: Watched, tmp_path: Path, command: str) -> None:
    """After the log of a job without the plugin was shipped and backfilled, no record about the job contains a secret.

    The test uses another topic prefix, so that the stack does not process the log as a running job.
    """
    bootstrap, prefix = watched.stack.addresses["SPARKFUSE_KAFKA_BOOTSTRAP"], f"canary-{command}"
    ensure_topics(settings_of(bootstrap, prefix))
    logs = _as_of_no_plugin(watched.event_logs, tmp_path / "logs", ended=command == "backfill")
    how = ("--once",) if command == "ship" else ("--json",)
    addresses = {"SPARKFUSE_KAFKA_BOOTSTRAP": bootstrap, "SPARKFUSE_TOPIC_PREFIX": prefix}
    said = _sparkfuse(command, str(logs), *how, "--home", str(tmp_path), **addresses)
    records = list(_records(bootstrap, prefix))

    assert len(records) > (50 if command == "ship" else 3), said
    assert _found(b"\n".join(records)) == []
    assert _found(said.encode()) == []


def _as_of_no_plugin(event_logs: Path, copied: Path, *, ended: bool) -> Path:
    """Copy the logs without the plugin's name in them, because the shipper sends no live facts of jobs with the plugin.

    A log without an end is treated as growing until it is old, so the copy gets an old modification time.
    """
    shutil.copytree(event_logs, copied)
    for path in (each for each in copied.rglob("*") if each.is_file()):
        path.write_bytes(path.read_bytes().replace(b"io.sparkfuse.", b"com.example."))
        if ended:
            long_ago = time.time() - ENDED_SECONDS
            os.utime(path, (long_ago, long_ago))
    return copied


def _sparkfuse(*arguments: str, **environment: str) -> str:
    command = [sys.executable, "-m", "sparkfuse.main", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})
    assert done.returncode in (0, 1), done.stderr  # 1 means findings
    return done.stdout + done.stderr


def _found(content: bytes) -> list[str]:
    """Return the secrets whose first characters are in the content."""
    return [name for name, beginning in SOUGHT.items() if beginning.encode() in content]


def _select(url: str, statement: str) -> str:
    address = f"{url.rstrip('/')}/?{urllib.parse.urlencode({'query': statement})}"
    with urllib.request.urlopen(address, timeout=60) as answer:
        return str(answer.read().decode(errors="replace"))  # ids are bytes


def _records(bootstrap: str, prefix: str = "sparkfuse") -> Iterator[bytes]:
    """Yield key, value and headers of all records that are now in the topics of a prefix."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap,
        "group.id": "canary",
        "enable.partition.eof": True,
        "enable.auto.commit": False,
        "isolation.level": "read_uncommitted",
    })  # fmt: skip
    try:
        topics = consumer.list_topics(timeout=60).topics.values()
        places = [
            TopicPartition(topic.topic, partition, OFFSET_BEGINNING)
            for topic in topics
            if topic.topic.startswith(f"{prefix}.")
            for partition in topic.partitions
        ]
        consumer.assign(places)
        left = {(place.topic, place.partition) for place in places}
        while left:
            record = consumer.poll(60)
            assert record is not None, f"{left} did not come to their end"
            if record.error():
                assert record.error().code() == KafkaError._PARTITION_EOF, record.error()
                left.discard((record.topic(), record.partition()))  # EOF is reported again after each new record
                continue
            headers = b"".join(value or b"" for _, value in record.headers() or [])
            yield b"\n".join([record.key() or b"", record.value() or b"", headers])
    finally:
        consumer.close()
