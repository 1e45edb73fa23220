"""Tests verdicts that people give in the console, behind a proxy with a login, with a real broker and browser."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import requests
from confluent_kafka import Producer
from selenium.webdriver.common.by import By

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts import links
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics import topic_records
from sparkfuse_native_analytics.topic_records import TopicWriter, read_all
from tests.browser import chromium
from tests.console_server import RunningConsole, serving
from tests.integration.console.rows import HOSTILE_FINDING
from tests.kafka import settings_of
from tests.waiting import wait_for

FINDING = "a1b2c3d4e5f60718"
LOGIN = """
login:
  user_header: X-Forwarded-Email
  groups_header: X-Forwarded-Groups
  proxies: [127.0.0.1]
  viewers: ["*"]
  operators: ["group:oncall"]
"""
OPERATOR = {"X-Forwarded-Email": "alice@example.com", "X-Forwarded-Groups": "data,oncall"}
VIEWER = {"X-Forwarded-Email": "bob@example.com"}


@pytest.fixture(scope="module")
def broker(kafka_bootstrap: str) -> Settings:
    """Return the settings of a broker with all topics."""
    settings = settings_of(kafka_bootstrap, f"acts-{uuid.uuid4().hex[:8]}")
    ensure_topics(settings)
    return settings


@pytest.fixture(scope="module")
def with_login(fleet, database_url: str, broker: Settings, tmp_path_factory) -> Iterator[RunningConsole]:
    """Return a console with a login, whose proxy is this test."""
    configuration = tmp_path_factory.mktemp("login") / "sparkfuse.yaml"
    configuration.write_text(LOGIN)
    with serving(
        database_url,
        SPARKFUSE_CONFIG=str(configuration),
        SPARKFUSE_KAFKA_BOOTSTRAP=broker.kafka_bootstrap,
        SPARKFUSE_TOPIC_PREFIX=broker.topic_prefix,
    ) as running:
        yield running


def verdicts(broker: Settings) -> list[dict[str, object]]:
    return [json.loads(each.content or b"{}") for each in read_all(broker, "feedback")]


def post(console: RunningConsole, finding_id: str, form: dict[str, str], **headers: str) -> requests.Response:
    return requests.post(
        f"{console.url}/verdicts/{quote(finding_id, safe='')}",
        data=form,
        headers={"Origin": console.url, **headers},
        timeout=60,
        allow_redirects=False,
    )


def test_operator_gives_a_verdict_in_the_browser(with_login, broker) -> None:
    """A click on the page of a finding records the verdict with the name that the proxy sent."""
    before = len(verdicts(broker))
    with chromium() as browser:
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": OPERATOR})
        browser.get(f"{with_login.url}{links.finding_url('', FINDING)}")
        browser.find_element(By.NAME, "note").send_keys("the bank's file was late")
        browser.find_element(By.XPATH, "//button[@value='not-useful']").click()
        wait_for(lambda: "recorded=not-useful" in browser.current_url, 60, "the page after the verdict")
        shown = browser.find_element(By.TAG_NAME, "body").text
    (record,) = verdicts(broker)[before:]

    assert "Your verdict was recorded: not-useful" in shown
    assert "alice@example.com (operator)" in shown
    assert {name: record[name] for name in ("finding_id", "person", "verdict", "note")} == {
        "finding_id": FINDING,
        "person": "alice@example.com",
        "verdict": "not-useful",
        "note": "the bank's file was late",
    }


def test_finding_with_a_hostile_id_gets_the_verdict(with_login, broker) -> None:
    """The id of a finding may contain a slash and markup."""
    reply = post(with_login, HOSTILE_FINDING, {"verdict": "useful"}, **OPERATOR)

    assert reply.status_code == 303
    assert verdicts(broker)[-1]["finding_id"] == HOSTILE_FINDING
    assert with_login.get(reply.headers["location"], **OPERATOR).status_code == 200


@pytest.mark.parametrize(
    ("finding_id", "form", "headers", "status"),
    [
        (FINDING, {"verdict": "useful"}, VIEWER, 403),
        (FINDING, {"verdict": "useful"}, {}, 401),
        (FINDING, {"verdict": "useful"}, {**OPERATOR, "Origin": "https://evil.example"}, 403),
        (FINDING, {"verdict": "useful"}, {**OPERATOR, "Sec-Fetch-Site": "cross-site"}, 403),
        (FINDING, {"verdict": "delete"}, OPERATOR, 400),
        (FINDING, {}, OPERATOR, 400),
        (FINDING, {"verdict": "useful", "note": "x" * 1001}, OPERATOR, 400),
        (FINDING, {"verdict": "useful", "note": "x" * 20_000}, OPERATOR, 413),
        ("unknown", {"verdict": "useful"}, OPERATOR, 404),
    ],
    ids=["viewer", "nobody", "other origin", "other site", "verdict", "empty", "long note", "large form", "finding"],
)
def test_refused_verdicts_record_nothing(with_login, broker, finding_id, form, headers, status) -> None:
    """A viewer, a page of another site and a wrong form change nothing."""
    person = f"{status}@example.com"
    named = {**headers, "X-Forwarded-Email": person} if "X-Forwarded-Email" in headers else headers
    reply = post(with_login, finding_id, form, **named)

    assert reply.status_code == status
    assert person not in {each["person"] for each in verdicts(broker)}


def test_writer_stores_all_records_with_one_producer(broker, monkeypatch) -> None:
    """The second record of a server needs no second connection to Kafka."""
    opened: list[Producer] = []

    def open_producer(configuration: dict[str, object]) -> Producer:
        opened.append(Producer(configuration))
        return opened[-1]

    monkeypatch.setattr(topic_records, "Producer", open_producer)
    before = len(verdicts(broker))
    writer = TopicWriter(broker)
    for number in range(3):
        writer.append("feedback", f"key-{number}", b'{"person":"writer@example.com"}')

    assert len(opened) == 1
    assert len(verdicts(broker)) == before + 3


def test_viewer_reads_and_sees_no_buttons(with_login) -> None:
    """A viewer sees the page of the finding with the commands instead of the buttons."""
    page = with_login.get(links.finding_url("", FINDING), **VIEWER).text

    assert "sparkfuse feedback" in page
    assert 'method="post"' not in page
    assert "bob@example.com (viewer)" in page


@pytest.mark.parametrize("path", ["/", "/api/v1/runs", "/mcp", "/static/console.css"])
def test_nothing_is_served_without_a_person(with_login, path) -> None:
    """Pages, answers and tools need a person whom the proxy has named."""
    assert with_login.get(path).status_code == 401


def test_console_without_a_login_changes_nothing(console) -> None:
    """Headers of a client name nobody if the console has no login."""
    assert post(console, FINDING, {"verdict": "useful"}, **OPERATOR).status_code == 403


@pytest.mark.long  # the client waits ten seconds for the broker
def test_verdict_without_a_broker_is_an_error(fleet, database_url, tmp_path) -> None:
    """If Kafka is away, the person reads that nothing was recorded."""
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text(LOGIN)
    away = {"SPARKFUSE_CONFIG": str(configuration), "SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"}
    with serving(database_url, **away) as running:
        reply = post(running, FINDING, {"verdict": "useful"}, **OPERATOR)

    assert reply.status_code == 503
    assert "was not recorded" in reply.text
