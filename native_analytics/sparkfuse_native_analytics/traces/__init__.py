"""Exports an application from the store as an OpenTelemetry trace, using OTLP over HTTP."""

from sparkfuse_native_analytics.traces.export import TraceExportError, export_trace

__all__ = ["TraceExportError", "export_trace"]
