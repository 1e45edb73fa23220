"""The pages of the console: one module for each kind of page, and the address of each page."""

from __future__ import annotations

from collections.abc import Mapping

from sparkfuse_console.pages import (
    advice,
    comparison,
    costs,
    documents,
    explanation,
    findings,
    hosts,
    jobs,
    runs,
    search,
)
from sparkfuse_console.site import Page

# The type ``path`` accepts values that contain a slash, such as job keys.
PAGES: Mapping[str, Page] = {
    "/": findings.inbox,
    "/search": search.show,
    "/compare": comparison.show,
    "/advice": advice.show,
    "/costs": costs.show,
    "/explain": explanation.show,
    "/runs": runs.index,
    "/runs/{app_id:path}": runs.show,
    "/jobs/{job_key:path}": jobs.show,
    "/hosts/{host:path}": hosts.show,
    "/findings/{finding_id:path}": findings.show,
    "/docs": documents.index,
    "/docs/{path:path}": documents.show,
    "/rules": documents.rules,
}
