"""The services Alertmanager and Prometheus, and the signing keys of the embedded stack."""

from __future__ import annotations

import dataclasses
import os

from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse.stack.layout import LOOPBACK, Layout, require_free
from sparkfuse.stack.process import Service
from sparkfuse.stack.services import http_answers
from sparkfuse_alertmanager.processes import ProgramMissingError, alertmanager_command, prometheus_command
from sparkfuse_alertmanager.render import DestinationError, Destinations, write_alertmanager, write_prometheus
from sparkfuse_contracts.links import docs_url
from sparkfuse_native_analytics.fuse_controller.keys import ACT, ensure_key_pairs, private_key_file


def alertmanager(layout: Layout, webhook_url: str) -> Service:
    """Return the service of Alertmanager with the shipped configuration.

    If the environment sets the addresses of Slack or the key of a pager, Alertmanager also sends notifications there.

    Raises:
        StartError: the program is missing, its port is in use, or a destination is invalid.
    """
    require_free(layout.ports.alertmanager, "alertmanager")
    folder = layout.home / "alertmanager"
    destinations = dataclasses.replace(Destinations.from_environment(os.environ), webhook_url=webhook_url)
    try:
        configuration = write_alertmanager(folder, destinations)
        command = alertmanager_command(configuration, folder / "data", layout.ports.alertmanager)
    except ProgramMissingError as missing:
        raise StartError(str(missing)) from missing
    except DestinationError as refused:
        raise StartError(str(refused), USAGE) from refused
    ready = f"http://{LOOPBACK}:{layout.ports.alertmanager}/-/ready"
    return Service("alertmanager", command, ready=lambda: http_answers(ready))


def prometheus(layout: Layout, *, ships: bool = False, actuator: bool = False) -> Service:
    """Return the service of Prometheus, which scrapes our processes and evaluates the alerts about them.

    If ``ships`` or ``actuator`` is true, Prometheus also scrapes the shipper or the external actuator.

    Raises:
        StartError: the program is missing or its port is in use.
    """
    require_free(layout.ports.prometheus, "prometheus")
    folder = layout.home / "prometheus"
    ports = layout.ports
    metrics = {
        "windows": ports.windows_metrics,
        "detect": ports.detect_metrics,
        "loader": ports.loader_metrics,
        "sender": ports.sender_metrics,
        "fuse-controller": ports.fuse_controller_metrics,
        **{
            f"{job}-{source.name}": port
            for source in layout.sources
            for job, port in zip(("windows", "detect"), layout.metrics_of_source(source), strict=True)
        },
        **({"ship": ports.ship_metrics} if ships else {}),
        **({"fuse-actuator": ports.fuse_actuator_metrics} if actuator else {}),
    }
    addresses = {name: f"{LOOPBACK}:{port}" for name, port in metrics.items()}
    try:
        alertmanagers = layout.alertmanager_urls.split(",")
        runbooks = os.environ.get("SPARKFUSE_RUNBOOK_URL") or docs_url(layout.console_url)
        configuration = write_prometheus(folder, addresses, alertmanagers, runbook_url=runbooks)
        command = prometheus_command(configuration, folder / "data", ports.prometheus)
    except ProgramMissingError as missing:
        raise StartError(str(missing)) from missing
    ready = f"http://{LOOPBACK}:{ports.prometheus}/-/ready"
    return Service("prometheus", command, ready=lambda: http_answers(ready))


def signing_keys(layout: Layout) -> dict[str, str]:
    """Create the missing key pairs of this home folder, and return the settings of the fuse controller for them."""
    trusted = public_keys(layout)
    private = private_key_file(layout.home / "keys", ACT)
    return {"SPARKFUSE_SIGNING_KEY": str(private), "SPARKFUSE_PUBLIC_KEYS": trusted}


def public_keys(layout: Layout) -> str:
    """Return the entries of all public keys; the hook in a driver verifies signatures with them."""
    return ensure_key_pairs((layout.home / "keys").absolute())
