"""A webhook that records what Alertmanager delivers, with the time of each delivery.

The demonstration and the tests read it in their own process (``with Receiver() as receiver``); a team may run it beside
a new installation to see what would reach people: ``python -m sparkfuse_alertmanager.receiver --port 19095``.
It answers Alertmanager's webhook format at ``/webhook``, Slack's incoming webhook at ``/slack``, PagerDuty's events at
``/pager``, the dead man's switch at ``/heartbeat``, and gives what it recorded at ``GET /deliveries?after=<number>``.
"""

from __future__ import annotations

import argparse
import json
import logging
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

log = logging.getLogger(__name__)
WEBHOOK, SLACK, PAGER, HEARTBEAT = PATHS = ("/webhook", "/slack", "/pager", "/heartbeat")
KEPT = 10_000
LARGEST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Delivery:
    """One post that arrived. ``received_ms`` is this machine's clock, in milliseconds since 1970-01-01 UTC."""

    number: int
    received_ms: int
    path: str
    payload: dict[str, Any]


class Receiver:
    """An HTTP server on loopback that keeps the last KEPT deliveries. Port 0 takes a free one."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self._kept: deque[Delivery] = deque(maxlen=KEPT)
        self._lock = threading.Lock()
        self._count = 0
        self._refusals: deque[int] = deque()
        self._server = _Server((host, port), _Handler, self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="sparkfuse-receiver", daemon=True)
        self.address = f"http://{host}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """Where Alertmanager posts its webhook format."""
        return self.address + WEBHOOK

    @property
    def slack_url(self) -> str:
        """Where Alertmanager posts as if to Slack's incoming webhook."""
        return self.address + SLACK

    @property
    def heartbeat_url(self) -> str:
        """Where the dead man's switch is told that all is well."""
        return self.address + HEARTBEAT

    @property
    def deliveries(self) -> list[Delivery]:
        """What arrived in webhook format, oldest first."""
        return self.received(WEBHOOK)

    def received(self, path: str) -> list[Delivery]:
        """What arrived at one path, oldest first."""
        return [delivery for delivery in self.after(-1) if delivery.path == path]

    def after(self, number: int) -> list[Delivery]:
        """What arrived after the delivery of that number, at any path; numbers begin at 0 and have no gaps."""
        with self._lock:
            return [delivery for delivery in self._kept if delivery.number > number]

    def refuse(self, statuses: Iterable[int]) -> None:
        """Answer the next posts with these HTTP statuses, recording nothing: how a receiver fails."""
        with self._lock:
            self._refusals.extend(statuses)

    def record(self, path: str, payload: dict[str, Any]) -> int:
        """Keep a delivery, or refuse it when told to. Gives the HTTP status to answer with."""
        with self._lock:
            if self._refusals:
                return self._refusals.popleft()
            self._kept.append(Delivery(self._count, time.time_ns() // 1_000_000, path, payload))
            self._count += 1
        return HTTPStatus.OK

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], handler: type[_Handler], receiver: Receiver) -> None:
        super().__init__(address, handler)
        self.receiver = receiver


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30  # seconds of silence after which a connection is given up
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_BYTES:
            self.close_connection = True
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"give a Content-Length of at most 16 MiB\n")
            return
        body = self.rfile.read(int(length))
        if self.path not in PATHS:
            self._answer(HTTPStatus.NOT_FOUND, f"post to one of {', '.join(PATHS)}\n".encode())
            return
        try:
            payload = json.loads(body)
        except (ValueError, RecursionError):
            payload = None
        if isinstance(payload, dict):
            self._answer(self.server.receiver.record(self.path, payload), b"ok")
        else:
            self._answer(HTTPStatus.BAD_REQUEST, b"the body must be a JSON object\n")

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        after = parse_qs(parts.query).get("after", ["-1"])[0]
        if parts.path != "/deliveries" or not after.removeprefix("-").isdecimal():
            self._answer(HTTPStatus.NOT_FOUND, b"GET /deliveries?after=<number>\n")
            return
        found = [asdict(delivery) for delivery in self.server.receiver.after(int(after))]
        self._answer(HTTPStatus.OK, json.dumps(found).encode(), "application/json")

    def _answer(self, status: int, body: bytes, kind: str = "text/plain") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        log.debug(format, *args)


def main(arguments: list[str] | None = None) -> int:
    """Run until SIGTERM or Ctrl-C, printing each delivery as one line of JSON."""
    parser = argparse.ArgumentParser(prog="sparkfuse_alertmanager.receiver", description=__doc__.splitlines()[0])
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default %(default)s)")
    parser.add_argument("--port", type=int, default=19095, help="port to listen on (default %(default)s)")
    given = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        receiver = Receiver(given.port, given.host)
    except (OSError, OverflowError) as error:
        print(f"the receiver cannot listen on {given.host}:{given.port}: {error}", file=sys.stderr)
        return 3
    with receiver:
        print(f"listening for Alertmanager at {receiver.url}", file=sys.stderr)
        _print_until(stop, receiver)
    return 0


def _print_until(stop: threading.Event, receiver: Receiver) -> None:
    shown = -1
    while not stop.wait(0.2):
        for delivery in receiver.after(shown):
            print(json.dumps(asdict(delivery), ensure_ascii=False), flush=True)
            shown = delivery.number


if __name__ == "__main__":
    sys.exit(main())
