"""Tests the REST API over real HTTP and a real store: answers, errors, hostile parameters, the rate limit."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import quote

import jsonschema
import pytest
import requests

from sparkfuse_console.rest import RateLimit
from sparkfuse_native_analytics.queries.cursor import encode
from sparkfuse_native_analytics.queries.openapi import openapi
from sparkfuse_native_analytics.queries.questions import QUESTIONS
from tests.console_server import serving
from tests.integration.console.rows import HOSTILE_APP, HOSTILE_FINDING
from tests.integration.dashboards.scenario import APP

ROOT = Path(__file__).parents[3]
HOSTILE = ["' OR 1=1 --", "%", "\x00", "../../etc/passwd", "{app_id:String}", "数\u202e", "a" * 299]


def problem(reply: requests.Response, status: int) -> str:
    """Return the detail of an error, which must be problem+json."""
    assert reply.status_code == status
    assert reply.headers["Content-Type"] == "application/problem+json"
    found = reply.json()
    jsonschema.validate(found, openapi()["components"]["schemas"]["Problem"])
    assert found["status"] == status
    return str(found["detail"])


def test_document_is_published(console):
    """The OpenAPI document is that of the query core, and has each address."""
    reply = console.get("/api/openapi.json")

    assert reply.json() == json.loads(json.dumps(openapi()))
    assert len(reply.json()["paths"]) == len(QUESTIONS)


def test_each_address_answers(console, real_run):
    """Each address of the document answers about a run, a job or a finding, also if the id has a slash."""
    ids = {"app_id": HOSTILE_APP, "job_key": "hostile/job", "finding_id": HOSTILE_FINDING}
    for question in QUESTIONS:
        path = question.path.format(**{name: quote(value, safe="") for name, value in ids.items()})
        queries = {"compare_runs": f"?before={real_run.app_id}&after={quote(APP)}", "search": "?text=hostile"}
        query = queries.get(question.name, "")
        reply = console.get(f"/api/v1{path}{query}")

        assert (question.name, reply.status_code) == (question.name, 200)
        assert reply.headers["Content-Type"] == "application/json"
        assert reply.headers["X-Content-Type-Options"] == "nosniff"
        assert reply.text.isascii()


def test_examples_of_the_documentation_work(console, slow_run):
    """Each example of docs/api.md prints a JSON document that is no error."""
    block = re.search(r"```sh\n(.*?)```", (ROOT / "docs/api.md").read_text(), re.DOTALL)[1]
    commands = [line.split("  #")[0].strip() for line in block.splitlines() if line.startswith("curl")]
    usual, slow = (each.app_id for each in slow_run)
    for command in commands:
        known = command.replace("before=app-1&after=app-2", f"before={usual}&after={slow}")
        shown = subprocess.run(
            ["bash", "-c", known],
            env={**os.environ, "api": f"{console.url}/api/v1"},
            capture_output=True,
            text=True,
            check=True,
        )
        answer = json.loads(shown.stdout)

        assert not isinstance(answer.get("status"), int), answer  # an error has the status of HTTP
    assert len(commands) == 5


def test_run_is_the_same_as_on_its_page(console):
    """The API has the numbers that the page of the run shows."""
    found = console.get(f"/api/v1/runs/{APP}").json()

    assert found["run"]["finished_tasks"] == 920
    assert found["run"]["completeness"] is not None
    assert found["findings"][0]["runs"][0]["evidence"]


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_parameters_select_nothing(console, value):
    """Quotes, wildcards, paths and control characters have no special meaning in a filter or an id."""
    text = quote(value, safe="")

    assert console.get(f"/api/v1/runs?days=400&cluster={text}").json()["runs"] == []
    assert console.get(f"/api/v1/findings?team={text}").json()["findings"] == []
    assert "no application" in problem(console.get(f"/api/v1/runs/x{text}"), 404)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("runs?limit=0", "limit is wrong"),
        ("runs?limit=1e3", "limit is wrong"),
        ("runs?days=9999999999999999999999", "days is wrong"),
        ("runs?order=1", "order is unknown"),
        ("runs?limit=1&limit=2", "limit is given more than once"),
        (f"runs/{APP}?app_id=other", "app_id is given more than once"),
        ("runs?job=" + "x" * 301, "job is wrong"),
        ("runs?cursor=x", "not one of runs"),
        (f"runs?cursor={encode('findings', (1, 1, 'a'))}", "not one of runs"),
        ("comparison?before=a", "after is required"),
    ],
)
def test_wrong_parameters_are_named(console, path, message):
    """A wrong parameter has status 400 and a sentence that names it."""
    assert message in problem(console.get(f"/api/v1/{path}"), 400)


def test_other_addresses_and_methods_are_refused(console):
    """An unknown address has status 404, another method 405, and another host 421."""
    assert "openapi.json" in problem(console.get("/api/v2/runs"), 404)
    assert "only GET" in problem(requests.post(f"{console.url}/api/v1/runs", timeout=30), 405)
    assert console.get("/api/v1/runs", Host="evil.example").status_code == 421


def test_store_that_does_not_answer_is_503():
    """Without a store, the status is 503, and the sentence names the setting."""
    with serving("http://127.0.0.1:1") as console:
        assert "SPARKFUSE_CLICKHOUSE_URL" in problem(console.get("/api/v1/runs"), 503)


def test_too_many_requests_wait(console, monkeypatch):
    """After the burst, requests have status 429 and the seconds to wait, until time has passed."""
    now = [0.0]
    limit = RateLimit(2.0, 3, lambda: now[0])
    waits = [limit.wait_seconds() for _ in range(5)]
    now[0] = 0.5

    assert waits == [0, 0, 0, 1, 1]
    assert limit.wait_seconds() == 0
    monkeypatch.setattr("sparkfuse_console.rest.BURST", 1)
    monkeypatch.setattr("sparkfuse_console.rest.REQUESTS_PER_SECOND", 0.001)
    with serving("http://127.0.0.1:1") as other:
        other.get("/api/v1/runs")
        reply = other.get("/api/v1/runs")
    assert "wait" in problem(reply, 429)
    assert int(reply.headers["Retry-After"]) > 1
