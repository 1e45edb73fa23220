"""Tests the upload of the dashboards through Grafana's API; an error from Grafana is reported in one sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sparkfuse_dashboards.push import dashboards, main


class StandIn(ThreadingHTTPServer):
    """A server with the part of Grafana's API that the upload uses: folders by uid and POST /api/dashboards/db."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folders: dict[str, str] = {}
        self.dashboards: dict[str, dict] = {}
        self.token = "secret-token"
        self.refusal: tuple[int, str] | None = None

    @property
    def url(self) -> str:
        """Return the address of the server."""
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: StandIn

    def do_GET(self) -> None:
        uid = self.path.removeprefix("/api/folders/")
        known = self.server.folders.get(uid)
        self._answer(*((200, {"uid": uid, "title": known}) if known else (404, {"message": "folder not found"})))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            self._answer(401, {"message": "Invalid API key"})
        elif self.path == "/api/folders":
            self.server.folders[body["uid"]] = body["title"]
            self._answer(200, body)
        elif self.server.refusal:
            self._answer(self.server.refusal[0], {"message": self.server.refusal[1]})
        elif self.path == "/api/dashboards/db":
            self._save(body)
        else:
            self._answer(404, {"message": "Not found"})

    def _save(self, body) -> None:
        content = body["dashboard"]
        if body["folderUid"] not in self.server.folders or content.get("id") is not None or not content["title"]:
            return self._answer(400, {"message": "bad request data"})
        if content["uid"] in self.server.dashboards and not body["overwrite"]:
            return self._answer(412, {"message": "the dashboard has been changed by someone else"})
        self.server.dashboards[content["uid"]] = content
        return self._answer(200, {"uid": content["uid"], "url": f"/d/{content['uid']}/x", "status": "success"})

    def _answer(self, status, body) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_) -> None:
        """Log nothing."""


@pytest.fixture
def grafana(monkeypatch) -> Iterator[StandIn]:
    server = StandIn()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", server.token)
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_second_push_replaces_the_first(grafana, capsys) -> None:
    """After the first push, the folder contains all dashboards. A second push replaces the dashboards."""
    assert main(["--url", grafana.url]) == 0
    assert main(["--url", f"{grafana.url}/"]) == 0

    assert grafana.folders == {"sparkfuse": "Sparkfuse"}
    assert grafana.dashboards == {content["uid"]: content for content in dashboards().values()}
    assert f"{grafana.url}/d/sparkfuse-running-job/x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("token", "refusal", "message"),
    [
        pytest.param("wrong", None, "answered 401: ", id="wrong token"),
        pytest.param("secret-token", (400, "plugin is missing"), "answered 400: ", id="refused dashboard"),
        pytest.param("secret-token", (502, "bad gateway"), "answered 502: ", id="behind a broken proxy"),
    ],
)
def test_rejection_is_one_sentence(grafana, monkeypatch, capsys, token, refusal, message) -> None:
    """If Grafana rejects the dashboards, the exit code is 3 and the reason is printed."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", token)
    grafana.refusal = refusal

    assert main(["--url", grafana.url]) == 3
    error = capsys.readouterr().err
    assert message in error
    assert len(error.strip().splitlines()) == 1


def test_unreachable_grafana_is_one_sentence(monkeypatch, capsys, free_port) -> None:
    """If nothing answers at the address, the error is one sentence without a stack trace."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", "x")

    assert main(["--url", f"http://127.0.0.1:{free_port()}"]) == 3
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize(("token", "url"), [("", "http://127.0.0.1"), ("x", "grafana:3000")])
def test_missing_token_or_address_exits_with_2(monkeypatch, capsys, token, url) -> None:
    """Without token or address the exit code is 2 and the error names the setting."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", token)

    assert main(["--url", url]) == 2
    assert "SPARKFUSE_GRAFANA_TOKEN" in capsys.readouterr().err
