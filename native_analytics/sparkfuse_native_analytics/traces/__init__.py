"""An application as an OpenTelemetry trace, made from the store and sent by OTLP over HTTP."""

from sparkfuse_native_analytics.traces.export import TraceExportError, export_trace

__all__ = ["TraceExportError", "export_trace"]
