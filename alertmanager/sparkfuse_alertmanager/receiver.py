"""A webhook that records the notifications of Alertmanager, with the time of each delivery.

The demo and the tests use it in their own process (``with Receiver() as receiver``). A team can run it next to a new
installation to see all notifications: ``python -m sparkfuse_alertmanager.receiver --port 19095``.
The webhook accepts Alertmanager's webhook format at ``/webhook``, Slack's incoming webhook at ``/slack``, PagerDuty's
events at ``/pager`` and the dead man's switch at ``/heartbeat``. ``GET /deliveries?after=<number>`` returns the
recorded deliveries.
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
MOST_DELIVERIES = 10_000
LARGEST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Delivery:
    """One received notification. ``received_ms`` is in milliseconds since 1970-01-01 UTC."""

    number: int
    received_ms: int
    path: str
    payload: dict[str, Any]


class Receiver:
    """An HTTP server on loopback that stores the last MOST_DELIVERIES deliveries. Port 0 selects a free port."""

    def __init__(self, port: int = 0, host: str = "127.0.0.1") -> None:
        self._deliveries: deque[Delivery] = deque(maxlen=MOST_DELIVERIES)
        self._lock = threading.Lock()
        self._count = 0
        self._failures: deque[int] = deque()
        self._server = _Server((host, port), _Handler, self)
        self._thread = threading.Thread(target=self._server.serve_forever, name="sparkfuse-receiver", daemon=True)
        self.address = f"http://{host}:{self._server.server_address[1]}"

    @property
    def url(self) -> str:
        """The address for Alertmanager's webhook format."""
        return self.address + WEBHOOK

    @property
    def slack_url(self) -> str:
        """The address that replaces Slack's incoming webhook."""
        return self.address + SLACK

    @property
    def heartbeat_url(self) -> str:
        """The address of the dead man's switch."""
        return self.address + HEARTBEAT

    @property
    def deliveries(self) -> list[Delivery]:
        """The deliveries in webhook format, oldest first."""
        return self.received(WEBHOOK)

    def received(self, path: str) -> list[Delivery]:
        """Return the deliveries at one path, oldest first."""
        return [delivery for delivery in self.after(-1) if delivery.path == path]

    def after(self, number: int) -> list[Delivery]:
        """Return the deliveries after delivery ``number``, at any path; numbers start at 0 and have no gaps."""
        with self._lock:
            return [delivery for delivery in self._deliveries if delivery.number > number]

    def fail_next(self, statuses: Iterable[int]) -> None:
        """Answer the next posts with these HTTP statuses without recording them, to simulate a failing receiver."""
        with self._lock:
            self._failures.extend(statuses)

    def record(self, path: str, payload: dict[str, Any]) -> int:
        """Record a delivery, unless ``fail_next`` was called for it; return the HTTP status of the answer."""
        with self._lock:
            if self._failures:
                return self._failures.popleft()
            self._deliveries.append(Delivery(self._count, time.time_ns() // 1_000_000, path, payload))
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
    timeout = 30  # the time in seconds without data after which a connection is closed
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_BYTES:
            self.close_connection = True
            self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"Content-Length must be at most 16 MiB\n")
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
    """Run until SIGTERM or Ctrl-C and print each delivery as one line of JSON."""
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
