"""Tests the pod watcher from the API server's answers to facts in real Kafka; the API server is a double."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client import REGISTRY
from typer.testing import CliRunner

from sparkfuse.commands.application import application
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_collectors.pods import process, watch
from sparkfuse_collectors.pods.api import ApiAddress
from sparkfuse_collectors.pods.process import Options, PodMetrics, watch_pods
from sparkfuse_collectors.ship.errors import UnavailableError
from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.topics import topics
from tests.api_server import ApiServerDouble, node, running, spark_pod, terminated
from tests.kafka import settings_of
from tests.unit.collectors.test_collectors_event_ids import event_id
from tests.waiting import wait_for

PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
SECONDS = 60


class Watcher:
    """A running pod watcher, its API server, and the facts that it sent."""

    def __init__(self, server: ApiServerDouble, bootstrap: str, prefix: str) -> None:
        self.server, self._facts = server, list[Fact]()
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "test", "enable.auto.commit": False})
        places = [TopicPartition(f"{prefix}.facts", number, 0) for number in range(topics()["facts"].partitions)]
        self._consumer.assign(places)

    def facts(self, count: int) -> list[Fact]:
        """Wait for ``count`` facts, and return them in the order in which they were sent."""

        def look() -> bool:
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self._facts.append(Fact.FromString(message.value() or b""))
            return len(self._facts) >= count

        wait_for(look, SECONDS, f"{count} facts")
        assert len(self._facts) == count
        return sorted(self._facts, key=lambda fact: fact.seq)

    def last(self, count: int) -> tuple[str, str, str]:
        """Wait for ``count`` facts, and return executor, node and cause of the last one."""
        changed = self.facts(count)[-1].pod_changed
        return changed.executor_id, changed.node, changed.cause

    def close(self) -> None:
        self._consumer.close()


@contextmanager
def watching(
    bootstrap: str, prefix: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *namespaces: str
) -> Iterator[Watcher]:
    """Run the watcher in a thread until the end of the block."""
    monkeypatch.setattr(watch, "LEAST_SECONDS", 0.05)
    monkeypatch.setattr(process, "PodMetrics", lambda: PodMetrics(registry()))
    settings, stop = settings_of(bootstrap, prefix), threading.Event()
    ensure_topics(settings)
    token = folder / "token"
    token.write_text("secret-token\n")
    with running(ApiServerDouble()) as server:
        server.put(NODES, node("worker-9", zone="eu-1a"))
        for number in "1234":
            server.put(PODS, spark_pod(f"etl-exec-{number}", "spark-1", number, "worker-9"))
        options = Options("prod-eu", ApiAddress(server.url, token), namespaces, "sales")
        thread = threading.Thread(target=watch_pods, args=(options, settings, stop))
        watcher = Watcher(server, bootstrap, prefix)
        thread.start()
        try:
            yield watcher
        finally:
            stop.set()
            watcher.close()
            thread.join(SECONDS)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def threads_end() -> Iterator[None]:
    """Fail if a test leaves a thread of the watcher, whose messages would appear in later tests."""
    yield
    wait_for(lambda: not [each for each in threading.enumerate() if each.name.startswith("watch-")], SECONDS, "threads")


def registry() -> Any:
    return type(REGISTRY)()


def test_facts_follow_the_changes(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lists in pages, events, bookmarks, expired versions and broken answers lead to one fact for each change."""
    with watching(kafka_bootstrap, topic_prefix, tmp_path, monkeypatch) as watcher:
        server = watcher.server
        wait_for(lambda: server.watches(PODS), SECONDS, "the watch")
        # Whether the node's zone is known with the first facts depends on which list arrived first.
        first = watcher.facts(4) if watcher.facts(4)[0].pod_changed.zone else watcher.facts(8)
        count = len(first)
        assert {fact.pod_changed.executor_id for fact in first} == set("1234")
        assert {fact.pod_changed.zone for fact in first[-4:]} == {"eu-1a"}

        killed = spark_pod("etl-exec-3", "spark-1", "3", "worker-9", containerStatuses=[terminated("OOMKilled", 137)])
        server.put(PODS, killed)
        assert watcher.last(count + 1) == ("3", "worker-9", "oom_killed")

        # After a bookmark, the next watch begins at its version, without a list.
        server.bookmark(PODS)
        watched = len(server.watches(PODS))
        server.end_watches()
        wait_for(lambda: len(server.watches(PODS)) > watched, SECONDS, "a new watch")
        assert int(server.watches(PODS)[-1]["resourceVersion"]) > int(server.watches(PODS)[0]["resourceVersion"])
        assert server.lists(PODS) == 1

        # A change that nobody watched is in the list after the version expired; a deleted pod is no fact.
        server.silently(PODS, killed, deleted=True)
        moved = spark_pod("etl-exec-5", "spark-1", "5", "worker-8")
        server.silently(PODS, moved)
        assert watcher.last(count + 2) == ("5", "worker-8", "")
        assert server.lists(PODS) >= 2

        # A torn answer and a refusal are repeated.
        server.broken = b'{"type": "MODIFIED", "object": {"meta'
        server.end_watches()
        wait_for(lambda: not server.broken, SECONDS, "the broken answer")
        server.refused = 503
        server.end_watches()
        before = len(server.requests)
        wait_for(lambda: len(server.requests) > before + 2, SECONDS, "refused requests")
        server.refused = 0
        server.put(NODES, node("worker-8", "aws-node-termination-handler/spot-itn"))
        assert watcher.last(count + 3) == ("5", "worker-8", "spot_notice")
        facts = watcher.facts(count + 3)

    assert [fact.seq for fact in facts] == list(range(len(facts)))
    assert {(fact.cluster, fact.app_id, fact.lane) for fact in facts} == {("prod-eu", "spark-1", "reserved")}
    assert [fact.event_id for fact in facts] == [event_id(fact) for fact in facts]
    assert {(fact.tenant, fact.app_start_ms, fact.app_attempt) for fact in facts} == {("sales", 0, 0)}


def test_load_on_the_api_server_is_bounded(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A watcher of a namespace lists its pods and the nodes once, in pages, and selects Spark's pods."""
    with watching(kafka_bootstrap, topic_prefix, tmp_path, monkeypatch, "spark") as watcher:
        server, path = watcher.server, "/api/v1/namespaces/spark/pods"
        server.put(path, spark_pod("etl-exec-9", "spark-1", "9", "worker-7"))
        assert watcher.last(1) == ("9", "worker-7", "")
        for number in range(20):
            server.put(path, spark_pod("etl-exec-9", "spark-1", "9", f"worker-{number}"))
        assert watcher.last(21)[1] == "worker-19"

    assert {asked for asked, _ in server.requests} == {path, NODES}
    assert (server.lists(path), server.lists(NODES), len(server.watches(path))) == (1, 1, 1)
    assert {query.get("labelSelector") for asked, query in server.requests if asked == path} == {"spark-app-selector"}
    assert all(query["limit"] == "500" for _, query in server.requests if "watch" not in query)
    assert all(query["timeoutSeconds"] == "300" for query in server.watches(path))


def test_silent_api_server_ends_the_process(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the API server refuses everything for longer than the limit, the error is one sentence with its answer."""
    monkeypatch.setattr(process, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(process, "PodMetrics", lambda: PodMetrics(registry()))
    settings = settings_of(kafka_bootstrap, topic_prefix)
    ensure_topics(settings)
    with running(ApiServerDouble(refused=403)) as server:
        token = tmp_path / "token"
        token.write_text("secret-token")
        with pytest.raises(UnavailableError, match="answers 403"):
            watch_pods(Options("prod-eu", ApiAddress(server.url, token)), settings, threading.Event())


def test_missing_certificates_are_named(
    kafka_bootstrap: str, topic_prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong path of the certificates does not end the threads silently."""
    monkeypatch.setattr(process, "PATIENCE_SECONDS", 0.5)
    monkeypatch.setattr(process, "PodMetrics", lambda: PodMetrics(registry()))
    settings, address = (
        settings_of(kafka_bootstrap, topic_prefix),
        ApiAddress("https://127.0.0.1:1", None, tmp_path / "no.crt"),
    )
    ensure_topics(settings)
    with pytest.raises(UnavailableError, match=r"no\.crt"):
        watch_pods(Options("prod-eu", address), settings, threading.Event())


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        ((), USAGE, "--api-server"),
        (("--api-server", "ftp://here"), USAGE, "--api-server"),
        (("--api-server", "http://kubernetes.example"), USAGE, "--api-server"),
        (("--token-file", "token"), USAGE, "--token-file"),
        (("--api-server", "https://127.0.0.1:1", "--cluster", "a|b"), USAGE, "--cluster"),
        (("--api-server", "https://127.0.0.1:1"), MISSING, "no Kafka broker answers at 127.0.0.1:1"),
    ],
)
def test_wrong_use_is_one_sentence(
    arguments: tuple[str, ...], code: int, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Outside of a pod the address of the API server is needed, and Kafka always."""
    for name in ("HOST", "PORT"):
        monkeypatch.delenv(f"KUBERNETES_SERVICE_{name}", raising=False)
    monkeypatch.setenv("SPARKFUSE_KAFKA_BOOTSTRAP", "127.0.0.1:1")
    found = CliRunner().invoke(application, ["watch-pods", *arguments])

    assert isinstance(found.exception, StartError)
    assert found.exception.exit_code == code
    assert reason in str(found.exception)
