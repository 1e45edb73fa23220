"""`sparkfuse trace` and `sparkfuse dashboards`: export runs and dashboards to other tools."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, ask
from sparkfuse.stack.errors import USAGE, StartError

TOKEN_VARIABLE = "SPARKFUSE_GRAFANA_TOKEN"  # noqa: S105 - the name of a variable, not its value
Endpoint = Annotated[str, typer.Option("--endpoint", help="Address of an OpenTelemetry collector (OTLP over HTTP).")]
Grafana = Annotated[str, typer.Option("--url", envvar="SPARKFUSE_DASHBOARD_URL", help="Grafana's address.")]
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder of the running stack.")]


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    application.command()(trace)
    application.command()(dashboards)


def trace(app_id: str, endpoint: Endpoint = "http://127.0.0.1:4318", home: Home = DEFAULT_HOME) -> None:
    """Send a run as an OpenTelemetry trace: jobs, stages and slow tasks are spans, findings are events."""
    from sparkfuse_native_analytics.traces.export import TraceExportError, export_trace

    try:
        spans = ask(home, lambda client: export_trace(client, app_id, endpoint))
    except TraceExportError as error:
        raise StartError(str(error)) from error
    typer.echo(f"sent {spans} spans of {app_id} to {endpoint}")


def dashboards(url: Grafana = "http://127.0.0.1:3000") -> None:
    """Push the dashboards to Grafana; SPARKFUSE_GRAFANA_TOKEN is the token of a service account."""
    from sparkfuse_dashboards.push import PushError, push

    token = os.environ.get(TOKEN_VARIABLE, "")
    if not token:
        raise StartError(
            f"{TOKEN_VARIABLE} is not set: create a service account with the role Editor and use its token", USAGE
        )
    try:
        for address in push(url.rstrip("/"), token):
            typer.echo(address)
    except PushError as error:
        raise StartError(str(error)) from error
