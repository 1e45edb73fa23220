"""Writes batches to the store, and reads the offsets from which the loader resumes."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping

import pyarrow as pa
import tenacity
from clickhouse_connect.driver.client import Client
from clickhouse_connect.driver.exceptions import ClickHouseError

from sparkfuse_native_analytics.loader.batch import Batch

FIRST_WAIT_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 10.0
IN_FLIGHT_SECONDS = 120.0
_IN_FLIGHT = """
SELECT count() FROM system.processes WHERE query_kind = 'Insert' AND positionCaseInsensitive(query, {table:String}) > 0
"""
_ARRIVED = pa.timestamp("ms", tz="UTC")
_log = logging.getLogger("sparkfuse.loader")


class StoppedError(Exception):
    """The loader was stopped before a batch was stored; the batch is read again after the next start."""


class Sink:
    """Stores batches; if the store does not answer, it retries without limit, so that no record is skipped."""

    def __init__(self, client: Client, stop: threading.Event, on_refusal: Callable[[str], None]) -> None:
        self._client = client
        self._stop = stop
        self._on_refusal = on_refusal

    def stored_offsets(self, table: str) -> Mapping[int, int]:
        """Wait until the inserts of a killed loader have ended, and return the last stored offset of each partition."""
        retrying = self._retrying(table, tenacity.retry_if_result(bool), tenacity.stop_after_delay(IN_FLIGHT_SECONDS))
        try:
            retrying(lambda: int(self._client.query(_IN_FLIGHT, parameters={"table": table}).first_item["count()"]))
        except tenacity.RetryError:
            _log.warning("an insert into %s still runs after %s s; no longer waiting", table, IN_FLIGHT_SECONDS)
        found = self._client.query(f"SELECT kafka_partition, max(kafka_offset) FROM {table} GROUP BY kafka_partition")
        return {int(partition): int(offset) for partition, offset in found.result_rows}

    def store(self, batch: Batch) -> None:
        """Store the tables of a batch in order; ClickHouse ignores a table that was already stored with the same token.

        The time of arrival is that of the first attempt: it selects the partition of the table, and a token is known in
        its own partition only.

        Raises StoppedError.
        """
        arrived_ms = time.time_ns() // 1_000_000
        for name, rows in batch.tables:
            table = rows.append_column("inserted_at", pa.array([arrived_ms] * rows.num_rows, _ARRIVED))
            retrying = self._retrying(name, tenacity.retry_if_exception_type((ClickHouseError, OSError)))
            try:
                retrying(self._insert, name, table, batch.token)
            except tenacity.RetryError as error:
                raise StoppedError from error
            if retrying.statistics.get("attempt_number", 1) > 1:
                _log.info("the store accepts inserts into table %s again", name)

    def _insert(self, name: str, table: pa.Table, token: str) -> None:
        settings = {"insert_deduplication_token": token, "insert_deduplicate": 1, "async_insert": 0}
        self._client.insert_arrow(name, table, settings=settings)

    def _retrying(self, table: str, retry: tenacity.retry_base, *stops: tenacity.stop.stop_base) -> tenacity.Retrying:
        def refused(state: tenacity.RetryCallState) -> None:
            error = state.outcome.exception() if state.outcome else None
            if error is None:
                return
            self._on_refusal(table)
            if state.attempt_number == 1:
                _log.warning(
                    "the store rejects inserts into table %s, retrying: %s", table, " ".join(str(error).split())[:300]
                )

        return tenacity.Retrying(
            stop=tenacity.stop_any(tenacity.stop_when_event_set(self._stop), *stops),
            wait=tenacity.wait_exponential_jitter(initial=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS),
            sleep=tenacity.sleep_using_event(self._stop),
            retry=retry,
            before_sleep=refused,
        )
