"""Tests that a process serves its metrics at the port of the settings, and reports a port that it cannot use."""

from __future__ import annotations

import socket
import urllib.request

import pytest
from prometheus_client import CollectorRegistry, Gauge

from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import Settings


def test_metrics_are_served_at_the_port_of_the_settings(free_port):
    """The metrics of the registry are served; without a port, nothing is served."""
    registry, port = CollectorRegistry(), free_port()
    Gauge("sparkfuse_test", "A test.", registry=registry).set(7)
    serve_metrics(Settings.from_environment({}), registry)
    serve_metrics(Settings.from_environment({"SPARKFUSE_METRICS_PORT": str(port)}), registry)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as reply:
        assert "sparkfuse_test 7.0" in reply.read().decode()


def test_used_port_is_reported_with_its_setting():
    """A port that another process uses causes an error whose sentence names the setting."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(MetricsPortError, match=f"SPARKFUSE_METRICS_PORT={port} cannot be used: Address already"):
            serve_metrics(Settings.from_environment({"SPARKFUSE_METRICS_PORT": str(port)}))
