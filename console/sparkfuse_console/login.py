"""Names the person behind each request: a proxy with a login adds the person to the headers."""

from __future__ import annotations

import enum
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sparkfuse_native_analytics.verdicts import PERSON_CHARACTERS
from sparkfuse_rules import strict_yaml
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.overrides import read_section

SECTION = "login"
_KEYS = ("user_header", "groups_header", "proxies", "viewers", "operators")
_OPEN_PATHS = ("/healthz",)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")  # a token of HTTP
_EVERYBODY = "*"
_GROUP = "group:"
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class Role(enum.IntEnum):
    """What a person may do; a higher role includes the lower ones."""

    VIEWER = 1
    """Reads all pages and answers."""
    OPERATOR = 2
    """Also gives verdicts on findings."""


@dataclass(frozen=True)
class Person:
    """A person whom the proxy has identified."""

    name: str
    role: Role


@dataclass(frozen=True)
class Login:
    """The section ``login`` of sparkfuse.yaml.

    ``proxies`` are the addresses from which requests are accepted. ``members`` has for each role the names of people,
    groups as ``group:NAME``, and ``*`` for everybody whom the proxy lets in.
    """

    user_header: str
    groups_header: str | None
    proxies: tuple[Network, ...]
    members: Mapping[Role, frozenset[str]]

    def accepts(self, address: str) -> bool:
        """Return whether a request from this network address comes from a proxy."""
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
        return any((mapped or found) in network for network in self.proxies)

    def role_of(self, name: str, groups: Sequence[str]) -> Role | None:
        """Return the highest role of a person; None if the person has none."""
        known = {_EVERYBODY, *(f"{_GROUP}{group}" for group in groups)}
        if name != _EVERYBODY and not name.startswith(_GROUP):  # a name must not count as a group
            known.add(name)
        return max((role for role, members in self.members.items() if members & known), default=None)


def read_login(path: Path | None) -> Login | None:
    """Return the section ``login`` of sparkfuse.yaml; None if it is absent. Raises RuleError, also if it is empty."""
    if path is None or SECTION not in strict_yaml.read_mapping(path):
        return None
    return _login(f"{path}: {SECTION}", read_section(path, SECTION))


def _login(place: str, value: Mapping[str, Any]) -> Login:
    content = strict_yaml.mapping(place, value, _KEYS)
    for key in ("user_header", "proxies"):
        if key not in content:
            raise RuleError(f"{place}: needs {key}")
    groups = content.get("groups_header")
    proxies = tuple(_network(f"{place}.proxies", each) for each in _texts(f"{place}.proxies", content["proxies"]))
    if not proxies:
        raise RuleError(f"{place}.proxies: must name at least one address")
    return Login(
        user_header=_header_name(f"{place}.user_header", content["user_header"]),
        groups_header=None if groups is None else _header_name(f"{place}.groups_header", groups),
        proxies=proxies,
        members={
            Role.VIEWER: frozenset(_texts(f"{place}.viewers", content.get("viewers", [_EVERYBODY]))),
            Role.OPERATOR: frozenset(_texts(f"{place}.operators", content.get("operators", []))),
        },
    )


def _header_name(place: str, value: object) -> str:
    name = strict_yaml.text(place, value)
    if not _HEADER_NAME.fullmatch(name):
        raise RuleError(f"{place}: must be the name of an HTTP header, but is {name!r}")
    return name.lower()


def _texts(place: str, value: object) -> list[str]:
    if not isinstance(value, list):
        raise RuleError(f"{place}: must be a list, but is {value!r}")
    return [strict_yaml.text(f"{place}[{number}]", each) for number, each in enumerate(value)]


def _network(place: str, value: str) -> Network:
    try:
        return ipaddress.ip_network(value)
    except ValueError as error:
        raise RuleError(f"{place}: must be an address or a network such as 10.0.0.0/8: {error}") from error


class Identified:
    """An ASGI application around the console that refuses requests without a known person.

    The person is then ``scope["state"]["person"]``, None if the console has no login. Requests for /healthz need none.
    """

    def __init__(self, inner: ASGIApp, login: Login | None) -> None:
        self._inner = inner
        self._login = login

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http" or scope["path"] in _OPEN_PATHS:
            await self._inner(scope, receive, send)
            return
        person = None if self._login is None else _identify(self._login, scope)
        if isinstance(person, PlainTextResponse):
            await person(scope, receive, send)
            return
        scope.setdefault("state", {})["person"] = person
        await self._inner(scope, receive, send)


def _identify(login: Login, scope: Scope) -> Person | PlainTextResponse:
    client = scope.get("client")
    if client is None or not login.accepts(client[0]):
        return PlainTextResponse("The console answers only its proxy; open the address of the proxy.\n", 403)
    names = _header(scope, login.user_header)
    if len(names) != 1 or not names[0].strip() or len(names[0]) > PERSON_CHARACTERS:
        return PlainTextResponse(f"The proxy must name one person in the header {login.user_header}.\n", 401)
    name = names[0].strip()
    lists = _header(scope, login.groups_header)
    if len(lists) > 1:  # a client may have added one
        return PlainTextResponse(f"The proxy must send at most one header {login.groups_header}.\n", 401)
    groups = [group.strip() for group in ",".join(lists).split(",") if group.strip()]
    role = login.role_of(name, groups)
    if role is None:
        return PlainTextResponse("You have no role in this console; ask its owner to add you to viewers.\n", 403)
    return Person(name, role)


def _header(scope: Scope, wanted: str | None) -> list[str]:
    if wanted is None:
        return []
    return [value.decode("utf-8", "replace") for name, value in scope["headers"] if name == wanted.encode("latin-1")]
