"""Tests each cluster manager's client with an HTTP server that answers as documented, and with errors."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from sparkfuse_native_analytics.fuse_actuator.cluster_manager import (
    Application,
    Ended,
    ManagerError,
    Running,
    Unknown,
    documented_answers,
    look,
)
from sparkfuse_native_analytics.fuse_actuator.databricks import Databricks
from sparkfuse_native_analytics.fuse_actuator.kubernetes import Kubernetes
from sparkfuse_native_analytics.fuse_actuator.manager_http import Address, ManagerHttp
from sparkfuse_native_analytics.fuse_actuator.standalone import Standalone
from sparkfuse_native_analytics.fuse_actuator.yarn import Yarn
from tests.manager_servers import (
    TOKEN,
    DatabricksServer,
    KubernetesServer,
    ManagerServer,
    StandaloneServer,
    YarnServer,
    running,
)

STARTED = "2026-11-25T02:00:00Z"
STARTED_MS = 1_795_572_000_000
RUN_ID = 108_201
IDS = {
    "kubernetes": "spark-7f6a1c",
    "yarn": "application_1795220000000_0042",
    "databricks": "app-20261125020000-0000",
    "standalone": "app-20261125020000-0007",
}
SERVERS: dict[str, Any] = {
    "kubernetes": KubernetesServer,
    "yarn": YarnServer,
    "databricks": DatabricksServer,
    "standalone": StandaloneServer,
}


def application(backend, **changes):
    settings = {"spark.databricks.job.runId": str(RUN_ID)} if backend == "databricks" else {}
    return Application(
        **{"app_id": IDS[backend], "attempt": 1, "start_ms": STARTED_MS, "settings": settings, **changes}
    )


class Stage:
    """One manager's client with its server; the application of ``IDS`` runs."""

    def __init__(self, backend: str, folder: Path) -> None:
        self.backend, self.app = backend, application(backend)
        self.interface: Any = SERVERS[backend]()
        self.server = ManagerServer(self.interface)
        self.token = folder / "token"
        self.token.write_text(f"{TOKEN}\n")

    def run(self) -> None:
        """Let the server report the application as running."""
        started = STARTED if self.backend == "kubernetes" else STARTED_MS
        arguments = {"kubernetes": (self.app.app_id, "uid-1", started), "databricks": (RUN_ID, started)}
        self.interface.add(*arguments.get(self.backend, (self.app.app_id, started)))

    def manager(self, answer_seconds=5.0):
        """Return the manager's client, which queries the server."""
        http = ManagerHttp(Address(self.server.url, self.token), answer_seconds)
        makers = {"kubernetes": lambda: Kubernetes(http, ["other", "jobs"]), "yarn": lambda: Yarn(http, "sparkfuse"),
                  "databricks": lambda: Databricks(http), "standalone": lambda: Standalone(http)}  # fmt: skip
        return makers[self.backend]()


@pytest.fixture(params=IDS)
def stage(request, tmp_path):
    made = Stage(request.param, tmp_path)
    with running(made.server):
        made.run()
        yield made


def make(backend, tmp_path):
    return Stage(backend, tmp_path)


def test_running_application_is_found_and_ended(stage):
    """A running application is found with its start time; after the stop, the manager reports it as ended."""
    manager = stage.manager()
    manager.check()
    found = look(manager, stage.app)

    assert isinstance(found, Running)
    assert found.started_ms == STARTED_MS

    manager.stop(stage.app, found.instance)

    assert isinstance(look(manager, stage.app), Ended)
    assert len(stage.server.changes()) == 1


def test_other_instance_is_never_ended(stage):
    """If the running instance is not the one that was found, the stop is not requested, or the manager refuses it."""
    with pytest.raises(ManagerError):
        stage.manager().stop(stage.app, "another-instance")

    assert isinstance(look(stage.manager(), stage.app), Running)
    assert stage.server.changes() == []


@pytest.mark.parametrize(
    "fault",
    [
        (401, {"message": "Unauthorized"}),
        (403, {"message": "Forbidden"}),
        (404, {"message": "not found"}),
        (429, {"message": "slow down"}),
        (500, b"internal error"),
        (503, b""),
        (302, b""),
        (307, b""),
        (200, b"<html>a login page</html>"),
        (200, b"[" * 100_000),
        (200, []),
        (200, {}),
        (200, {"items": None, "app": None, "state": None, "activeapps": None, "status": "ALIVE"}),
    ],
    ids=lambda fault: f"{fault[0]}-{str(fault[1])[:12]}",
)
def test_unclear_answer_is_unknown(stage, fault):
    """An error, a redirect or an answer with another structure never means that the application runs or has ended."""
    stage.server.fault = fault

    assert isinstance(look(stage.manager(), stage.app), Unknown)
    with pytest.raises(ManagerError), documented_answers():
        stage.manager().stop(stage.app, "uid-1")
    assert stage.server.changes() == []


def test_slow_manager_is_unknown(stage):
    """If a manager does not answer in time, the state is unknown; the reason contains the address but no token."""
    stage.server.slow = True
    began = time.monotonic()
    found = look(stage.manager(answer_seconds=0.2), stage.app)

    assert isinstance(found, Unknown)
    assert "no answer in time" in found.reason
    assert TOKEN not in found.reason
    assert time.monotonic() - began < 5


def test_unreachable_manager_is_unknown(stage):
    """If a manager is not reachable, the state is unknown, and the check at the start of the process fails."""
    stage.server.url = "http://127.0.0.1:1"
    manager = stage.manager()

    assert isinstance(look(manager, stage.app), Unknown)
    with pytest.raises(ManagerError):
        manager.check()


@pytest.mark.parametrize("backend", ["kubernetes", "databricks"])
def test_wrong_token_is_unknown(backend, tmp_path):
    """If the token is refused or missing, the state is unknown, not ended; the token is read again for each request."""
    stage = make(backend, tmp_path)
    with running(stage.server):
        stage.run()
        manager = stage.manager()
        stage.token.write_text("expired")
        refused = look(manager, stage.app)
        stage.token.unlink()
        missing = look(manager, stage.app)
        stage.token.write_text(TOKEN)

        assert isinstance(refused, Unknown)
        assert "401" in refused.reason
        assert isinstance(missing, Unknown)
        assert isinstance(look(manager, stage.app), Running)


def test_kubernetes_refuses_a_uid_that_changed_meanwhile(tmp_path):
    """If the pod is replaced between reading and deleting, the API server answers 409 and the new pod lives."""
    stage = make("kubernetes", tmp_path)
    with running(stage.server):
        stage.run()

        def replaced(request):
            if request.method == "DELETE":
                stage.interface.pods[0]["metadata"]["uid"] = "uid-2"
            return KubernetesServer.__call__(stage.interface, request)

        stage.server.answer = replaced
        with pytest.raises(ManagerError, match="409"):
            stage.manager().stop(stage.app, "uid-1")

        assert [pod["metadata"]["uid"] for pod in stage.interface.pods] == ["uid-2"]


@pytest.mark.parametrize(
    ("change", "expected", "attempt"),
    [
        ({"phase": "Pending"}, Unknown, None),
        ({"phase": "Succeeded"}, Ended, None),
        ({"phase": "Failed"}, Ended, None),
        ({"containerStatuses": []}, Unknown, None),
        ({"containerStatuses": [{"name": "spark-kubernetes-driver", "state": {"waiting": {}}}]}, Unknown, None),
        ({"containerStatuses": [{"name": "a", "state": {}}, {"name": "b", "state": {}}]}, Unknown, None),
        ({"containerStatuses": [{"name": "sidecar", "state": {"running": {}}}, {
            "name": "spark-kubernetes-driver", "restartCount": 2, "state": {"running": {"startedAt": STARTED}}}]},
         Running, 3),
    ],
)  # fmt: skip
def test_kubernetes_reads_the_state_of_the_driver(tmp_path, change, expected, attempt):
    """Only a running driver container counts as running; a restarted container is another attempt."""
    stage = make("kubernetes", tmp_path)
    with running(stage.server):
        stage.interface.add(stage.app.app_id, "uid-1", STARTED, **change)
        found = look(stage.manager(), stage.app)

        assert isinstance(found, expected)
        assert getattr(found, "attempt", None) == attempt


def test_kubernetes_with_two_drivers_is_unknown(tmp_path):
    """If two pods have the labels of one application, or a pod is being deleted, the state is unknown."""
    stage = make("kubernetes", tmp_path)
    with running(stage.server):
        stage.run()
        stage.interface.terminating = True
        stage.manager().stop(stage.app, "uid-1")

        assert isinstance(look(stage.manager(), stage.app), Unknown)

        stage.interface.pods[0]["metadata"].pop("deletionTimestamp")
        stage.interface.add(stage.app.app_id, "uid-2", STARTED, namespace="other")

        assert isinstance(look(stage.manager(), stage.app), Unknown)


@pytest.mark.parametrize(
    ("state", "expected"),
    [("ACCEPTED", Unknown), ("NEW", Unknown), ("RUNNING", Running), ("FINISHED", Ended), ("FAILED", Ended),
     ("KILLED", Ended)],
)  # fmt: skip
def test_yarn_reads_state_and_latest_attempt(tmp_path, state, expected):
    """Only the state RUNNING counts as running, and the attempt is the latest one."""
    stage = make("yarn", tmp_path)
    with running(stage.server):
        stage.interface.add(stage.app.app_id, STARTED_MS, attempt=2)
        stage.interface.app["state"] = state
        found = look(stage.manager(), stage.app)

        assert isinstance(found, expected)
        if isinstance(found, Running):
            assert (found.attempt, found.instance) == (2, "appattempt_1795220000000_0042_000002")
        assert {request.query["user.name"] for request in stage.server.requests} == {"sparkfuse"}


def test_yarn_reads_the_attempt_again_before_the_kill(tmp_path):
    """An attempt that began after the application was found is never killed."""
    stage = make("yarn", tmp_path)
    with running(stage.server):
        stage.run()
        found = look(stage.manager(), stage.app)
        stage.interface.add(stage.app.app_id, STARTED_MS, attempt=2)

        with pytest.raises(ManagerError, match="another instance runs"):
            stage.manager().stop(stage.app, found.instance)
        assert stage.server.changes() == []


@pytest.mark.parametrize("app_id", ["application_1/../../x", "spark-1", "application_1_2?user.name=root"])
def test_yarn_asks_only_for_its_own_ids(tmp_path, app_id):
    """An id that is not a YARN application id never becomes part of an address."""
    stage = make("yarn", tmp_path)
    with running(stage.server):
        found = look(stage.manager(), application("yarn", app_id=app_id))

        assert isinstance(found, Unknown)
        assert stage.server.requests == []


ACTIVE = {"state": {"life_cycle_state": "RUNNING"}}
OVER = {"state": {"life_cycle_state": "TERMINATED"}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tasks": [ACTIVE, OVER]}, Running),
        ({"tasks": [ACTIVE, ACTIVE]}, Unknown),
        ({"tasks": [{**ACTIVE, "existing_cluster_id": "0923-1"}]}, Unknown),
        ({"cluster_spec": {"existing_cluster_id": "0923-1"}}, Unknown),
        ({"cluster_spec": {"new_cluster": {}}}, Running),
        ({"state": {"life_cycle_state": "TERMINATING"}}, Unknown),
        ({"state": {"life_cycle_state": "QUEUED"}}, Unknown),
        ({"state": {"life_cycle_state": "INTERNAL_ERROR"}}, Ended),
        ({"state": {"life_cycle_state": "SKIPPED"}}, Ended),
    ],
)
def test_databricks_cancels_only_a_run_that_ends_alone(tmp_path, changes, expected):
    """If a run has several active tasks, or uses a cluster that it does not own, its state is unknown."""
    stage = make("databricks", tmp_path)
    with running(stage.server):
        stage.interface.add(RUN_ID, STARTED_MS, **changes)

        assert isinstance(look(stage.manager(), stage.app), expected)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"spark.databricks.job.runId": str(RUN_ID)}, Running),
        ({"spark.databricks.clusterUsageTags.clusterName": f"job-17-run-{RUN_ID}-Job_cluster"}, Running),
        ({"spark.databricks.clusterUsageTags.clusterName": "shared-etl"}, Unknown),
        ({"spark.databricks.job.runId": "1 OR 1"}, Unknown),
        ({}, Unknown),
    ],
)
def test_databricks_knows_the_run_by_its_settings(tmp_path, settings, expected):
    """The run id comes from the settings of the application; without a run id, the state is unknown."""
    stage = make("databricks", tmp_path)
    with running(stage.server):
        stage.run()

        assert isinstance(look(stage.manager(), application("databricks", settings=settings)), expected)


@pytest.mark.parametrize(
    ("status", "state", "expected"),
    [("ALIVE", "RUNNING", Running), ("ALIVE", "WAITING", Unknown), ("STANDBY", "RUNNING", Unknown),
     ("RECOVERING", "RUNNING", Unknown)],
)  # fmt: skip
def test_standalone_reads_only_the_active_master(tmp_path, status, state, expected):
    """If the master is on standby, or the application waits for executors, the state is unknown."""
    stage = make("standalone", tmp_path)
    with running(stage.server):
        stage.interface.add(stage.app.app_id, STARTED_MS, state)
        stage.interface.status = status

        assert isinstance(look(stage.manager(), stage.app), expected)


def test_certificate_that_cannot_be_verified_is_unknown(tmp_path):
    """TLS is always verified: no token is sent to a manager whose certificate is from an unknown authority."""
    server, certificate, tokens = _tls_server(tmp_path)
    try:
        (tmp_path / "token").write_text(TOKEN)
        http = ManagerHttp(Address(f"https://127.0.0.1:{server.server_address[1]}", tmp_path / "token"))
        unverified = look(Standalone(http), application("standalone"))
        trusted = ManagerHttp(Address(f"https://127.0.0.1:{server.server_address[1]}", tmp_path / "token", certificate))

        assert isinstance(unverified, Unknown)
        assert "certificate" in unverified.reason
        assert tokens == []
        assert look(Standalone(trusted), application("standalone")) == Unknown(
            f"the master does not know {IDS['standalone']}"
        )
        assert tokens == [f"Bearer {TOKEN}"]
    finally:
        server.shutdown()
        server.server_close()


def _tls_server(folder):
    """Start an HTTPS server; return it, the file of its certificate, and the list of tokens that it receives."""
    import datetime as dt
    import ipaddress
    import ssl
    import threading
    from http.server import BaseHTTPRequestHandler, HTTPServer

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.x509.oid import NameOID

    private = generate_private_key(SECP256R1())
    name, now = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")]), dt.datetime.now(dt.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(private.public_key())
        .serial_number(1).not_valid_before(now - dt.timedelta(days=1)).not_valid_after(now + dt.timedelta(days=1))
        .add_extension(address, critical=False).sign(private, hashes.SHA256())
    )  # fmt: skip
    (folder / "certificate.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(
        private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )

    tokens: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            tokens.append(self.headers.get("Authorization"))
            content = b'{"status": "ALIVE", "activeapps": [], "completedapps": []}'
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    class Server(HTTPServer):
        def handle_error(self, *_):
            pass  # a client that does not trust the certificate ends the connection

    server = Server(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, folder / "certificate.pem", tokens
