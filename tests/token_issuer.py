"""Issues signed OAuth tokens for tests, and provides the public key with which a broker verifies them."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import TracebackType
from typing import Self

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

LIFE_SECONDS = 3_600
KEY_ID = "test-key"


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class TokenIssuer:
    """The HTTP endpoint of an identity provider: a client with the right id and secret gets a token for that id."""

    def __init__(self, folder: Path, clients: dict[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._key = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
        self._logins = {base64.b64encode(f"{name}:{word}".encode()).decode(): name for name, word in clients.items()}
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID}
        key |= {"n": _number(public.n), "e": _number(public.e)}
        self.public_keys = folder / "jwks.json"
        self.public_keys.write_text(json.dumps({"keys": [key]}))
        self._server = HTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_port}/token"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def token(self, name: str) -> str:
        """Return a signed token whose subject is ``name``."""
        now = int(time.time())
        header = {"alg": "RS256", "kid": KEY_ID}
        claims = {"sub": name, "iat": now, "exp": now + LIFE_SECONDS, "scope": "kafka"}
        signed = ".".join(_encoded(json.dumps(each).encode()) for each in (header, claims))
        signature = self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{_encoded(signature)}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                name = issuer._logins.get(self.headers.get("Authorization", "").removeprefix("Basic "))
                answer = {"access_token": issuer.token(name)} if name else {"error": "invalid_client"}
                body = json.dumps(answer).encode()
                self.send_response(200 if name else 401)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_arguments: object) -> None:
                pass

        return Handler
