"""The pod watcher as a process: one for a cluster of Kubernetes, until it is stopped."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge

from sparkfuse_collectors.pods.api import ApiAddress, ApiServer
from sparkfuse_collectors.pods.facts import PodFacts
from sparkfuse_collectors.pods.objects import read_node, read_pod
from sparkfuse_collectors.pods.tracker import Tracker
from sparkfuse_collectors.pods.watch import NODES, Change, Watch
from sparkfuse_collectors.ship.errors import InvalidOptionError, UnavailableError
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.kafka_access import require_access
from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import Settings

ROLE = "pod-watcher"
# Spark labels the pods of drivers in cluster mode and of all executors.
_SELECTOR = "spark-app-selector"
MAX_CHANGES = 1_000
# Without an answer for this long, the process ends, so that whoever started it notices.
PATIENCE_SECONDS = 600.0
_log = logging.getLogger("sparkfuse.pods")


@dataclass(frozen=True)
class Options:
    """The cluster and tenant of the facts, and the namespaces of the jobs; none selects all.

    ``cluster`` must be the spark.sparkfuse.cluster of the jobs. ``tenant`` owns the facts about pods in the store; rows
    of applications have the tenant of their application.
    """

    cluster: str
    api: ApiAddress
    namespaces: tuple[str, ...] = ()
    tenant: str = "default"

    def __post_init__(self) -> None:
        for option, value in (("--cluster", self.cluster), ("--tenant", self.tenant)):
            if not value or "|" in value or len(value) > 200:
                raise InvalidOptionError(f"{option} {value!r} must have 1 to 200 characters and no '|'")


class PodMetrics:
    """The metrics with the names that the contract defines."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        pods, facts, requests = (
            metric_names.PODS_WATCHED, metric_names.POD_FACTS, metric_names.KUBERNETES_REQUESTS,
        )  # fmt: skip
        self.pods = Gauge(pods.name, pods.help, registry=registry)
        self._facts = Counter(facts.name, facts.help, facts.labels, registry=registry)
        self._requests = Counter(requests.name, requests.help, requests.labels, registry=registry)

    def count_fact(self, outcome: str) -> None:
        """Count a fact: ``sent`` or ``lost``."""
        self._facts.labels(outcome).inc()

    def count_request(self, objects: str, outcome: str) -> None:
        """Count a request for ``pods`` or ``nodes``."""
        self._requests.labels(objects.partition(" ")[0], outcome).inc()


def watch_pods(options: Options, settings: Settings, stop: threading.Event) -> None:
    """Send a fact for each change of a pod of Spark until ``stop`` is set.

    Raises KafkaUnavailableError, and UnavailableError if the API server gives no answer for ten minutes.
    """
    require_access(settings, ROLE)
    metrics = PodMetrics()
    try:
        serve_metrics(settings)
    except MetricsPortError as error:
        raise UnavailableError(str(error)) from error
    facts = PodFacts(settings, options.cluster, options.tenant, metrics.count_fact)
    try:
        _follow(options, facts, metrics, stop)
    finally:
        if left := facts.close():
            _log.warning("%d facts about pods were not sent", left)


def _follow(options: Options, facts: PodFacts, metrics: PodMetrics, stop: threading.Event) -> None:
    changes: queue.Queue[Change] = queue.Queue(MAX_CHANGES)
    ended = threading.Event()
    watches = [
        Watch(NODES, ApiServer(options.api, "/api/v1/nodes", read_node, ""), changes, ended, metrics.count_request),
        *(
            Watch(source, ApiServer(options.api, path, read_pod, _SELECTOR), changes, ended, metrics.count_request)
            for source, path in _pods(options.namespaces)
        ),
    ]
    for watch in watches:
        watch.start()
    try:
        _send(watches, changes, facts, metrics, stop)
    finally:
        ended.set()


def _send(
    watches: list[Watch], changes: queue.Queue[Change], facts: PodFacts, metrics: PodMetrics, stop: threading.Event
) -> None:
    tracker = Tracker()
    while not stop.is_set():
        facts.poll()
        silent = next((each for each in watches if time.monotonic() > each.answered_at + PATIENCE_SECONDS), None)
        if silent is not None:
            raise UnavailableError(silent.problem or "the API server sends no events")
        try:
            change = changes.get(timeout=0.5)
        except queue.Empty:
            continue
        for report in tracker.apply(change):
            facts.send(report, stop.is_set)
        metrics.pods.set(len(tracker))


def _pods(namespaces: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if not namespaces:
        yield "pods", "/api/v1/pods"
    for name in namespaces:
        yield f"pods of {name}", f"/api/v1/namespaces/{quote(name, safe='')}/pods"
