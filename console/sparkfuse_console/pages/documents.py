"""The pages of the folder docs, and the list of rules."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response

from sparkfuse_console.site import Site

RULES = "rules/README.md"


def show(site: Site, request: Request) -> Response:
    """Show one page of the documentation, or an image of such a page."""
    path = str(request.path_params["path"])
    if found := site.documents.page(path):
        return site.page(request, "document.html", document=found)
    if image := site.documents.image(path):
        return FileResponse(image)
    return site.not_found(request, "The documentation has no page of this name; /docs lists all pages.")


def index(site: Site, request: Request) -> Response:
    """List all pages of the documentation by folder."""
    documents = site.documents
    folders = {folder: [documents.page(path) for path in documents.paths(folder)] for folder in documents.folders()}
    return site.page(request, "documents.html", folders=folders)


def rules(_site: Site, _request: Request) -> Response:
    """Redirect to the list of rules."""
    return RedirectResponse(f"/docs/{RULES}")
