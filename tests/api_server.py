"""An API server of Kubernetes for tests: lists in pages, watches with bookmarks, and versions that expire.

It speaks the documented interface over HTTP (https://kubernetes.io/docs/reference/using-api/api-concepts/); no test
runs against a real API server.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Object = dict[str, Any]
GONE = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"}


@dataclass
class ApiServerDouble:
    """The objects of the server by path, and the requests that it received."""

    page: int = 2
    token: str = "secret-token"
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    broken: bytes = b""
    refused: int = 0
    url: str = ""
    _objects: dict[str, dict[str, Object]] = field(default_factory=dict)
    _events: list[tuple[int, str, Object]] = field(default_factory=list)
    _oldest: int = 0
    _version: int = 0
    _ended: int = 0
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, path: str, content: Object) -> None:
        """Add or replace an object."""
        self._change(path, "MODIFIED" if self._known(path, content) else "ADDED", content)

    def delete(self, path: str, content: Object) -> None:
        """Delete an object; ``content`` is its last state."""
        self._change(path, "DELETED", content)

    def bookmark(self, path: str) -> None:
        """Send a bookmark to the watches of a path."""
        self._change(path, "BOOKMARK", {"metadata": {}})

    def end_watches(self) -> None:
        """End all running watches, as the server does after their timeout."""
        with self._changed:
            self._ended += 1
            self._changed.notify_all()

    def forget_history(self) -> None:
        """Let every earlier version expire, and end all watches."""
        with self._changed:
            self._version += 1
            self._oldest = self._version
            self._events.clear()
        self.end_watches()

    def silently(self, path: str, content: Object, *, deleted: bool = False) -> None:
        """Change an object in the history that nobody can watch any more."""
        self._change(path, "DELETED" if deleted else "MODIFIED", content)
        self.forget_history()

    def lists(self, path: str) -> int:
        """Return the number of complete lists of a path."""
        return sum(asked == path and "watch" not in query and "continue" not in query for asked, query in self.requests)

    def watches(self, path: str) -> list[dict[str, str]]:
        """Return the parameters of the watches of a path."""
        return [query for asked, query in self.requests if asked == path and "watch" in query]

    def listed(self, path: str, query: dict[str, str]) -> Object:
        """Return one page of a list."""
        with self._changed:
            items = list(self._objects.get(path, {}).values())
            start = int(query.get("continue", "0"))
            end = start + min(self.page, int(query["limit"]))
            metadata = {"resourceVersion": str(self._version)}
            if end < len(items):
                metadata["continue"] = str(end)
            return {"kind": "List", "metadata": metadata, "items": items[start:end]}

    def events(self, path: str, version: int) -> Iterator[Object]:
        """Return the events after a version until the watch ends."""
        with self._changed:
            ended, version_sent = self._ended, version
            if version < self._oldest:
                yield {"type": "ERROR", "object": GONE}
                return
            while self._ended == ended:
                for number, kind, content in [each for each in self._events if each[0] > version_sent]:
                    version_sent = number
                    if content["path"] == path:
                        yield {"type": kind, "object": content["object"]}
                self._changed.wait(30)

    def _known(self, path: str, content: Object) -> bool:
        return content["metadata"]["name"] in self._objects.get(path, {})

    def _change(self, path: str, kind: str, content: Object) -> None:
        with self._changed:
            self._version += 1
            content = {**content, "metadata": {**content["metadata"], "resourceVersion": str(self._version)}}
            if kind == "DELETED":
                self._objects[path].pop(content["metadata"]["name"])
            elif kind != "BOOKMARK":
                self._objects.setdefault(path, {})[content["metadata"]["name"]] = content
            self._events.append((self._version, kind, {"path": path, "object": content}))
            self._changed.notify_all()


@contextmanager
def running(server: ApiServerDouble) -> Iterator[ApiServerDouble]:
    """Answer requests until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            server.requests.append((parts.path, query))
            if self.headers.get("Authorization") != f"Bearer {server.token}":
                self._answer(401, {"kind": "Status", "code": 401})
            elif server.refused:
                self._answer(server.refused, {"kind": "Status", "code": server.refused})
            elif "watch" not in query:
                self._answer(200, server.listed(parts.path, query))
            else:
                self._watch(parts.path, int(query["resourceVersion"]))

        def _watch(self, path: str, version: int) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            try:
                if server.broken:
                    self._chunk(server.broken)
                    server.broken, self.close_connection = b"", True  # without the last chunk
                    return
                for event in server.events(path, version):
                    self._chunk(json.dumps(event).encode() + b"\n")
                self._chunk(b"")
            except OSError:
                return  # the client has gone

        def _chunk(self, content: bytes) -> None:
            self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
            self.wfile.flush()

        def _answer(self, code: int, content: Object) -> None:
            body = json.dumps(content).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        server.url = f"http://127.0.0.1:{http.server_address[1]}"
        try:
            yield server
        finally:
            server.end_watches()
            http.shutdown()
            thread.join()


def spark_pod(name: str, app_id: str, executor_id: str, node: str = "", **status: Any) -> Object:
    """Return a pod as Spark creates it; an empty ``executor_id`` makes it the driver's."""
    role = {"spark-role": "executor", "spark-exec-id": executor_id} if executor_id else {"spark-role": "driver"}
    labels = {"spark-app-selector": app_id, **role}
    metadata = {"name": name, "namespace": "spark", "uid": f"uid-of-{name}", "labels": labels}
    return {
        "metadata": metadata,
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": "Running", **status},
    }


def terminated(reason: str, exit_code: int, name: str = "spark-kubernetes-executor") -> Object:
    """Return the state of a container that ended, for `containerStatuses`."""
    return {"name": name, "state": {"terminated": {"reason": reason, "exitCode": exit_code}}}


def node(name: str, *taints: str, zone: str = "", ready: str = "True") -> Object:
    """Return a node with taints."""
    labels = {"topology.kubernetes.io/zone": zone} if zone else {}
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in taints]},
        "status": {"conditions": [{"type": "Ready", "status": ready, "message": "as the kubelet says"}]},
    }
