"""Kubernetes: finds the driver's pod by Spark's labels, and deletes the pod with its UID as a precondition.

Documentation: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import quote

from sparkfuse_native_analytics.fuse_actuator.cluster_manager import (
    Application,
    Ended,
    Found,
    ManagerError,
    Running,
    Unknown,
)
from sparkfuse_native_analytics.fuse_actuator.manager_http import ManagerHttp

# Spark sets both labels on the pod of a driver in cluster mode.
_SELECTOR = "spark-role=driver,spark-app-selector="
# The default of spark.kubernetes.driver.podTemplateContainerName.
_CONTAINER = "spark-kubernetes-driver"
_OVER = ("Succeeded", "Failed")


class Kubernetes:
    """The API server of one cluster, for the namespaces in which its jobs run."""

    def __init__(self, http: ManagerHttp, namespaces: Sequence[str]) -> None:
        self._http, self._namespaces = http, tuple(namespaces)

    def find(self, application: Application) -> Found:
        """Return the state of the application's driver pod; unknown if there is more than one. Raises ManagerError."""
        pods = self._pods(application)
        if not pods:
            return Ended(f"no driver's pod of {application.app_id} exists in {', '.join(self._namespaces)}")
        if len(pods) > 1:
            return Unknown(f"{len(pods)} driver's pods have the label of {application.app_id}")
        return _state(pods[0])

    def stop(self, application: Application, instance: str) -> None:
        """Delete the driver's pod if the pod still has the UID ``instance``; the executors end with the driver."""
        pods = [pod for pod in self._pods(application) if pod["metadata"]["uid"] == instance]
        if len(pods) != 1:
            raise ManagerError(f"the driver pod with the UID {instance} no longer exists")
        metadata = pods[0]["metadata"]
        # The API server compares the UID in the same step in which it deletes, and answers 409 if the UID differs.
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": instance}}
        self._http.send("DELETE", f"{_path(metadata['namespace'])}/{quote(metadata['name'], safe='')}", json=options)

    def check(self) -> None:
        """Verify that the pods of all namespaces can be listed. Raises ManagerError."""
        for namespace in self._namespaces:
            self._http.get(_path(namespace), {"labelSelector": "spark-role=driver", "limit": "1"})

    def _pods(self, application: Application) -> list[Mapping[str, Any]]:
        selector = {"labelSelector": f"{_SELECTOR}{application.app_id}"}
        return [pod for namespace in self._namespaces for pod in self._http.get(_path(namespace), selector)["items"]]


def _path(namespace: str) -> str:
    return f"/api/v1/namespaces/{quote(namespace, safe='')}/pods"


def _state(pod: Mapping[str, Any]) -> Found:
    metadata, status = pod["metadata"], pod["status"]
    name, phase = f"{metadata['namespace']}/{metadata['name']}", status["phase"]
    if phase in _OVER:
        return Ended(f"the driver's pod {name} has {phase.lower()}")
    if metadata.get("deletionTimestamp"):
        return Unknown(f"the driver's pod {name} is being deleted")
    if phase != "Running":
        return Unknown(f"the driver's pod {name} is {phase}")
    container = _driver_container(status["containerStatuses"])
    if "running" not in container["state"]:
        return Unknown(f"the driver's container in the pod {name} is not running")
    started_ms = int(datetime.fromisoformat(container["state"]["running"]["startedAt"]).timestamp() * 1000)
    # A restarted container is another attempt in the same pod.
    return Running(metadata["uid"], started_ms, int(container["restartCount"]) + 1)


def _driver_container(containers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    if len(containers) == 1:
        return containers[0]
    return {each["name"]: each for each in containers}[_CONTAINER]
