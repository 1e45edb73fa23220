"""Reads the query string of a page; a wrong value is an error that names the parameter, the value and what is right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

from starlette.requests import Request

MAX_LENGTH = 300
PAGE_SIZE = 100
"""The number of rows of a page; longer lists have a link to the next page."""


class ParameterError(ValueError):
    """A parameter of the address is wrong; the message is one sentence."""


def text(request: Request, name: str) -> str:
    """Return a parameter without surrounding spaces; empty if it is absent. Raises ParameterError."""
    value = request.query_params.get(name, "").strip()
    if len(value) > MAX_LENGTH:
        raise ParameterError(f"The parameter {name} must have at most {MAX_LENGTH} characters, but has {len(value)}.")
    return value


def choice(request: Request, name: str, choices: Sequence[str]) -> str:
    """Return a parameter that is one of ``choices``; the first choice if it is absent. Raises ParameterError."""
    value = text(request, name) or choices[0]
    if value not in choices:
        allowed = ", ".join(each for each in choices if each)
        raise ParameterError(f"The parameter {name} must be one of {allowed}, but is {value!r}.")
    return value


def cursor(request: Request) -> str:
    """Return the cursor of a page; empty for the first page. The query core checks it. Raises ParameterError."""
    values = request.query_params.getlist("after")
    if len(values) > 1:
        raise ParameterError("The parameter after must not be repeated: follow the links from the first page.")
    return values[0] if values else ""


def address(path: str, values: Mapping[str, str]) -> str:
    """Return the path with the parameters that have a value."""
    pairs = [(name, value) for name, value in values.items() if value]
    return f"{path}?{urlencode(pairs)}" if pairs else path
