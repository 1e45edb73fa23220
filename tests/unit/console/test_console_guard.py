"""Tests the checks of requests, the security headers, and the pages for errors."""

from __future__ import annotations

import http.client
from urllib.parse import urlsplit

import pytest
import requests

from sparkfuse_console.guard import host_name
from sparkfuse_console.server import ListenError, open_listener


@pytest.mark.parametrize("host", ["127.0.0.1:80", "LOCALHOST", "[::1]:9", "spark.example", "spark.example:8443"])
def test_own_host_names_are_answered(console, host):
    """Requests for loopback names and for the host of SPARKFUSE_CONSOLE_URL are answered, with any port."""
    assert console.get("/docs", Host=host).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost@evil.example", "evil.example/127.0.0.1", "", "[::1"]
)
def test_other_host_names_are_refused(console, host):
    """A page of another site cannot read the console through a host name of its own (DNS rebinding)."""
    reply = console.get("/docs", Host=host)

    assert reply.status_code == 421
    assert "Documentation" not in reply.text


def test_two_host_headers_are_refused(console):
    """Two Host headers are refused, because a proxy and the console could read different ones."""
    connection = http.client.HTTPConnection(urlsplit(console.url).netloc, timeout=30)
    connection.putrequest("GET", "/docs", skip_host=True)
    for host in ("localhost", "evil.example"):
        connection.putheader("Host", host)
    connection.endheaders()

    assert connection.getresponse().status in (400, 421)


@pytest.mark.parametrize("header", ["a b", "a/b", "user@a", "a?b", "a#b", "a\\b"])
def test_malformed_host_has_no_name(header):
    """A malformed Host header has no host name, so it is refused."""
    assert host_name(header) is None


@pytest.mark.parametrize("path", ["/docs", "/static/console.css", "/nothing", "/", "/healthz"])
def test_every_reply_has_security_headers(console, path):
    """Pages, assets and error pages have the strict policy and are not stored or framed."""
    headers = console.get(path).headers

    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH"])
@pytest.mark.parametrize("path", ["/", "/docs", "/healthz", "/runs/app-1"])
def test_only_get_is_accepted(console, method, path):
    """The console changes nothing, so it accepts only GET."""
    assert requests.request(method, console.url + path, timeout=30).status_code == 405


def test_missing_store_is_a_clear_page(console):
    """If the store does not answer, the page has status 503 and says what to do; it has no stack trace."""
    for path in ("/", "/runs", "/runs/app-1", "/jobs/a/b", "/hosts/node-1", "/findings/abc"):
        reply = console.get(path)

        assert reply.status_code == 503, path
        assert "The store is not available" in reply.text
        assert "SPARKFUSE_CLICKHOUSE_URL" in reply.text
        assert "Traceback" not in reply.text


def test_unknown_page_is_404(console):
    """An unknown address has status 404 and a page with the navigation; the health check works without a store."""
    reply = console.get("/nothing")

    assert reply.status_code == 404
    assert '<nav aria-label="Pages">' in reply.text
    assert console.get("/healthz").text == "Ok.\n"


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "example.org"])
def test_addresses_of_other_machines_are_refused(host):
    """The console listens only on loopback, because it has no login."""
    with pytest.raises(ListenError, match="the console has no login") as refused:
        open_listener(host, 0)

    assert refused.value.remote


def test_port_in_use_is_a_sentence():
    """If the port is in use, the error names the port and the option."""
    with open_listener("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}.*--port"):
            open_listener("127.0.0.1", port)


def test_protected_console_listens_on_any_address() -> None:
    """Behind a proxy, the console listens on an address that other machines could reach."""
    with open_listener("0.0.0.0", 0, protected=True) as listener:
        assert listener.getsockname()[0] == "0.0.0.0"
