"""HTTP servers that answer as the documentation of cluster managers describes, including errors."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "secret-token"


@dataclass
class Request:
    """One request as the server received it."""

    method: str
    path: str
    query: dict[str, str]
    body: bytes
    token: str


Answer = tuple[int, object]


@dataclass
class ManagerServer:
    """A server that responds with ``answer(request)``, or always with ``fault`` if it is not None."""

    answer: Callable[[Request], Answer]
    requests: list[Request] = field(default_factory=list)
    fault: Answer | None = None
    release: threading.Event = field(default_factory=threading.Event)
    slow: bool = False
    url: str = ""

    def changes(self) -> list[Request]:
        """Return the requests that change something."""
        return [each for each in self.requests if each.method != "GET"]


@contextmanager
def running(server: ManagerServer) -> Iterator[ManagerServer]:
    """Answer requests until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            request = Request(self.command, parts.path, query, body, token)
            server.requests.append(request)
            if server.slow:
                server.release.wait(30)
            status, content = server.fault or server.answer(request)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if status in (302, 307):
                self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = do_DELETE = handle_one  # noqa: N815  names of http.server

        def log_message(self, *_: object) -> None:
            pass

    class Http(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            pass  # a client that does not wait for a slow answer ends the connection

    http = Http(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.release.set()
        http.shutdown()
        http.server_close()
        thread.join(10)


def _status(code: int, reason: str, message: str) -> Answer:
    return code, {"kind": "Status", "status": "Failure", "reason": reason, "message": message, "code": code}


class KubernetesServer:
    """The pods API of Kubernetes: lists pods by label, and deletes them with a precondition."""

    def __init__(self) -> None:
        self.pods: list[dict[str, Any]] = []
        self.terminating = False

    def add(self, app_id: str, uid: str, started: str, namespace: str = "jobs", **changes: Any) -> dict[str, Any]:
        """Add a running driver's pod and return it."""
        pod: dict[str, Any] = {
            "metadata": {"name": f"driver-{uid}", "namespace": namespace, "uid": uid,
                         "labels": {"spark-role": "driver", "spark-app-selector": app_id}},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "spark-kubernetes-driver", "restartCount": 0, "state": {"running": {"startedAt": started}}}]},
        }  # fmt: skip
        pod["status"].update(changes)
        self.pods.append(pod)
        return pod

    def __call__(self, request: Request) -> Answer:
        if request.token != TOKEN:
            return _status(401, "Unauthorized", "Unauthorized")
        before, _, name = request.path.partition("/pods/")
        namespace = before.removesuffix("/pods").rpartition("/")[2]
        of_namespace = [pod for pod in self.pods if pod["metadata"]["namespace"] == namespace]
        if request.method == "GET":
            wanted = dict(part.split("=") for part in request.query["labelSelector"].split(","))
            found = [pod for pod in of_namespace if wanted.items() <= pod["metadata"]["labels"].items()]
            return 200, {"kind": "PodList", "items": found}
        pod = next((each for each in of_namespace if each["metadata"]["name"] == name), None)
        if pod is None:
            return _status(404, "NotFound", f'pods "{name}" not found')
        wanted_uid = json.loads(request.body)["preconditions"]["uid"]
        if pod["metadata"]["uid"] != wanted_uid:
            return _status(409, "Conflict", "the UID in the precondition does not match the UID in record")
        if self.terminating:
            pod["metadata"]["deletionTimestamp"] = "2026-11-25T03:00:00Z"
        else:
            self.pods.remove(pod)
        return 200, pod


class YarnServer:
    """The applications API of YARN's ResourceManager: one application, its attempts, and its state."""

    def __init__(self) -> None:
        self.app: dict[str, Any] = {}
        self.attempts: list[dict[str, Any]] = []
        self.kills = True

    def add(self, app_id: str, started_ms: int, attempt: int = 1) -> None:
        """Make the server report an application that runs in this attempt."""
        self.app = {"id": app_id, "state": "RUNNING", "finalStatus": "UNDEFINED", "startedTime": started_ms}
        number = app_id.removeprefix("application_")
        self.attempts = [
            {"id": each, "startTime": started_ms, "finishedTime": 0, "appAttemptId": f"appattempt_{number}_{each:06d}"}
            for each in range(1, attempt + 1)
        ]

    def __call__(self, request: Request) -> Answer:
        path = request.path.removeprefix("/ws/v1/cluster/")
        if path == "info":
            return 200, {"clusterInfo": {"state": "STARTED"}}
        app_id, _, rest = path.removeprefix("apps/").partition("/")
        if app_id != self.app.get("id"):
            exception = {"exception": "NotFoundException", "message": f"app with id: {app_id} not found"}
            return 404, {"RemoteException": exception}
        if request.method == "PUT":
            if json.loads(request.body) != {"state": "KILLED"}:
                return 400, {"RemoteException": {"exception": "BadRequestException"}}
            if self.kills:
                self.app |= {"state": "KILLED", "finalStatus": "KILLED"}
            return 202, {"state": "ACCEPTED"}
        return 200, {"appAttempts": {"appAttempt": self.attempts}} if rest == "appattempts" else {"app": self.app}


class DatabricksServer:
    """The Jobs API of Databricks: one run, and its cancellation."""

    def __init__(self) -> None:
        self.run: dict[str, Any] = {}

    def add(self, run_id: int, started_ms: int, **changes: Any) -> None:
        """Make the server report a run that has not ended."""
        state = {"life_cycle_state": "RUNNING", "state_message": ""}
        self.run = {"run_id": run_id, "job_id": 17, "attempt_number": 0, "start_time": started_ms, "state": state,
                    **changes}  # fmt: skip

    def __call__(self, request: Request) -> Answer:
        if request.token != TOKEN:
            return 401, {"error_code": "UNAUTHENTICATED", "message": "invalid token"}
        if request.path == "/api/2.1/jobs/list":
            return 200, {"jobs": []}
        run_id = request.query.get("run_id") or str(json.loads(request.body)["run_id"])
        if run_id != str(self.run.get("run_id")):
            return 400, {"error_code": "INVALID_PARAMETER_VALUE", "message": f"Run {run_id} does not exist."}
        if request.path == "/api/2.1/jobs/runs/cancel":
            self.run["state"] = {"life_cycle_state": "TERMINATED", "result_state": "CANCELED"}
            return 200, {}
        return 200, self.run


class StandaloneServer:
    """The web interface of a standalone master: its list of applications, and the form that ends one."""

    def __init__(self) -> None:
        self.status = "ALIVE"
        self.active: list[dict[str, Any]] = []
        self.completed: list[dict[str, Any]] = []
        self.kills = True

    def add(self, app_id: str, started_ms: int, state: str = "RUNNING") -> None:
        """Make the server list a registered application."""
        self.active.append({"id": app_id, "starttime": started_ms, "name": "job", "state": state, "cores": 2})

    def __call__(self, request: Request) -> Answer:
        if request.method == "GET":
            return 200, {"status": self.status, "activeapps": self.active, "completedapps": self.completed}
        form = parse_qs(request.body.decode())
        for app in list(self.active):
            if self.kills and [app["id"]] == form["id"] and form["terminate"] == ["true"]:
                self.active.remove(app)
                self.completed.append({**app, "state": "KILLED"})
        return 302, b""
