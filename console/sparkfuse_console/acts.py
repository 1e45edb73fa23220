"""Acts of people: requests that change something. Only a person with the role operator may send them."""

from __future__ import annotations

import time
from urllib.parse import parse_qs, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from sparkfuse_console.login import Person, Role
from sparkfuse_console.site import Site
from sparkfuse_contracts import links
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.topic_records import TopicError, TopicWriter
from sparkfuse_native_analytics.verdicts import VerdictError, record_verdict, verdict_on

MAX_BODY = 16_384
"""Bytes of a form."""


class ActError(Exception):
    """The act is refused; the message is one sentence, and ``status`` is the status of the reply."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def may_act(request: Request) -> bool:
    """Return whether the person behind a request may change something."""
    person = getattr(request.state, "person", None)
    return isinstance(person, Person) and person.role >= Role.OPERATOR


async def give_verdict(site: Site, writer: TopicWriter, request: Request) -> Response:
    """Record the verdict of the form on a finding, and return to its page. Raises ActError."""
    person = _actor(request)
    form = await _form(request)
    verdict, note = form.get("verdict", ""), form.get("note", "").strip()
    finding_id = str(request.path_params["finding_id"])
    found = await run_in_threadpool(site.store.ask, lambda client: queries.finding(client, finding_id))
    if found is None:
        raise ActError(404, "The store has no finding with this id.")
    try:
        record = verdict_on(found, verdict, note, person.name, time.time_ns() // 1_000_000)
        await run_in_threadpool(record_verdict, writer, record)
    except VerdictError as error:
        raise ActError(400, f"The verdict was not recorded: {error}.") from error
    except TopicError as error:
        raise ActError(503, f"The verdict was not recorded: {error}.") from error
    return RedirectResponse(f"{links.finding_url('', found.finding_id)}?recorded={verdict}#feedback", 303)


def _actor(request: Request) -> Person:
    """Return the person who may act; refuse requests that another site made the browser send."""
    person = getattr(request.state, "person", None)
    if not isinstance(person, Person):
        raise ActError(403, "The console has no login, so it changes nothing; use the command line.")
    if person.role < Role.OPERATOR:
        raise ActError(403, "This needs the role operator, which you do not have.")
    if not is_same_origin(
        request.headers.get("sec-fetch-site"), request.headers.get("origin"), request.headers["host"]
    ):
        raise ActError(403, "The request came from another site; open the page of the finding, and try again.")
    return person


def is_same_origin(fetch_site: str | None, origin: str | None, host: str) -> bool:
    """Return whether a page of this console sent the request.

    Browsers set Sec-Fetch-Site for HTTPS and loopback, and Origin for every POST; a page cannot change them.
    """
    if fetch_site is not None:
        return fetch_site == "same-origin"
    try:
        return origin is not None and urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # not an address
        return False


async def _form(request: Request) -> dict[str, str]:
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY:
            raise ActError(413, "The form is too large.")
    try:
        found = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10, errors="strict")
    except ValueError as error:
        raise ActError(400, "The form cannot be read.") from error
    return {name: values[0] for name, values in found.items() if len(values) == 1}
