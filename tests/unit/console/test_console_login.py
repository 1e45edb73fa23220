"""Tests who may read the console and who may act."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from sparkfuse_console.acts import is_same_origin
from sparkfuse_console.login import Identified, Login, Role, read_login
from sparkfuse_rules.errors import RuleError

LOGIN = Login(
    user_header="x-forwarded-email",
    groups_header="x-forwarded-groups",
    proxies=(ipaddress.ip_network("10.1.0.0/16"), ipaddress.ip_network("::1/128")),
    members={Role.VIEWER: frozenset({"group:data", "bob"}), Role.OPERATOR: frozenset({"group:oncall", "alice"})},
)


async def who(scope, receive, send) -> None:
    person = scope.get("state", {}).get("person")
    shown = f"{person.name} {person.role.name}" if person else "nobody"
    await PlainTextResponse(shown)(scope, receive, send)


def ask(
    app: ASGIApp, headers: Sequence[tuple[str, str]], address: str = "10.1.2.3", path: str = "/"
) -> tuple[int, str]:
    reply = TestClient(app, client=(address, 50_000)).get(path, headers=list(headers))
    return reply.status_code, reply.text


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ([("X-Forwarded-Email", "alice")], (200, "alice OPERATOR")),
        ([("X-Forwarded-Email", "bob")], (200, "bob VIEWER")),
        ([("X-Forwarded-Email", "carol"), ("X-Forwarded-Groups", "hr, oncall")], (200, "carol OPERATOR")),
        ([("X-Forwarded-Email", "bob"), ("X-Forwarded-Groups", "data,oncall")], (200, "bob OPERATOR")),
    ],
    ids=["person", "viewer", "group", "highest role"],
)
def test_person_has_the_highest_role(headers, expected) -> None:
    """The role follows from the name and the groups that the proxy sends."""
    assert ask(Identified(who, LOGIN), headers) == expected


@pytest.mark.parametrize(
    ("headers", "address", "status"),
    [
        ([], "10.1.2.3", 401),
        ([("X-Forwarded-Email", " ")], "10.1.2.3", 401),
        ([("X-Forwarded-Email", "a" * 201)], "10.1.2.3", 401),
        ([("X-Forwarded-Email", "bob"), ("X-Forwarded-Email", "alice")], "10.1.2.3", 401),
        ([("X-Forwarded-Email", "mallory")], "10.1.2.3", 403),
        ([("X-Forwarded-Email", "group:oncall")], "10.1.2.3", 403),
        ([("X-Forwarded-Groups", "oncall")], "10.1.2.3", 401),
        (
            [("X-Forwarded-Email", "bob"), ("X-Forwarded-Groups", "a"), ("X-Forwarded-Groups", "oncall")],
            "10.1.2.3",
            401,
        ),
        ([("X-Forwarded-Email", "alice")], "10.2.0.1", 403),
        ([("X-Forwarded-Email", "alice")], "unknown", 403),
    ],
    ids=[
        "nobody",
        "blank",
        "long",
        "two names",
        "no role",
        "name like a group",
        "group only",
        "two lists",
        "no proxy",
        "no address",
    ],
)
def test_requests_without_a_known_person_are_refused(headers, address, status) -> None:
    """Only a proxy may name people, one person for each request, and the person needs a role."""
    assert ask(Identified(who, LOGIN), headers, address)[0] == status


def test_ipv4_address_of_an_ipv6_socket_is_recognised() -> None:
    """A socket for both versions of IP shows IPv4 addresses as ::ffff:…."""
    assert ask(Identified(who, LOGIN), [("X-Forwarded-Email", "alice")], "::ffff:10.1.2.3")[0] == 200


def test_health_check_needs_no_person() -> None:
    """A supervisor asks without the proxy."""
    assert ask(Identified(who, LOGIN), [], "192.0.2.1", "/healthz")[0] == 200


def test_without_a_login_there_is_no_person() -> None:
    """Headers name nobody if the console has no login."""
    assert ask(Identified(who, None), [("X-Forwarded-Email", "alice")]) == (200, "nobody")


@pytest.mark.parametrize(
    ("fetch_site", "origin", "expected"),
    [
        ("same-origin", None, True),
        ("same-site", "https://console.example", False),
        ("cross-site", "https://console.example", False),
        ("none", None, False),
        (None, "https://console.example", True),
        (None, "https://CONSOLE.example", True),
        (None, "https://console.example:8443", False),
        (None, "https://evil.example", False),
        (None, "null", False),
        (None, "http://[", False),
        (None, None, False),
    ],
)
def test_only_pages_of_the_console_may_act(fetch_site, origin, expected) -> None:
    """A form of another site is recognised by the headers of the browser."""
    assert is_same_origin(fetch_site, origin, "console.example") is expected


def written(folder: Path, text: str) -> Path:
    path = folder / "sparkfuse.yaml"
    path.write_text(text)
    return path


def test_login_is_read_from_the_configuration(tmp_path) -> None:
    """Without a list of viewers, everybody whom the proxy lets in may read."""
    path = written(
        tmp_path,
        "login: {user_header: X-Forwarded-Email, proxies: [127.0.0.1], operators: ['group:oncall']}",
    )
    found = read_login(path)

    assert found is not None
    assert found.accepts("127.0.0.1")
    assert not found.accepts("127.0.0.2")
    assert found.role_of("somebody", []) == Role.VIEWER
    assert found.role_of("somebody", ["oncall"]) == Role.OPERATOR


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("login: {proxies: [10.0.0.1]}", "needs user_header"),
        ("login: {user_header: X}", "needs proxies"),
        ("login:", "needs user_header"),
        ("login: {}", "needs user_header"),
        ("login: {user_header: X, proxies: []}", "at least one address"),
        ("login: {user_header: 'X:', proxies: [10.0.0.1]}", "name of an HTTP header"),
        ("login: {user_header: X, groups_header: Größe, proxies: [10.0.0.1]}", "name of an HTTP header"),
        ("login: {user_header: X, proxies: 10.0.0.1}", "must be a list"),
        ("login: {user_header: X, proxies: [10.0.0.1/8]}", "must be an address or a network"),
        ("login: {user_header: X, proxies: [proxy.example]}", "must be an address or a network"),
        ("login: {user_header: X, proxies: [10.0.0.1], approvers: [a]}", "approvers"),
        ("login: {user_header: X, proxies: [10.0.0.1], operators: [1]}", "must be a string"),
    ],
)
def test_wrong_configuration_is_refused(tmp_path, text, message) -> None:
    """A wrong section is an error at the start, which names the key."""
    with pytest.raises(RuleError, match=message):
        read_login(written(tmp_path, text))


def test_no_section_means_no_login(tmp_path) -> None:
    """Without the section, the console has no login."""
    assert read_login(None) is None
    assert read_login(written(tmp_path, "owners: []")) is None
