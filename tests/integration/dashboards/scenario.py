"""Creates the rows of a small fleet from the examples of the contract, for the tests of the dashboards."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from clickhouse_connect.driver.client import Client
from google.protobuf.message import Message

from sparkfuse_contracts.descriptors import descriptor_set
from sparkfuse_contracts.examples import examples, examples_of
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.tables import tables
from sparkfuse_kernel import Decoder
from sparkfuse_native_analytics.loader.derived import DERIVED

APP = "app-20261121020000-0042"
LIVE = examples_of(LiveRow)
START_MS = LIVE["stage_live"].app_start_ms
DAY_MS = 86_400_000
# The run after one minute, one incomplete application, and a tick.
NOW_MS = START_MS + 60_000
SHOWN = ("stage_live", "stage_live_zero_beside_absent", "task_live", "task_live_unicode", "executor_live", "app_live",
         "app_live_incomplete", "application_started", "stage_started", "query_live", "tick")  # fmt: skip


def live_rows() -> list[LiveRow]:
    """Return the live rows of the current run, and the rows of the applications of earlier runs."""
    rows = [LIVE[case] for case in SHOWN]
    again = LIVE["stage_live"]  # a row that was sent twice after a restart
    before = [row for days in (1, 2, 3, 4) for row in (_started_before(days), _application_before(days))]
    return [*rows, again, *before]


def _application_before(days: int) -> LiveRow:
    row = _row_before("app_live", days)
    row.application.name = f"nightly_orders 2026-11-{21 - days}"
    return row


def _started_before(days: int) -> LiveRow:
    row = _row_before("application_started", days)
    row.application_started.name = f"nightly_orders 2026-11-{21 - days}"
    return row


def _row_before(case: str, days: int) -> LiveRow:
    row = LiveRow()
    row.CopyFrom(LIVE[case])
    row.app_id = f"app-before-{days}"
    row.app_start_ms -= days * DAY_MS
    row.window_end_ms -= days * DAY_MS
    return row


def fill(client: Client) -> None:
    """Insert the scenario and all examples of the other messages."""
    messages: Mapping[str, Iterable[Message]] = {
        "live": live_rows(),
        **{
            name: examples(tables()[name].message).values()
            for name in ("findings", "audit", "receipts", "dead_letters", "names", "stage_expectations")
        },
    }
    for table, rows in messages.items():
        insert(client, table, arrow_rows(table, rows))
    day = START_MS // DAY_MS
    client.command("INSERT INTO job_days (job_key, day, cluster, tenant, team, runs, failed_runs) "
                   f"SELECT 'nightly_orders', toDate({day}), 'prod-eu', 'orders', '', 3, 1")  # fmt: skip


def insert(client: Client, table: str, rows: pa.Table) -> None:
    """Insert rows into a table and into the tables that the loader derives from it."""
    for name, derived in (derive(rows) for derive in DERIVED.get(table, ())):
        client.insert_arrow(name, derived)
    client.insert_arrow(table, rows)


def arrow_rows(table: str, messages: Iterable[Message]) -> pa.Table:
    """Return messages as rows of a table, decoded by the kernel, with a partition and an offset."""
    spec = tables()[table]
    decoder = Decoder(descriptor_set(), f"sparkfuse.contracts.{spec.message}")
    decoded = decoder.decode([message.SerializeToString() for message in messages])
    assert not decoded.rejected
    rows = pa.table(decoded.batches)
    rows = rows.rename_columns([f"origin_{name}" if name.startswith("kafka_") else name for name in rows.column_names])
    rows = rows.append_column("kafka_partition", pa.array([0] * rows.num_rows, pa.int32()))
    return rows.append_column("kafka_offset", pa.array(range(rows.num_rows), pa.int64()))
