"""The pages of the console: one module for each kind of page, and the address of each page."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_console.pages import documents
from sparkfuse_console.site import Page

# The type ``path`` accepts values that contain a slash, such as job keys.
PAGES: Mapping[str, Page] = {
    "/docs": documents.index,
    "/docs/{path:path}": documents.show,
    "/rules": documents.rules,
}
