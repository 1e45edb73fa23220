"""`sparkfuse serve`: the web console."""

from __future__ import annotations

from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.stack.errors import MISSING, USAGE, StartError

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 selects a free port.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; only loopback, because there is no login.")]
BehindProxy = Annotated[
    bool, typer.Option("--behind-proxy", help="Allow any address: only a proxy with a login can reach it.")
]


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(serve)


def serve(
    home: Home = DEFAULT_HOME, port: Port = 19080, host: Host = "127.0.0.1", *, behind_proxy: BehindProxy = False
) -> None:
    """Serve the web console: findings, runs, jobs, hosts and runbooks, without changing anything; Ctrl-C stops it.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_console import server
    from sparkfuse_rules.errors import RuleError

    settings = settings_of_stack(home)
    try:
        listener = server.open_listener(host, port, protected=behind_proxy)
    except server.ListenError as error:
        raise StartError(str(error), USAGE if error.remote else MISSING) from error
    with listener:
        typer.echo(f"The console is at {server.address_of(listener)}")
        try:
            server.serve(settings, listener)
        except RuleError as error:  # the file of SPARKFUSE_CONFIG
            raise StartError(str(error), USAGE) from error
