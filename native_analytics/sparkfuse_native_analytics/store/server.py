"""The embedded store: one process owns the engine and serves ClickHouse's HTTP interface on loopback.

``python -m sparkfuse_native_analytics.store.server --path P --port N``
"""

from __future__ import annotations

import argparse
import logging
import signal
import socket
import sys
import uuid
from pathlib import Path

import anyio.to_thread
import uvicorn
from prometheus_client import CollectorRegistry, Counter, make_asgi_app
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route

from sparkfuse_contracts.loopback import is_loopback, listen
from sparkfuse_contracts.metric_names import STORE_QUERIES
from sparkfuse_native_analytics.store.engine import Engine, Statement, StatementError, StorePathError
from sparkfuse_native_analytics.store.request import RequestError, answer_headers, error_status, read_request

USAGE = 2
UNAVAILABLE = 3
# One statement uses all cores of the engine, so several statements at the same time would only wait for each other.
STATEMENTS_AT_ONCE = 8
STOP_SECONDS = 15
# The lowest compression level, because loopback is fast and replies are small.
GZIP_LEVEL = 1
BODY_BYTES = 1 << 30


def application(engine: Engine) -> Starlette:
    """Return the HTTP interface of an engine: ``/`` for statements, ``/ping``, and ``/metrics`` for Prometheus."""
    limiter, threads = anyio.CapacityLimiter(STATEMENTS_AT_ONCE), anyio.CapacityLimiter(STATEMENTS_AT_ONCE)
    registry = CollectorRegistry()
    queries = Counter(STORE_QUERIES.name.removesuffix("_total"), STORE_QUERIES.help, STORE_QUERIES.labels,
                      registry=registry)  # fmt: skip

    async def ping(_: Request) -> Response:
        return PlainTextResponse("Ok.\n")

    async def run(request: Request) -> Response:
        if "origin" in request.headers:
            # A web page in a local browser can also reach loopback, and must not read the store.
            return _refusal("the embedded store does not answer web pages", 0, 403)
        query_id = request.query_params.get("query_id") or str(uuid.uuid4())
        try:
            statement = await _statement(request)
            async with limiter:
                if await request.is_disconnected():
                    # A killed loader reads the stored offsets after its restart; a late insert would change these
                    # offsets.
                    return _refusal("the client has gone", 0, 499)
                answer = await anyio.to_thread.run_sync(engine.run, statement, limiter=threads)
        except RequestError as error:
            queries.labels("bad request").inc()
            return _refusal(f"Code: 36. DB::Exception: {error}. (BAD_ARGUMENTS)", 36, 400)
        except StatementError as error:
            queries.labels("refused").inc()
            return _refusal(str(error), error.code, error_status(error.code))
        queries.labels("ok").inc()
        return Response(answer.content, headers=answer_headers(answer, query_id), media_type="text/plain")

    return Starlette(
        routes=[
            Route("/ping", ping),
            Route("/replicas_status", ping),
            Mount("/metrics", make_asgi_app(registry)),
            Route("/", run, methods=["GET", "POST"]),
        ],
        middleware=[Middleware(GZipMiddleware, compresslevel=GZIP_LEVEL, minimum_size=4096)],
    )


async def _statement(request: Request) -> Statement:
    if int(request.headers.get("content-length") or 0) > BODY_BYTES:
        raise RequestError(f"the body is over {BODY_BYTES} bytes")
    return read_request(request.query_params, request.headers, await request.body())


def _refusal(text: str, code: int, status: int) -> Response:
    return PlainTextResponse(text + "\n", status, {"X-ClickHouse-Exception-Code": str(code)})


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT (exit code 0); exit code 2 for invalid arguments, 3 if path or port is in use."""
    parser = argparse.ArgumentParser(prog="sparkfuse-store", description="Serve the embedded ClickHouse engine.")
    parser.add_argument("--path", type=Path, required=True, help="folder of the engine's data")
    parser.add_argument("--port", type=int, required=True, help="port to listen on; 0 selects a free port")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--allow-remote", action="store_true", help="allow addresses that other machines can reach")
    options = parser.parse_args(arguments)
    if not is_loopback(options.host) and not options.allow_remote:
        return _fail(f"--host {options.host} can be reached by other machines, and the store has no users; "
                     "use --allow-remote to accept that", USAGE)  # fmt: skip
    try:
        listener = listen(options.host, options.port)
    except OSError as error:
        return _fail(f"the store cannot listen on {options.host}:{options.port}: {error.strerror}", UNAVAILABLE)
    with listener:
        try:
            engine = Engine(options.path)
        except StorePathError as error:
            return _fail(str(error), UNAVAILABLE)
        _serve(engine, listener)
        engine.close()
    return 0


def _serve(engine: Engine, listener: socket.socket) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    host, port = listener.getsockname()[:2]
    logging.getLogger("sparkfuse.store").info("serving at http://%s:%s", host, port)
    config = uvicorn.Config(application(engine), log_config=None, log_level="warning", access_log=False,
                            timeout_graceful_shutdown=STOP_SECONDS, lifespan="off")  # fmt: skip
    # After it has stopped, uvicorn raises the signal again; it is ignored, because a requested stop is not a failure.
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, lambda *_: None)
    uvicorn.Server(config).run(sockets=[listener])


def _fail(sentence: str, code: int) -> int:
    print(f"sparkfuse store: {sentence}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
