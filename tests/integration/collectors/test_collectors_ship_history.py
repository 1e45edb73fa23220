"""Tests the history of ended logs: it is sent, the more complete of two rows is shown, and baselines are updated."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import clickhouse_connect
import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.history_pb2 import HistoryRow
from sparkfuse_contracts.wire import from_json
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.store.migrate import migrate
from tests.integration.collectors.shipping import LOGS, Committed, Shipping, Template, create_all_topics, plain
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
WAIT_SECONDS = 180
RUNS = 10


@pytest.fixture
def prefix(kafka_bootstrap: str, topic_prefix: str) -> str:
    """Return the prefix of existing topics."""
    create_all_topics(kafka_bootstrap, topic_prefix)
    return topic_prefix


@pytest.fixture
def store(store_url: str) -> Iterator[Client]:
    """Return a database for this test."""
    database = f"history_{uuid.uuid4().hex[:8]}"
    with clickhouse_connect.get_client(dsn=store_url) as administrator:
        administrator.command(f"CREATE DATABASE {database}")
    with clickhouse_connect.get_client(dsn=store_url, database=database) as client:
        migrate(client)
        yield client
        client.command(f"DROP DATABASE {database}")


@pytest.fixture
def loader(kafka_bootstrap: str, prefix: str, store_url: str, store: Client, tmp_path: Path) -> Iterator[None]:
    """Return the loader that fills this database."""
    environment = os.environ | {
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_CLICKHOUSE_URL": f"{store_url}/{store.database}",
    }
    with (tmp_path / "loader.log").open("wb") as log:
        command = [sys.executable, "-m", "sparkfuse_native_analytics.loader"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    yield
    process.terminate()
    process.wait(90)


def backfill(bootstrap: str, prefix: str, home: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Return exit code and output of `sparkfuse backfill --json`."""
    command = Shipping(bootstrap, prefix, home, *arguments, "--json", command="backfill")
    command.start()
    code, output = command.ended()
    return code, json.loads(output)


def values(bootstrap: str, topic: str) -> list[bytes]:
    committed = Committed(bootstrap, topic)
    try:
        return [value for value in committed.read() if value]
    finally:
        committed.close()


def sample_counts(bootstrap: str, prefix: str) -> dict[tuple[str, str], int]:
    """Return the number of samples in the newest baseline of each stage."""
    read = [from_json(Baseline, value) for value in values(bootstrap, f"{prefix}.baselines")]
    return {(each.job_key, each.stage_fingerprint): len(each.samples) for each in read}


@pytest.mark.usefixtures("loader")
def test_backfill_updates_store_and_baselines_once(
    kafka_bootstrap: str, prefix: str, store: Client, tmp_path: Path
) -> None:
    """A backfill adds ten runs to the store and to the baselines.

    A second backfill sends no run, and `--again` adds no duplicates.
    """
    logs = str(LOGS / "runs")
    code, first = backfill(kafka_bootstrap, prefix, tmp_path, logs)
    samples = sample_counts(kafka_bootstrap, prefix)
    wait_for(lambda: len(queries.runs(store)) == RUNS, WAIT_SECONDS, "the runs in the store")
    stages = "SELECT count(), uniqExact(app_id, stage_id, stage_attempt) FROM best_stages"
    wait_for(lambda: store.query(stages).first_row == (2 * RUNS, 2 * RUNS), WAIT_SECONDS, "their stages")
    _, second = backfill(kafka_bootstrap, prefix, tmp_path, logs)
    before = store.command("SELECT toUnixTimestamp64Milli(now64(3))")
    _, forced = backfill(kafka_bootstrap, prefix, tmp_path, logs, "--again")
    newer = f"SELECT count() FROM history FINAL WHERE toUnixTimestamp64Milli(inserted_at) > {before}"
    wait_for(lambda: store.command(newer) == 3 * RUNS, WAIT_SECONDS, "the rows that were sent again")

    assert code == 0
    assert (first["logs"], first["sent"], first["rows"], first["skipped"]) == (RUNS, RUNS, 3 * RUNS, {})
    assert (second["sent"], second["skipped"]) == (0, {"already sent": RUNS})
    assert (forced["sent"], forced["stages_learned"]) == (RUNS, 0)
    assert len(queries.runs(store)) == RUNS
    assert store.query(stages).first_row == (2 * RUNS, 2 * RUNS)
    run = queries.runs(store)[0]
    assert run.status == "succeeded"
    details = queries.run(store, run.app_id)
    assert details is not None
    assert [stage.status for stage in details.stages] == ["succeeded", "succeeded"]
    assert max(samples.values()) >= 5
    assert sample_counts(kafka_bootstrap, prefix) == samples


def test_unreadable_logs_are_counted_with_reasons(kafka_bootstrap: str, prefix: str, tmp_path: Path) -> None:
    """A file that is not a log, a truncated log and an open log are counted with their reasons; other logs are sent."""
    logs = tmp_path / "logs"
    logs.mkdir()
    shutil.copy(LOGS / "runs" / "healthy-1.zstd", logs / "app-good")
    (logs / "app-torn").write_bytes(plain(LOGS / "runs" / "healthy-2.zstd")[:-2000])
    (logs / "notes.txt").write_text("nothing of Spark\n" * 10)
    (logs / "app-busy.inprogress").write_text('{"Event":"SparkListenerLogStart","Spark Version":"3.5.9"}\n')
    code, answer = backfill(kafka_bootstrap, prefix, tmp_path, str(logs))

    assert code == 1
    assert answer["skipped"] == {"in progress": 1, "unreadable": 1}
    assert (answer["sent"], answer["without_end"]) == (2, 1)
    assert any("notes.txt" in reason for reason in answer["reasons"])


def test_more_complete_row_is_shown(store: Client) -> None:
    """If the store has a live row and a log row, the more complete one is shown.

    If both are equally complete, the live row is shown.
    """
    rows = [("app-lost", 0.7, 1.0), ("app-tie", 1.0, 1.0), ("app-torn", 1.0, 0.5)]
    columns = ["app_id", "app_start_ms", "app_attempt", "stage_id", "stage_attempt", "row_seq", "completeness", "name"]
    for app_id, live, logged in rows:
        store.insert("ended_stages", [[app_id, 1, 0, 0, 0, 5, live, "live"]], column_names=columns)
        store.insert("logged_stages", [[app_id, 1, 0, 0, 0, 0, logged, "log"]], column_names=columns)

    found = dict(store.query("SELECT app_id, name FROM best_stages").result_rows)
    assert found == {"app-lost": "log", "app-tie": "live", "app-torn": "live"}


def test_watched_application_has_history_only(kafka_bootstrap: str, prefix: str, tmp_path: Path) -> None:
    """If the plugin reported an application, the shipper sends only the application's history, once, after the end."""
    logs = tmp_path / "logs"
    logs.mkdir()
    lines = Template(LOGS / "runs" / "healthy-1.zstd").lines("app-watched", 1_795_000_000_000)
    content = b"".join(lines).replace(
        b'"Spark Properties":{', b'"Spark Properties":{"spark.plugins":"io.sparkfuse.spark.SparkfusePlugin",', 1
    )
    (logs / "app-watched").write_bytes(content)
    for _ in range(2):
        shipping = Shipping(kafka_bootstrap, prefix, tmp_path, str(logs), "--once")
        shipping.start()
        assert shipping.ended()[0] == 0

    rows = [HistoryRow.FromString(value) for value in values(kafka_bootstrap, f"{prefix}.history")]
    assert values(kafka_bootstrap, f"{prefix}.facts") == []
    assert [row.WhichOneof("row") for row in rows] == ["application", "stage", "stage"]
    assert {row.app_id for row in rows} == {"app-watched"}
    assert all(row.completeness == 1.0 and row.app_succeeded for row in rows)


def test_plugin_and_shipper_for_the_same_job(run_job, kafka_bootstrap: str, prefix: str, tmp_path: Path) -> None:
    """If plugin and shipper both see a job, the plugin sends the facts.

    The shipper sends the history once after the end of the job.
    """
    logs = tmp_path / "logs"
    logs.mkdir()
    shipping = Shipping(kafka_bootstrap, prefix, tmp_path, str(logs))
    shipping.start()
    log = {"spark__eventLog__enabled": "true", "spark__eventLog__dir": logs.as_uri()}
    job = run_job("spark35", "small_job.py", kafka_bootstrap, prefix, **log)
    counted = json.loads(job.wait_for_line("COUNTED"))
    assert job.ended() == 0
    history = f"{prefix}.history"
    wait_for(lambda: len(values(kafka_bootstrap, history)) > len(counted["stages"]), WAIT_SECONDS, "the log's history")
    assert shipping.stop() == 0

    facts = [Fact.FromString(value) for value in values(kafka_bootstrap, f"{prefix}.facts")]
    rows = [HistoryRow.FromString(value) for value in values(kafka_bootstrap, history)]
    [app_id] = {fact.app_id for fact in facts if fact.HasField("application_started")}
    assert {fact.collector.split("-")[0] for fact in facts if fact.app_id == app_id} == {"driver", "executor"}
    assert {row.app_id for row in rows} == {app_id}
    assert sorted(row.stage.stage_id for row in rows if row.HasField("stage")) == sorted(map(int, counted["stages"]))
