"""Sends an application's trace to an OpenTelemetry collector."""

from __future__ import annotations

from clickhouse_connect.driver.client import Client
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace.export import SpanExportResult

from sparkfuse_native_analytics.traces.application import read_application
from sparkfuse_native_analytics.traces.spans import application_spans

TRACES_PATH = "/v1/traces"
ANSWER_SECONDS = 10
# The number of spans in one request that a collector with default limits accepts.
SPANS_A_REQUEST = 512


class TraceExportError(RuntimeError):
    """The trace could not be created or sent; the message is one sentence."""


def export_trace(client: Client, app_id: str, endpoint: str) -> int:
    """Send the latest attempt of an application as one trace, using OTLP over HTTP; return the number of spans.

    ``endpoint`` is the collector's address, such as http://127.0.0.1:4318; OTLP's own path is added when it is missing.
    A trace that is sent again has the same ids. Raises TraceExportError, and StoreEmptyError if the store has no
    tables.
    """
    application = read_application(client, app_id)
    if application is None:
        raise TraceExportError(f"the store has no application {app_id}")
    spans = application_spans(application)
    exporter = OTLPSpanExporter(endpoint=traces_url(endpoint), timeout=ANSWER_SECONDS)
    try:
        for first in range(0, len(spans), SPANS_A_REQUEST):
            if exporter.export(spans[first : first + SPANS_A_REQUEST]) is not SpanExportResult.SUCCESS:
                raise TraceExportError(f"the collector at {endpoint} did not accept the trace of {app_id}")
    finally:
        exporter.shutdown()  # type: ignore[no-untyped-call]  # its method has no annotations
    return len(spans)


def traces_url(endpoint: str) -> str:
    """Return the URL to which the collector accepts traces."""
    endpoint = endpoint.rstrip("/")
    return endpoint if endpoint.endswith(TRACES_PATH) else endpoint + TRACES_PATH
