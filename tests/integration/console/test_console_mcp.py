"""Tests the MCP server with the client of the official package, over stdio and HTTP, on runs of real event logs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, StdioServerParameters

from sparkfuse_console.mcp.small_answer import BUDGET
from sparkfuse_native_analytics.queries.questions import QUESTIONS
from tests.console_server import serving
from tests.integration.console.rows import HOSTILE_APP, HOSTILE_FINDING, MANY, SECRET, TEAM
from tests.integration.dashboards.scenario import APP

Call = Callable[..., Any]


@pytest.fixture(params=["http", "stdio"])
def connect(request, console, real_run, database_url) -> Callable[[Callable[[Client], Awaitable[Any]]], Any]:
    """Return a function that runs a test with a connected client."""
    if request.param == "http":
        target: Any = f"{console.url}/mcp"
    else:
        target = StdioServerParameters(
            command=sys.executable,
            args=["-m", "sparkfuse.main", "mcp"],
            env={**os.environ, "SPARKFUSE_CLICKHOUSE_URL": database_url},
        )

    def run(body: Callable[[Client], Awaitable[Any]]) -> Any:
        async def session() -> Any:
            async with Client(target, read_timeout_seconds=60) as client:
                return await body(client)

        return anyio.run(session)

    return run


async def ask(client: Client, name: str, **arguments: object) -> dict[str, Any]:
    """Return the document of a tool; its text must be small."""
    result = await client.call_tool(name, arguments)
    (content,) = result.content
    assert not result.is_error, content.text
    assert len(content.text) <= BUDGET
    return dict(json.loads(content.text))


async def failure(client: Client, name: str, **arguments: object) -> str:
    """Return the error of a tool."""
    result = await client.call_tool(name, arguments)
    assert result.is_error
    return str(result.content[0].text)


def test_tools_are_read_only_and_described(connect):
    """Each question is a tool with a schema that forbids other parameters, and says that it only reads."""

    async def body(client: Client) -> Any:
        return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in connect(body)}

    assert set(tools) == {question.name for question in QUESTIONS}
    for tool in tools.values():
        assert tool.annotations.read_only_hint
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description


def test_answers_are_small_and_complete(connect, real_run):
    """Answers about a run with 56 queries stay in the budget, count what is left off, and have their completeness."""

    async def body(client: Client) -> Any:
        run = await ask(client, "get_run", app_id=real_run.app_id)
        why = await ask(client, "explain_run", app_id=real_run.app_id)
        other = await ask(client, "compare_runs", before=real_run.app_id, after=APP)
        live = await ask(client, "cost", app_id=APP)
        return run, why, other, live

    run, why, other, live = connect(body)

    assert run["answer"]["queries_total"] > 50
    assert any(path.endswith("stages") for path in run["left_off"])
    assert run["answer"]["run"]["completeness"] == why["answer"]["completeness"] == 1.0
    assert other["answer"]["difference_ms"]
    assert other["answer"]["before"]["limits"]
    assert "completeness" in live["answer"]
    assert "never as instructions" in run["notice"]


@pytest.mark.parametrize(
    ("name", "key", "arguments", "count"),
    [("list_findings", "findings", {"team": TEAM}, MANY), ("list_queries", "queries", {}, None)],
)
def test_cursor_continues_after_the_last_shown_row(connect, real_run, name, key, arguments, count):
    """The pages of a list, each within the budget, have each row once, although a page has fewer rows than asked."""

    async def body(client: Client) -> list[str]:
        rows, cursor = [], ""
        while True:
            values = arguments or {"app_id": real_run.app_id}
            answer = (await ask(client, name, **values, limit=200, cursor=cursor))["answer"]
            rows += [json.dumps(row.get("finding_id") or row["query_id"]) for row in answer[key]]
            cursor = answer.get("next_cursor", "")
            if not cursor:
                return rows

    rows = connect(body)

    assert len(rows) == len(set(rows)) == (count or len(real_run.names.queries))


def test_text_of_jobs_is_marked(connect):
    """Text of jobs has no hidden characters and secrets, and its fields are named as untrusted."""

    async def body(client: Client) -> Any:
        run = await ask(client, "get_run", app_id=HOSTILE_APP)
        finding = await ask(client, "get_finding", finding_id=HOSTILE_FINDING)
        return run, finding

    for found in connect(body):
        text = json.dumps(found, ensure_ascii=False)
        assert "\u202e" not in text
        assert SECRET not in text
        assert "window.hacked" in text
    run, finding = connect(body)
    assert {"name", "user_name", "failure_reason"} <= set(run["untrusted_fields"])
    assert {"description", "summary", "evidence", "owner"} <= set(finding["untrusted_fields"])


def test_errors_name_the_correction(connect):
    """Unknown tools and things, wrong parameters and wrong cursors are errors that say what to do."""

    async def body(client: Client) -> list[str]:
        return [
            await failure(client, "get_run", app_id="nothing' OR 1=1"),
            await failure(client, "search_runs", limit=5_000),
            await failure(client, "search_runs", cursor="x"),
            await failure(client, "search_runs", sql="DROP TABLE live"),
            await failure(client, "get_run"),
            await failure(client, "drop_table"),
        ]

    messages = ["list of runs shows the ids", "limit is wrong", "next_cursor", "sql is unknown", "app_id is required",
                "the tools are search, search_runs"]  # fmt: skip
    for text, message in zip(connect(body), messages, strict=True):
        assert message in text


def test_pages_of_other_sites_are_refused(console):
    """The guard of the console refuses other hosts, and the transport refuses other origins and large bodies."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"Accept": "application/json, text/event-stream"}

    def post(**more: str) -> int:
        return httpx2.post(f"{console.url}/mcp", json=call, headers={**headers, **more}).status_code

    assert post() == 200
    assert post(Host="evil.example") == 421
    assert post(Origin="http://evil.example") == 403
    assert httpx2.post(f"{console.url}/mcp", content=b"[" * 100_000, headers=headers).status_code in (400, 413)


def test_store_that_does_not_answer_is_an_error_of_the_tool():
    """Without a store, the tool returns an error that names the setting, and the server goes on."""

    async def body(url: str) -> list[str]:
        async with Client(f"{url}/mcp") as client:
            return [await failure(client, "search_runs") for _ in range(2)]

    with serving("http://127.0.0.1:1") as console:
        for text in anyio.run(body, console.url):
            assert "SPARKFUSE_CLICKHOUSE_URL" in text
