"""The dashboards reach a Grafana as its API wants them; a Grafana that refuses is told in one sentence."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sparkfuse_dashboards.push import dashboards, main


class StandIn(ThreadingHTTPServer):
    """What of Grafana's API the push uses: folders by uid and POST /api/dashboards/db, checked as Grafana checks."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folders: dict[str, str] = {}
        self.dashboards: dict[str, dict] = {}
        self.token = "secret-token"
        self.refusal: tuple[int, str] | None = None

    @property
    def url(self) -> str:
        """Its address."""
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
        """Quiet: a test's output is its failures."""


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


def test_push_twice(grafana, capsys) -> None:
    """All dashboards arrive whole in the folder, and a second push overwrites the first."""
    assert main(["--url", grafana.url]) == 0
    assert main(["--url", f"{grafana.url}/"]) == 0

    assert grafana.folders == {"sparkfuse": "Sparkfuse"}
    assert grafana.dashboards == {content["uid"]: content for content in dashboards().values()}
    assert f"{grafana.url}/d/sparkfuse-running-job/x" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("token", "refusal", "said"),
    [
        pytest.param("wrong", None, "answered 401: ", id="wrong token"),
        pytest.param("secret-token", (400, "plugin is missing"), "answered 400: ", id="refused dashboard"),
        pytest.param("secret-token", (502, "bad gateway"), "answered 502: ", id="behind a broken proxy"),
    ],
)
def test_refusal_is_one_sentence(grafana, monkeypatch, capsys, token, refusal, said) -> None:
    """A Grafana that does not take them ends the push with exit code 3 and the reason."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", token)
    grafana.refusal = refusal

    assert main(["--url", grafana.url]) == 3
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1


def test_grafana_away(monkeypatch, capsys, free_port) -> None:
    """An address that nobody answers at is told, not traced."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", "x")

    assert main(["--url", f"http://127.0.0.1:{free_port()}"]) == 3
    assert "cannot be reached" in capsys.readouterr().err


@pytest.mark.parametrize(("token", "url"), [("", "http://127.0.0.1"), ("x", "grafana:3000")])
def test_wrong_call(monkeypatch, capsys, token, url) -> None:
    """Without token or address the exit code is 2 and the sentence says what to set."""
    monkeypatch.setenv("SPARKFUSE_GRAFANA_TOKEN", token)

    assert main(["--url", url]) == 2
    assert "SPARKFUSE_GRAFANA_TOKEN" in capsys.readouterr().err
