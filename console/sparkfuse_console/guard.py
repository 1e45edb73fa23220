"""Checks the Host header of each request, and adds the security headers to each response."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
# The pages have no inline script or style, and load nothing from other hosts.
POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without it, browsers send no Origin with a form, which the console needs to recognise its own pages.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # A page of one moment must not be shown later as if it were current.
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application around the console.

    A page of another site can make a browser send requests to loopback under a host name of that site (DNS rebinding),
    and then read the replies. Requests for other hosts than ``hosts`` are therefore refused with status 421.

    Args:
        inner: the console.
        hosts: host names without ports, in lower case.
    """

    def __init__(self, inner: ASGIApp, hosts: Collection[str]) -> None:
        self._inner = inner
        self._hosts = frozenset(hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        accepted = len(values) == 1 and host_name(values[0]) in self._hosts
        await (self._inner if accepted else _refusal)(scope, receive, send_with_headers)


def host_name(header: str) -> str | None:
    """Return the host name of a Host header, in lower case and without the port; None if the header is malformed."""
    if not header or any(each in header for each in "/?#@\\ \t"):
        return None
    try:
        return urlsplit(f"//{header}").hostname
    except ValueError:
        return None


_refusal = PlainTextResponse(
    "The console answers only requests for 127.0.0.1, localhost or the host of SPARKFUSE_CONSOLE_URL.\n", 421
)
