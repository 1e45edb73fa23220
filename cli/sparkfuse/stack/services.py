"""The services of the embedded stack: their commands and readiness checks."""

from __future__ import annotations

import dataclasses
import json
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse.stack.layout import LOOPBACK, Layout, require_free
from sparkfuse.stack.process import Service
from sparkfuse_contracts.settings import Source

PRIVATE_KEYS = frozenset({"SPARKFUSE_SIGNING_KEY", "SPARKFUSE_APPROVE_KEY"})


def http_answers(url: str) -> bool:
    """Return whether an HTTP server answers this URL with a success status."""
    try:
        with urllib.request.urlopen(url, timeout=1) as reply:  # noqa: S310 - the addresses are our own and always http
            return bool(200 <= reply.status < 300)
    except (OSError, urllib.error.URLError):
        return False


def metric_value(port: int, name: str) -> float | None:
    """Return the value of a metric without labels from a process's metrics port; None if it cannot be read."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=1) as reply:
            text = reply.read().decode()
    except (OSError, urllib.error.URLError):
        return None
    for line in text.splitlines():
        if line.startswith(f"{name} "):
            return float(line.rsplit(" ", 1)[1])
    return None


def python_module(module: str, *arguments: str) -> list[str]:
    """Return the command that runs one of our modules with this Python interpreter."""
    return [sys.executable, "-m", module, *arguments]


def store(layout: Layout) -> Service:
    """Return the service of the embedded ClickHouse engine with its HTTP interface."""
    require_free(layout.ports.store, "the store")
    command = python_module(
        "sparkfuse_native_analytics.store.server",
        "--path",
        str(layout.home / "store"),
        "--port",
        str(layout.ports.store),
    )
    return Service("store", command, layout.environment(), lambda: http_answers(f"{layout.clickhouse_url}/ping"))


def component(name: str, command: Sequence[str], metrics_port: int, layout: Layout, more: Mapping[str, str]) -> Service:
    """Return the service of one of our processes; the service is ready when its metrics port answers."""
    require_free(metrics_port, f"{name}'s metrics")
    home = {"SPARKFUSE_SOURCE": ""}
    environment = {**layout.environment(), **home, **more, "SPARKFUSE_METRICS_PORT": str(metrics_port)}
    metrics = f"http://{LOOPBACK}:{metrics_port}/metrics"

    def ready() -> bool:
        return http_answers(metrics)

    return Service(name, command, environment, ready, stop_seconds=20)


def components(layout: Layout, more: Mapping[str, str]) -> list[Service]:
    """Return the services of the windows and detect jobs, the loader, the sender and the fuse controller."""
    ports = layout.ports
    return [
        component("windows", python_module("sparkfuse_stream_jobs.windows"), ports.windows_metrics, layout, more),
        component("detect", python_module("sparkfuse_stream_jobs.detect"), ports.detect_metrics, layout, more),
        component("loader", python_module("sparkfuse_native_analytics.loader"), ports.loader_metrics, layout, more),
        component("sender", python_module("sparkfuse_alertmanager.sender"), ports.sender_metrics, layout, more),
        component(
            "fuse-controller",
            python_module("sparkfuse_native_analytics.fuse_controller"),
            ports.fuse_controller_metrics,
            layout,
            more,
        ),
        *(job for source in layout.sources for job in _jobs_of(source, layout, more)),
    ]


def _jobs_of(source: Source, layout: Layout, more: Mapping[str, str]) -> list[Service]:
    own = {**more, "SPARKFUSE_SOURCE": source.name}
    windows, detect = layout.metrics_of_source(source)
    return [
        component(f"windows-{source.name}", python_module("sparkfuse_stream_jobs.windows"), windows, layout, own),
        component(f"detect-{source.name}", python_module("sparkfuse_stream_jobs.detect"), detect, layout, own),
    ]


def console(layout: Layout, more: Mapping[str, str]) -> Service:
    """Return the service of the web console; it gets no private key, because it signs nothing."""
    port = layout.ports.console
    require_free(port, "the console")
    command = python_module("sparkfuse.main", "serve", "--port", str(port), "--home", str(layout.home))
    own = {name: value for name, value in more.items() if name not in PRIVATE_KEYS}
    return Service(
        "console", command, {**layout.environment(), **own}, lambda: http_answers(f"http://{LOOPBACK}:{port}/healthz")
    )


def shipper(layout: Layout, folders: Sequence[str], more: Mapping[str, str]) -> Service:
    """Return the service of the shipper that follows these folders of event logs."""
    command = python_module("sparkfuse.main", "ship", *folders, "--home", str(layout.home))
    return component("ship", command, layout.ports.ship_metrics, layout, more)


@dataclasses.dataclass(frozen=True)
class ExternalActuator:
    """The cluster manager whose applications the external actuator may end, and the manager's configuration file."""

    backend: str
    config: Path

    @classmethod
    def parse(cls, text: str) -> ExternalActuator | None:
        """Return the external actuator that a string BACKEND=FILE describes; None for an empty string.

        Raises:
            StartError: the string has another form, or there is no such file.
        """
        if not text:
            return None
        backend, _, file = text.partition("=")
        if not backend or not Path(file).is_file():
            raise StartError(f"--actuator={text!r} is invalid: it must be BACKEND=FILE, and the file must exist", USAGE)
        return cls(backend, Path(file).absolute())


def external_actuator(layout: Layout, which: ExternalActuator, more: Mapping[str, str]) -> Service:
    """Return the service of the external actuator; it gets no private key, because its receipts are only hints."""
    command = python_module(
        "sparkfuse_native_analytics.fuse_actuator", "--backend", which.backend, "--config", str(which.config)
    )
    own = {name: value for name, value in more.items() if name not in PRIVATE_KEYS}
    return component("fuse-actuator", command, layout.ports.fuse_actuator_metrics, layout, own)


def write_json(path: Path, content: object) -> None:
    """Write a small JSON file atomically."""
    temporary = path.with_suffix(".tmp")
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(path)
