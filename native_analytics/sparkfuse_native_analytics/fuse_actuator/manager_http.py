"""HTTP client for cluster managers: verifies TLS, reads the token from a file, limits time and size of answers."""

from __future__ import annotations

import json as json_module
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from sparkfuse_contracts.token_file import TokenFileError, json_headers
from sparkfuse_native_analytics.fuse_actuator.cluster_manager import ManagerError

CONNECT_SECONDS = 3.0
ANSWER_SECONDS = 5.0
# In the list of a standalone master, each application takes about 1 kB.
MAX_BYTES = 32_000_000
_OK = (200, 201, 202)


@dataclass(frozen=True)
class Address:
    """The address of the manager, and the credentials of the actuator.

    ``token_file`` is read for each request, because tokens of service accounts are replaced every hour. ``ca_file``
    verifies the certificate of the manager; None selects the certificates of the system.
    """

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None


class ManagerHttp:
    """Sends one request at a time; redirects are not followed, because they could lead to another cluster."""

    def __init__(self, address: Address, answer_seconds: float = ANSWER_SECONDS) -> None:
        self._address, self._answer_seconds = address, answer_seconds

    def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:
        """Return the JSON of the answer. Raises ManagerError for any answer but success."""
        return self._json(*self.send("GET", path, parameters=parameters))

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        json: object = None,
        form: Mapping[str, str] | None = None,
        accepted: tuple[int, ...] = _OK,
    ) -> tuple[str, bytes]:
        """Return address and body of the answer. Raises ManagerError for a status that is not accepted."""
        url = f"{self._address.url}{path}"
        try:
            with requests.Session() as session:
                session.trust_env = False  # ignore proxies and .netrc, so that the token is sent to this address only
                reply = session.request(
                    method,
                    url,
                    params=parameters,
                    json=json,
                    data=form,
                    headers=self._headers(),
                    timeout=(CONNECT_SECONDS, self._answer_seconds),
                    verify=str(self._address.ca_file) if self._address.ca_file else True,
                    allow_redirects=False,
                    stream=True,
                )
                body = self._body(url, reply)
        except requests.RequestException as error:
            raise ManagerError(f"{url} does not answer: {_cause(error)}") from error
        if reply.status_code not in accepted:
            raise ManagerError(f"{url} answers {reply.status_code} {reply.reason}{_detail(body)}")
        return url, body

    def _headers(self) -> dict[str, str]:
        try:
            return json_headers(self._address.token_file)
        except TokenFileError as error:
            raise ManagerError(str(error)) from error

    def _body(self, url: str, reply: requests.Response) -> bytes:
        body = b""
        for part in reply.iter_content(65_536):
            body += part
            if len(body) > MAX_BYTES:
                raise ManagerError(f"{url} answered with more than {MAX_BYTES} bytes")
        return body

    @staticmethod
    def _json(url: str, body: bytes) -> Any:
        try:
            return json_module.loads(body)
        except (ValueError, RecursionError) as error:
            raise ManagerError(f"{url} did not answer with JSON") from error


def _cause(error: requests.RequestException) -> str:
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate cannot be verified"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    return type(error).__name__


def _detail(body: bytes) -> str:
    text = " ".join(body[:300].decode("utf-8", "replace").split())
    return f": {text}" if text else ""
