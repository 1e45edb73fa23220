"""Lists and watches objects at the API server of Kubernetes.

A watch is one request whose answer the server extends with each change. It starts at the version of a list or of the
last event; bookmarks renew that version while nothing changes, so that a new watch seldom needs a new list.
Documentation: https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from sparkfuse_collectors.pods.objects import Node, SparkPod
from sparkfuse_contracts.token_file import TokenFileError, json_headers

CONNECT_SECONDS = 5.0
LIST_SECONDS = 60.0
# The server ends a watch after this time. Without an event or a bookmark for longer, the connection is dead.
WATCH_SECONDS = 300
PAGE = 500
# A pod takes about 10 kB, and an object of Kubernetes at most 1.5 MB.
MAX_LINE_BYTES = 4_000_000
MAX_PAGE_BYTES = 256_000_000
MAX_TEXT = 300
BOOKMARK = "BOOKMARK"
_GONE = 410
_SECRETS = Path("/var/run/secrets/kubernetes.io/serviceaccount")
Object = Mapping[str, Any]
Found = SparkPod | Node


class ApiError(RuntimeError):
    """The API server does not answer, or refuses a request."""


class ExpiredError(ApiError):
    """The version is too old for a watch, so the objects must be listed again."""


@dataclass(frozen=True)
class ApiAddress:
    """The address of the API server.

    ``token_file`` is read for each request, because tokens of service accounts are replaced every hour. ``ca_file``
    verifies the server's certificate; None selects the certificates of the system.
    """

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None

    @classmethod
    def of_pod(cls, environment: Mapping[str, str] = os.environ) -> ApiAddress | None:
        """Return the address that Kubernetes gives to each pod; None outside of a pod."""
        host, port = (environment.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
        if not host or not port:
            return None
        url = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
        return cls(url, _SECRETS / "token", _SECRETS / "ca.crt")


@dataclass(frozen=True)
class Event:
    """One change; ``kind`` is ADDED, MODIFIED, DELETED or BOOKMARK, and ``version`` that of the collection.

    ``found`` is what was read from the object; None for a bookmark, and for an object that does not matter.
    """

    kind: str
    found: Found | None
    version: str


class ApiServer:
    """One kind of objects at the API server; used by one thread."""

    def __init__(self, address: ApiAddress, path: str, read: Callable[[Object], Found | None], selector: str) -> None:
        """``read`` reduces an object to what matters, because whole objects of a large cluster need much memory."""
        self._address, self._path, self._read = address, path, read
        self._session = requests.Session()
        self._session.trust_env = False  # ignore proxies and .netrc, so that the token is sent to this address only
        self._selection = {"labelSelector": selector} if selector else {}

    def list(self) -> tuple[list[Found], str]:
        """Return what was read from all objects, and the version of the list; pages are read one after the other.

        Raises ApiError, and ExpiredError if the pages took too long.
        """
        items: list[Found] = []
        more: dict[str, str] = {}
        while True:
            with self._get({"limit": str(PAGE), **more}, LIST_SECONDS) as reply:
                page = _parsed(_whole(reply))
            metadata = page.get("metadata") or {}
            items += filter(None, map(self._read, page.get("items") or []))
            if not metadata.get("continue"):
                return items, str(metadata.get("resourceVersion", ""))
            more = {"continue": metadata["continue"]}

    def watch(self, version: str) -> Iterator[Event]:
        """Return the changes since ``version`` until the server ends the answer. Raises ApiError, ExpiredError."""
        parameters = {
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        with self._get(parameters, WATCH_SECONDS + 30.0) as reply:
            for line in _lines(reply):
                event = _parsed(line)
                content = event.get("object")
                if event.get("type") == "ERROR" or not isinstance(content, Mapping):
                    raise _error(content if isinstance(content, Mapping) else {})
                kind = str(event.get("type"))
                yield Event(kind, None if kind == BOOKMARK else self._read(content), _version(content))

    def _get(self, parameters: Mapping[str, str], seconds: float) -> requests.Response:
        url = f"{self._address.url}{self._path}"
        try:
            reply = self._session.get(
                url,
                params={**self._selection, **parameters},
                headers=self._headers(),
                timeout=(CONNECT_SECONDS, seconds),
                verify=str(self._address.ca_file) if self._address.ca_file else True,
                allow_redirects=False,
                stream=True,
            )
        except (requests.RequestException, OSError) as error:  # OSError: the file of certificates cannot be read
            raise ApiError(f"{url} does not answer: {type(error).__name__}: {error}"[:MAX_TEXT]) from error
        if reply.status_code != requests.codes.ok:
            reply.close()
            kind = ExpiredError if reply.status_code == _GONE else ApiError
            raise kind(f"{url} answers {reply.status_code} {reply.reason}")
        return reply

    def _headers(self) -> dict[str, str]:
        try:
            return json_headers(self._address.token_file)
        except TokenFileError as error:
            raise ApiError(str(error)) from error


def _whole(reply: requests.Response) -> bytes:
    body = bytearray()
    for part in _parts(reply):
        body += part
        if len(body) > MAX_PAGE_BYTES:
            raise ApiError(f"{reply.url} answered with more than {MAX_PAGE_BYTES} bytes")
    return bytes(body)


def _lines(reply: requests.Response) -> Iterator[bytes]:
    rest = b""
    for part in _parts(reply):
        *lines, rest = (rest + part).split(b"\n")
        yield from filter(None, lines)
        if len(rest) > MAX_LINE_BYTES:
            raise ApiError(f"{reply.url} sent an event of more than {MAX_LINE_BYTES} bytes")


def _parts(reply: requests.Response) -> Iterator[bytes]:
    try:
        # None: each part as it arrives, and not only full blocks.
        yield from reply.iter_content(None)
    except (requests.RequestException, OSError) as error:
        raise ApiError(f"the answer of {reply.url} was interrupted: {type(error).__name__}") from error


def _parsed(content: bytes) -> Object:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ApiError("the API server did not answer with JSON") from error
    if not isinstance(found, Mapping):
        raise ApiError("the API server did not answer with an object")
    return found


def _error(status: Object) -> ApiError:
    kind = ExpiredError if status.get("code") == _GONE else ApiError
    return kind(f"the watch ended: {status.get('reason')}: {str(status.get('message'))[:200]}")


def _version(content: Object) -> str:
    metadata = content.get("metadata")
    return str(metadata.get("resourceVersion", "")) if isinstance(metadata, Mapping) else ""
