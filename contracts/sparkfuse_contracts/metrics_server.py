"""Serves the metrics of a process for Prometheus at SPARKFUSE_METRICS_PORT."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, start_http_server

from sparkfuse_contracts.settings import Settings


class MetricsPortError(Exception):
    """The port of the metrics cannot be used; the message is one sentence that names the setting."""


def serve_metrics(settings: Settings, registry: CollectorRegistry = REGISTRY) -> None:
    """Serve the metrics of the registry in a thread, if a port is set. Raises MetricsPortError."""
    if not settings.metrics_port:
        return
    try:
        start_http_server(settings.metrics_port, addr=settings.metrics_address, registry=registry)
    except OSError as error:
        reason = f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error.strerror or error}"
        raise MetricsPortError(reason) from error
