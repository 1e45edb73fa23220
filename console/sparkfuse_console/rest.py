"""The REST API below /api: each question of the query core has one address, and errors are problem+json (RFC 9457)."""

from __future__ import annotations

import http
import json
import threading
import time
from collections.abc import Callable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sparkfuse_console.site import Site
from sparkfuse_native_analytics.queries import CursorError, StoreEmptyError
from sparkfuse_native_analytics.queries.openapi import openapi
from sparkfuse_native_analytics.queries.questions import QUESTIONS, Context, Question, QuestionError
from sparkfuse_native_analytics.store.client import StoreUnavailableError

REQUESTS_PER_SECOND = 20.0
BURST = 100
"""The limit of all clients together: each request asks the store, and pages must stay fast."""


class RateLimit:
    """A token bucket; threads may share it.

    Args:
        per_second: requests per second that are allowed in the long run.
        burst: requests that are allowed at once.
        clock: returns seconds.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._lock = threading.Lock()
        self._tokens = float(burst)
        self._at = clock()

    def wait_seconds(self) -> int:
        """Count one request, and return 0 if it is allowed, or else the whole seconds to wait."""
        with self._lock:
            now = self._clock()
            self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_second)
            self._at = now
            if self._tokens < 1:
                return int((1 - self._tokens) / self._per_second) + 1
            self._tokens -= 1
            return 0


def rest(site: Site) -> Starlette:
    """Return the API as an application that is mounted at /api."""
    limit = RateLimit(REQUESTS_PER_SECOND, BURST)
    # An id may contain a slash, so the address with the longest fixed end is tried first.
    ordered = sorted(QUESTIONS, key=lambda each: (each.path.count("/"), "{" not in each.path), reverse=True)
    return Starlette(
        routes=[
            Route("/openapi.json", _openapi, methods=["GET"]),
            *(Route(f"/v1{_with_slashes(each.path)}", _answer(site, each, limit), methods=["GET"]) for each in ordered),
        ],
        exception_handlers={
            QuestionError: _handler(400),
            CursorError: _handler(400),
            StoreUnavailableError: _handler(503, "The store does not answer: {}. Check SPARKFUSE_CLICKHOUSE_URL."),
            StoreEmptyError: _handler(503, "The store is empty: {}."),
            HTTPException: _refused,
            Exception: _handler(500, "The answer failed because of a defect; the log of the console has the details."),
        },
    )


def _with_slashes(path: str) -> str:
    return path.replace("}", ":path}")


def _openapi(_: Request) -> Response:
    return _json(openapi(), 200)


def _answer(site: Site, question: Question, limit: RateLimit) -> Callable[[Request], Response]:
    def answer(request: Request) -> Response:
        seconds = limit.wait_seconds()
        if seconds:
            found = problem(429, f"More than {REQUESTS_PER_SECOND:g} requests per second: wait {seconds} s.")
            found.headers["Retry-After"] = str(seconds)
            return found
        values = _values(request)
        document = site.store.ask(lambda client: question.answer_to(Context(client, site.prices), values))
        return problem(404, question.missing) if document is None else _json(document, 200)

    return answer


def _values(request: Request) -> dict[str, object]:
    pairs = [*request.path_params.items(), *request.query_params.multi_items()]
    names = [name for name, _ in pairs]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise QuestionError(f"The parameter {repeated[:100]} is given more than once.")
    return dict(pairs)


def problem(status: int, detail: str) -> Response:
    """Return an error; ``detail`` is one sentence with the correction."""
    title = http.HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return _json(content, status, "application/problem+json")


def _json(content: object, status: int, media_type: str = "application/json") -> Response:
    # Escaped to ASCII, so that text of jobs has no hidden characters in a terminal.
    return Response(json.dumps(content, allow_nan=False, separators=(",", ":")), status, media_type=media_type)


def _handler(status: int, sentence: str = "{}") -> Callable[[Request, Exception], Response]:
    def handle(_: Request, error: Exception) -> Response:
        return problem(status, sentence.format(error))

    return handle


def _refused(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    details = {404: "There is nothing at this address; /api/openapi.json lists all addresses.",
               405: "The API changes nothing, so it accepts only GET."}  # fmt: skip
    found = problem(status, details.get(status, str(error)))
    found.headers.update((error.headers if isinstance(error, HTTPException) else None) or {})
    return found
