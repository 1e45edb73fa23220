"""Tests that each example of the contract can be stored by the loader's batches in the real engine, and queried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from clickhouse_connect.driver.client import Client
from google.protobuf import json_format
from typer.testing import CliRunner

from sparkfuse.commands.application import application
from sparkfuse_contracts.generated import fact_pb2, history_pb2, live_pb2, names_pb2, stage_expectation_pb2
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.loader.batch import Batch, Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS, Feed
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate

FOLDERS = {"facts": "fact", "live": "live_row", "findings": "finding", "audit": "audit_record", "receipts": "receipt",
           "baselines": "baseline", "feedback": "feedback",
           "dead_letters": "dead_letter", "history": "history_row", "names": "display_name",
           "stage_expectations": "stage_expectation"}  # fmt: skip
NOT_STORED = ("tick", "undecodable")
CLASSES = {
    "facts": fact_pb2.Fact,
    "live": live_pb2.LiveRow,
    "history": history_pb2.HistoryRow,
    "names": names_pb2.DisplayName,
    "stage_expectations": stage_expectation_pb2.StageExpectation,
}


def wire(feed: Feed, example: Path) -> bytes:
    """Return the example in the encoding of its topic."""
    if feed.table in CLASSES:
        return json_format.Parse(example.read_text(), CLASSES[feed.table]()).SerializeToString()
    return json.dumps(json.loads(example.read_text())).encode()


def examples(repository: Path, feed: Feed) -> list[Path]:
    """Return the examples of a feed that the loader stores; it does not store those in NOT_STORED, such as ticks."""
    files = sorted((repository / "contracts" / "examples" / FOLDERS[feed.table]).glob("*.json"))
    return [file for file in files if feed.choice is None or file.stem not in NOT_STORED]


def batch_of(repository: Path, feed: Feed) -> Batch:
    """Return all examples of a feed as one batch."""
    values = [wire(feed, file) for file in examples(repository, feed)]
    return make_batch(feed, Records(0, np.arange(len(values)), values), "topic")


def store(client: Client, batch: Batch) -> None:
    """Insert a batch."""
    for name, table in batch.tables:
        client.insert_arrow(name, table)


@pytest.fixture(scope="module")
def filled(module_settings: Settings, repository: Path) -> Client:
    """Return a store with all examples."""
    client = connect(module_settings)
    migrate(client)
    for feed in FEEDS:
        batch = batch_of(repository, feed)
        assert not batch.rejected
        store(client, batch)
    return client


@pytest.mark.parametrize("feed", FEEDS, ids=lambda feed: feed.table)
def test_each_example_becomes_one_row(filled: Client, repository: Path, feed: Feed) -> None:
    """Each example is one row, and columns that the example lacks are NULL or empty."""
    rows = list(filled.query(f"SELECT * FROM {feed.table} ORDER BY kafka_offset").named_results())
    files = examples(repository, feed)

    assert len(rows) == len(files)
    for row, file in zip(rows, files, strict=True):
        said = {"_".join(path) for path in paths(json.loads(file.read_text()))}
        for name, source in feed.columns.items():
            if name != feed.choice and source not in said:
                assert row[name] in (None, [], {}), f"{file.stem}: {name} is {row[name]!r} and was not said"


def paths(content: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Return the paths of the fields of a message in JSON; for nested messages, one level deep."""
    for name, value in content.items():
        yield (name,)
        if isinstance(value, dict):
            yield from ((name, inner) for inner in value)


def test_absent_is_null_and_zero_is_zero(filled: Client) -> None:
    """A counter with the value zero is 0 in the store, and an absent counter is NULL."""
    row = next(iter(filled.query(
        "SELECT * FROM facts WHERE kind = 'task_ended' AND task_ended_disk_spilled_bytes = 0 "
        "AND task_ended_memory_spilled_bytes IS NULL"
    ).named_results()), None)  # fmt: skip

    assert row is not None


def test_ended_stages_has_only_ended_stages(filled: Client) -> None:
    """Each ended stage attempt is one row with the columns of stage_live."""
    key = "app_id, app_start_ms, app_attempt, stage_stage_id, stage_stage_attempt"
    wanted = f"SELECT uniqExact({key}) FROM live WHERE row = 'stage' AND stage_status != 'running'"

    assert filled.command("SELECT count() FROM ended_stages FINAL") == filled.command(wanted) > 0
    assert filled.command("SELECT count() FROM ended_stages WHERE status = 'running' OR finished_tasks IS NULL") == 0


def test_stage_of_a_run_has_what_detection_published(filled: Client) -> None:
    """The report of a run has the expected duration, cost and deadline that the detect job published."""
    report = queries.run_report(filled, "app-20261121020000-0042", None, 100)
    assert report is not None
    [stage] = [each for each in report.stages if (each.stage.stage_id, each.stage.stage_attempt) == (7, 0)]

    assert stage.expected == queries.ExpectedDuration(31_000, 39_500, 12, "bytes")
    assert stage.excess_ms == (stage.stage.elapsed_ms or 0) - 31_000
    assert (stage.query_name, stage.core_ms) == ("q2: write parquet to lake/orders", 503_400)
    assert (stage.cost, stage.currency) == (0.0083, "USD")
    assert (report.deadline_ms, report.deadline_source) == (1_795_230_000_000, "setting")


def test_queries_return_the_examples(filled: Client) -> None:
    """Runs, one run, findings, steps of the fuse and baselines are returned with the values of the examples."""
    runs = queries.runs(filled)
    details = [queries.run(filled, each.app_id) for each in runs]

    assert runs
    assert all(each.job_key and each.run_key for each in runs)
    assert any(each is not None and each.stages for each in details)
    assert queries.run(filled, "nobody") is None
    assert queries.runs(filled, job_key=runs[0].job_key)
    findings = queries.findings(filled)
    assert len({finding.finding_id for finding in findings}) == len(findings) > 0
    assert any(run.evidence for finding in findings for run in finding.runs)
    assert {finding.state for finding in queries.findings(filled, state="firing")} == {"firing"}
    steps = queries.fuse_steps(filled)
    assert any(step.observed for step in steps)
    assert {step.actor for step in steps} >= {"controller", "hook"}
    app_id = next(step.app_id for step in steps if step.app_id)
    assert {step.app_id for step in queries.fuse_steps(filled, app_id=app_id)} == {app_id}
    assert any(baseline.samples for baseline in queries.baselines(filled))


def test_baselines_show_prints_expected_durations(filled: Client, module_settings: Settings, monkeypatch) -> None:
    """`sparkfuse baselines show` prints expected durations, their basis, and an error for an unknown job."""
    assert queries.baselines(filled)
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", module_settings.clickhouse_url)
    monkeypatch.setenv("COLUMNS", "200")
    job = "prod-eu/orders/nightly_orders"

    shown = CliRunner().invoke(application, ["baselines", "show", job])
    result = CliRunner().invoke(application, ["baselines", "show", job, "--bytes", "48000000000", "--json"])
    rows = CliRunner().invoke(application, ["baselines", "show", job, "--rows", "27000000", "--json"])
    stranger = CliRunner().invoke(application, ["baselines", "show", "nobody"])

    assert shown.exit_code == 0
    assert "save at orders.py:88" in shown.output
    by_stage = {each["fingerprint"]: each for each in json.loads(result.output)}
    assert by_stage["9d2c1e0fa8b34455"]["expected"]["expected_ms"] > 30_000
    assert by_stage["5b7c0d9e21f64a83"]["expected"]["work_measure"] == "none", "asked by bytes, and it reads none"
    assert by_stage["00aa11bb22cc33dd"]["missing_reason"] == "1 of the 5 required runs"
    made = next(each for each in json.loads(rows.output) if each["fingerprint"] == "5b7c0d9e21f64a83")
    assert (made["expected"]["work_measure"], made["growth"][0]["measure"]) == ("rows", "rows")
    assert made["expected"]["expected_ms"] == pytest.approx(3 * 60_250, rel=0.02)
    assert "there is no baseline of the job 'nobody'" in str(stranger.exception)


def test_store_without_tables_is_an_error(settings: Settings) -> None:
    """For a store without tables, the error is one sentence."""
    with pytest.raises(queries.StoreEmptyError, match="no tables yet"):
        queries.runs(connect(settings))
