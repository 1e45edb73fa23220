"""The console as an ASGI application: its routes and its pages for errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from sparkfuse_console.acts import ActError, give_verdict
from sparkfuse_console.guard import LOOPBACK_NAMES, Guard
from sparkfuse_console.login import Identified, read_login
from sparkfuse_console.mcp.server import http_sessions, mcp_server
from sparkfuse_console.pages import PAGES
from sparkfuse_console.parameters import ParameterError
from sparkfuse_console.rest import rest
from sparkfuse_console.site import Page, Site
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.queries import CursorError, StoreEmptyError
from sparkfuse_native_analytics.store.client import StoreUnavailableError
from sparkfuse_native_analytics.topic_records import TopicWriter


def application(settings: Settings) -> ASGIApp:
    """Return the console for these settings. Raises AssetMissingError and RuleError."""
    site = Site.of(settings)
    hosts = LOOPBACK_NAMES | {name for name in [urlsplit(settings.console_url).hostname] if name}
    login = read_login(settings.config_file)
    sessions = http_sessions(mcp_server(site.store, site.prices), hosts)
    pages = Starlette(
        routes=[
            Route("/healthz", _healthy, methods=["GET"]),
            Mount("/api", rest(site)),
            Route("/mcp", StreamableHTTPASGIApp(sessions), methods=["GET", "POST", "DELETE"]),
            Mount("/static", StaticFiles(directory=asset("sparkfuse_console", "static"))),
            Route("/verdicts/{finding_id:path}", _verdict(site, TopicWriter(settings)), methods=["POST"]),
            *(_route(site, path, page) for path, page in PAGES.items()),
        ],
        exception_handlers={
            StoreUnavailableError: _handler(site, _store_away),
            StoreEmptyError: _handler(site, _store_empty),
            ParameterError: _handler(site, _wrong_parameter),
            CursorError: _handler(site, _wrong_parameter),
            ActError: _handler(site, _act_refused),
            HTTPException: _handler(site, _refused),
            Exception: _handler(site, _failed),
        },
        lifespan=lambda _: sessions.run(),
    )
    return Guard(Identified(pages, login), hosts)


def _healthy(_: Request) -> Response:
    return PlainTextResponse("Ok.\n")


def _route(site: Site, path: str, page: Page) -> Route:
    def answer(request: Request) -> Response:
        return page(site, request)

    return Route(path, answer, methods=["GET"])


def _verdict(site: Site, writer: TopicWriter) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        return await give_verdict(site, writer, request)

    return answer


ErrorPage = Callable[[Site, Request, Exception], Response]


def _handler(site: Site, answer: ErrorPage) -> Callable[[Request, Exception], Response]:
    def handle(request: Request, error: Exception) -> Response:
        return answer(site, request, error)

    return handle


def _store_away(site: Site, request: Request, error: Exception) -> Response:
    sentences = [
        f"The store does not answer: {error}.",
        "Detection and alerts do not need the store, so they continue.",
        "With sparkfuse up, read store.log in the folder of its logs.",
        "Otherwise check SPARKFUSE_CLICKHOUSE_URL and the ClickHouse server at this address.",
        "Then reload this page.",
    ]
    return site.page(request, "message.html", 503, heading="The store is not available", sentences=sentences)


def _store_empty(site: Site, request: Request, _: Exception) -> Response:
    sentences = [
        "The store has no tables yet, because no loader has run on it.",
        "Start sparkfuse up, or the loader of your installation, and reload this page.",
    ]
    return site.page(request, "message.html", 503, heading="The store is empty", sentences=sentences)


def _wrong_parameter(site: Site, request: Request, error: Exception) -> Response:
    return site.page(request, "message.html", 400, heading="The address is wrong", sentences=[str(error)])


def _act_refused(site: Site, request: Request, error: Exception) -> Response:
    status = error.status if isinstance(error, ActError) else 500
    return site.page(request, "message.html", status, heading="Nothing was changed", sentences=[str(error)])


def _refused(site: Site, request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    if status == 404:
        return site.not_found(request, "There is no page at this address.")
    sentences = ["This address does not accept the method of the request." if status == 405 else str(error)]
    shown = site.page(request, "message.html", status, heading="The request was refused", sentences=sentences)
    shown.headers.update((error.headers if isinstance(error, HTTPException) else None) or {})
    return shown


def _failed(site: Site, request: Request, _: Exception) -> Response:
    """Show that the page failed; the server logs the error with its stack trace."""
    sentences = ["The page could not be shown because of a defect; the log of the console has the details."]
    return site.page(request, "message.html", 500, heading="The page failed", sentences=sentences)
