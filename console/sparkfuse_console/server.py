"""Serves the console over HTTP on loopback."""

from __future__ import annotations

import errno
import logging
import signal
import socket

import uvicorn

from sparkfuse_console.application import application
from sparkfuse_contracts.loopback import is_loopback, listen
from sparkfuse_contracts.settings import Settings

DEFAULT_PORT = 19080
STOP_SECONDS = 5


class ListenError(Exception):
    """The console cannot listen at the address; the message is one sentence with the correction.

    Args:
        message: the sentence.
        remote: whether the address is refused because other machines could reach it.
    """

    def __init__(self, message: str, *, remote: bool = False) -> None:
        super().__init__(message)
        self.remote = remote


def open_listener(host: str, port: int, *, protected: bool = False) -> socket.socket:
    """Return a listening socket on loopback, or on any address if something else protects the console.

    Raises ListenError if other machines could reach the address and it is not ``protected``, because the console has no
    login, or if the port is in use.
    """
    if not protected and not is_loopback(host):
        raise ListenError(
            f"the console has no login, so it listens only on loopback, but --host is {host!r}: use 127.0.0.1, "
            "or name a proxy with a login in the section login of sparkfuse.yaml; add --behind-proxy only if nothing "
            "but such a proxy can reach the address",
            remote=True,
        )
    try:
        return listen(host, port)
    except OSError as error:
        hint = ": stop the program that uses the port, or choose another one with --port"
        reason = f"{error.strerror}{hint if error.errno == errno.EADDRINUSE else ''}"
        raise ListenError(f"the console cannot listen on {host}:{port}: {reason}") from error


def address_of(listener: socket.socket) -> str:
    """Return the address of the console that uses this socket."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def serve(settings: Settings, listener: socket.socket) -> None:
    """Serve the console until SIGTERM or SIGINT. Raises AssetMissingError and RuleError."""
    config = uvicorn.Config(
        application(settings),
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="on",
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    # After it has stopped, uvicorn raises the signal again; it is ignored, because a requested stop is not a failure.
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])
