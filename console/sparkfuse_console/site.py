"""What all pages share: the store, the documents, the templates, owners and prices."""

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
from sparkfuse_rules.owners import Owners, read_owners
from sparkfuse_rules.prices import Prices, read_prices


@dataclasses.dataclass(frozen=True)
class Site:
    """The parts that a page uses to answer a request."""

    store: StoreReader
    documents: Documents
    templates: jinja2.Environment
    owners: Owners
    prices: Prices | None

    @classmethod
    def of(cls, settings: Settings) -> Site:
        """Return the site of an installation.

        Raises AssetMissingError if its files are missing, and RuleError for errors in sparkfuse.yaml.
        """
        return cls(
            store=StoreReader(settings),
            documents=Documents(docs_folder()),
            templates=_templates(settings),
            owners=read_owners(settings.config_file),
            prices=read_prices(settings.config_file),
        )

    def page(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        """Render a template; ``values`` are its variables."""
        shown = self.templates.get_template(template).render(
            path=request.url.path,
            now_ms=time.time_ns() // 1_000_000,
            person=getattr(request.state, "person", None),
            **values,
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
