"""Tests the export of an application from the real store to an OTLP receiver."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from clickhouse_connect.driver.client import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import to_json
from sparkfuse_native_analytics.loader.batch import Records, make_batch
from sparkfuse_native_analytics.loader.feed import FEEDS
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_native_analytics.traces import TraceExportError, export_trace

APP = "app-20260101-0001"
START = 1_767_225_600_000


@contextmanager
def receiver() -> Iterator[tuple[str, list[Span]]]:
    """An OTLP receiver on loopback, and the list of spans that it received."""
    spans: list[Span] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            import gzip

            body = self.rfile.read(int(self.headers["Content-Length"]))
            content = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            request = ExportTraceServiceRequest.FromString(content)
            assert self.path == "/v1/traces"
            spans.extend(span for resource in request.resource_spans for scope in resource.scope_spans
                         for span in scope.spans)  # fmt: skip
            reply = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", spans
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def live(seq: int, **member: Any) -> LiveRow:
    """Return a live row of the application."""
    return LiveRow(app_id=APP, app_attempt=0, app_start_ms=START, cluster="test", row_seq=seq, completeness=1.0,
                   window_end_ms=START + 1000 * seq, **member)  # fmt: skip


def task(task_id: int, duration_ms: int) -> Fact:
    """Return the end of a task in the only stage."""
    launched = START + 3000
    ended = {"stage_id": 4, "stage_attempt": 0, "task_id": task_id, "task_index": task_id, "outcome": "success",
             "launched_ms": launched, "finished_ms": launched + duration_ms, "duration_ms": duration_ms}  # fmt: skip
    return Fact(event_id=bytes([task_id]) * 16, app_id=APP, app_attempt=0, app_start_ms=START, task_ended=ended)


LIVE = [
    live(1, application_started={"name": "orders", "user_name": "ann", "spark_version": "4.0.1"}),
    live(2, job_started={"job_id": 2, "submitted_ms": START + 2000, "description": "save"}),
    live(3, stage={"stage_id": 4, "stage_attempt": 0, "status": "running", "job_id": 2, "submitted_ms": START + 2500}),
    live(4, stage={"stage_id": 4, "stage_attempt": 0, "status": "succeeded", "job_id": 2, "submitted_ms": START + 2500,
                   "completed_ms": START + 9000, "name": "join at orders.py:7", "num_tasks": 5}),
    live(5, job_ended={"job_id": 2, "completed_ms": START + 9500, "succeeded": True}),
    live(6, application={"name": "orders", "status": "succeeded", "ended_ms": START + 10_000}),
]  # fmt: skip
FINDING = Finding(finding_id="f1", rule="stage_skew", severity="warning", state="firing", updated_ms=START + 9000,
                  runs=[{"app_id": APP, "stage_id": 4, "stage_attempt": 0, "started_ms": START + 8000,
                         "evidence": {"lost_ms": "4000"}}])  # fmt: skip

NAME = DisplayName(app_id=APP, app_attempt=0, app_start_ms=START, kind="stage", query_id=1, stage_id=4,
                   name="q1: orders ⋈ customers", updated_ms=START + 3000)  # fmt: skip


@pytest.fixture(scope="module")
def filled(module_settings: Settings) -> Client:
    """Return a store with one application."""
    client = connect(module_settings)
    migrate(client)
    records: dict[str, list[bytes]] = {
        "live": [each.SerializeToString() for each in LIVE],
        "facts": [task(number, 5000 if number == 3 else 1000).SerializeToString() for number in range(5)],
        "findings": [to_json(FINDING)],
        "names": [NAME.SerializeToString()],
    }
    for feed in FEEDS:
        values = records.get(feed.table, [])
        if values:
            for name, table in make_batch(feed, Records(0, np.arange(len(values)), values), "topic").tables:
                client.insert_arrow(name, table)
    return client


def attribute(message: Any, key: str) -> AnyValue:
    """Return the value of an attribute of a span or an event."""
    return next(pair.value for pair in message.attributes if pair.key == key)


def test_application_becomes_one_trace(filled: Client) -> None:
    """Application, job, stage and slow task are nested spans, and the finding is an event of its stage."""
    with receiver() as (endpoint, spans):
        sent = export_trace(filled, APP, endpoint)
    by_name = {span.name: span for span in spans}

    assert sent == len(spans) == 4
    assert list(by_name) == ["application orders", "job 2", "stage 4: q1: orders ⋈ customers", "slow task 3"]
    application, job, stage, slow = spans
    assert len({span.trace_id for span in spans}) == 1
    assert [span.parent_span_id for span in spans] == [b"", application.span_id, job.span_id, stage.span_id]
    assert (application.start_time_unix_nano, application.end_time_unix_nano) == (
        START * 10**6,
        (START + 10_000) * 10**6,
    )
    assert (stage.start_time_unix_nano, stage.end_time_unix_nano) == ((START + 2500) * 10**6, (START + 9000) * 10**6)
    assert slow.end_time_unix_nano - slow.start_time_unix_nano == 5000 * 10**6
    assert attribute(stage, "spark.stage.status").string_value == "succeeded"
    assert [event.name for event in stage.events] == ["finding stage_skew"]
    assert attribute(stage.events[0], "sparkfuse.evidence.lost_ms").string_value == "4000"


def test_repeated_export_gives_the_same_trace(filled: Client) -> None:
    """Span ids are derived from the application, so a second export does not duplicate spans."""
    with receiver() as (endpoint, spans):
        export_trace(filled, APP, endpoint)
        export_trace(filled, APP, endpoint + "/v1/traces")

    assert spans[:4] == spans[4:]


def test_unknown_application_is_an_error(filled: Client) -> None:
    """If the store does not have an application, the error names the application."""
    with pytest.raises(TraceExportError, match="has no application nobody"):
        export_trace(filled, "nobody", "http://127.0.0.1:1")
