"""A mail server for tests that stores messages; it speaks the part of SMTP (RFC 5321) that Alertmanager uses."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage


class _Session(socketserver.StreamRequestHandler):
    server: MailServer

    def handle(self) -> None:
        self._answer("220 test")
        while line := self.rfile.readline().strip():
            if line.upper() == b"DATA":
                self._answer("354 end with a dot")
                self._receive()
            elif line.upper() == b"QUIT":
                self._answer("221 bye")
                return
            self._answer("250 ok")

    def _receive(self) -> None:
        lines = []
        while (line := self.rfile.readline()) not in (b".\r\n", b""):
            lines.append(line.removeprefix(b"."))
        self.server.messages.append(message_from_bytes(b"".join(lines), policy=policy.default))

    def _answer(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server on a free loopback port."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Session)
        self.messages: list[EmailMessage] = []

    @property
    def address(self) -> str:
        """Host and port of the server."""
        return f"127.0.0.1:{self.server_address[1]}"


@contextmanager
def mail_server() -> Iterator[MailServer]:
    """Run a mail server."""
    with MailServer() as server:
        thread = threading.Thread(target=server.serve_forever, name="mail-server")
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
