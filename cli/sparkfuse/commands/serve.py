"""`sparkfuse serve` and `mcp`: the web console with its API, and the MCP server for agents."""

from __future__ import annotations

from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.stack.errors import MISSING, USAGE, StartError

Port = Annotated[int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 selects a free port.")]
Host = Annotated[str, typer.Option("--host", help="Address to listen on; only loopback if there is no login.")]
BehindProxy = Annotated[
    bool, typer.Option("--behind-proxy", help="Allow any address: only a proxy with a login can reach it.")
]


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    for command in (serve, mcp):
        application.command()(command)


def serve(
    home: Home = DEFAULT_HOME, port: Port = 19080, host: Host = "127.0.0.1", *, behind_proxy: BehindProxy = False
) -> None:
    """Serve the web console, its REST API and MCP tools; Ctrl-C stops it.

    People can give verdicts on findings if sparkfuse.yaml has a section `login`. Reads the store at
    SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_console import server
    from sparkfuse_console.login import read_login
    from sparkfuse_rules.errors import RuleError

    settings = settings_of_stack(home)
    try:
        protected = behind_proxy or read_login(settings.config_file) is not None
        listener = server.open_listener(host, port, protected=protected)
    except RuleError as error:  # the file of SPARKFUSE_CONFIG
        raise StartError(str(error), USAGE) from error
    except server.ListenError as error:
        raise StartError(str(error), USAGE if error.remote else MISSING) from error
    with listener:
        typer.echo(f"The console is at {server.address_of(listener)}")
        try:
            server.serve(settings, listener)
        except RuleError as error:  # the file of SPARKFUSE_CONFIG
            raise StartError(str(error), USAGE) from error


def mcp(home: Home = DEFAULT_HOME) -> None:
    """Serve runs, findings and explanations to an agent: an MCP server on standard input and output.

    It only reads. Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home. `sparkfuse serve`
    has the same tools at /mcp.
    """
    from sparkfuse_console.mcp.server import serve_stdio
    from sparkfuse_console.store_reader import StoreReader
    from sparkfuse_rules.errors import RuleError
    from sparkfuse_rules.prices import read_prices

    settings = settings_of_stack(home)
    try:
        prices = read_prices(settings.config_file)
    except RuleError as error:  # the file of SPARKFUSE_CONFIG
        raise StartError(str(error), USAGE) from error
    serve_stdio(StoreReader(settings), prices)
