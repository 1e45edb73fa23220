"""What all pages share: the settings, the store, the documents and the templates."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import jinja2
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from sparkfuse_console import text
from sparkfuse_console.documents import Documents, docs_folder
from sparkfuse_console.store_reader import StoreReader
from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.settings import Settings


@dataclasses.dataclass(frozen=True)
class Site:
    """The parts that a page uses to answer a request."""

    settings: Settings
    store: StoreReader
    documents: Documents
    templates: jinja2.Environment

    @classmethod
    def of(cls, settings: Settings) -> Site:
        """Return the site of an installation. Raises AssetMissingError."""
        return cls(settings, StoreReader(settings), Documents(docs_folder()), _templates(settings))

    def page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template; ``values`` are its variables."""
        shown = self.templates.get_template(template).render(
            path=request.url.path, address=_address(request), now_ms=time.time_ns() // 1_000_000, **values
        )
        return HTMLResponse(shown, status)

    def not_found(self, request: Request, sentence: str) -> Response:
        """Render a page with status 404; the sentence names what does not exist and where to look."""
        return self.page(request, "message.html", 404, heading="Not found", sentences=[sentence])


Page = Callable[[Site, Request], Response]


def _templates(settings: Settings) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset("sparkfuse_console", "templates")),
        autoescape=True,
        finalize=text.clean,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(text.FILTERS)
    environment.globals["grafana_url"] = settings.dashboard_url
    return environment


def _address(request: Request) -> str:
    return request.url.path + (f"?{request.url.query}" if request.url.query else "")
