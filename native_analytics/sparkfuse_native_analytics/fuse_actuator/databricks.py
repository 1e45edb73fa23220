"""Databricks: the run of the job, by the run id in the application's settings.

Documentation: https://docs.databricks.com/api/workspace/jobs
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sparkfuse_native_analytics.fuse_actuator.cluster_manager import (
    Application,
    Ended,
    Found,
    ManagerError,
    Running,
    Unknown,
    require_instance,
)
from sparkfuse_native_analytics.fuse_actuator.manager_http import ManagerHttp

_RUN_ID = "spark.databricks.job.runId"
_CLUSTER_NAME = "spark.databricks.clusterUsageTags.clusterName"
# The name that Databricks gives to the cluster of a run contains the ids of the job and the run.
_NAME = re.compile(r"job-\d+-run-(\d+)(-.*)?")
_OVER = ("TERMINATED", "SKIPPED", "INTERNAL_ERROR")


class Databricks:
    """The Jobs API of one workspace."""

    def __init__(self, http: ManagerHttp) -> None:
        self._http = http

    def find(self, application: Application) -> Found:
        """Return the state of the run.

        If a cancel would end more than the application, or would not end it, the state is unknown. Raises ManagerError.
        """
        run_id = _run_id(application.settings)
        run = self._http.get("/api/2.1/jobs/runs/get", {"run_id": run_id})
        if str(run["run_id"]) != run_id:
            return Unknown(f"the answer is about the run {run['run_id']}")
        state = run["state"]["life_cycle_state"]
        if state in _OVER:
            return Ended(f"the run {run_id} is {state}, {run['state'].get('result_state', 'without result')}")
        if state != "RUNNING":
            return Unknown(f"the run {run_id} is {state}")
        parts = [run, *run.get("tasks", ())]
        active = [task for task in parts[1:] if task.get("state", {}).get("life_cycle_state") not in _OVER]
        if len(active) > 1:
            return Unknown(f"the run {run_id} has {len(active)} active tasks, and a cancel would end all of them")
        if any(part.get("existing_cluster_id") or _existing(part.get("cluster_spec")) for part in parts):
            return Unknown(f"the run {run_id} uses a cluster that it does not own, so a cancel would not end it")
        return Running(run_id, int(run["start_time"]))

    def stop(self, application: Application, instance: str) -> None:
        """Read the run again, then cancel it. A later run of the job has another run id, so it is never cancelled."""
        require_instance(self.find(application), instance)
        self._http.send("POST", "/api/2.1/jobs/runs/cancel", json={"run_id": int(instance)})

    def check(self) -> None:
        """Verify that the workspace answers and accepts the token. Raises ManagerError."""
        self._http.get("/api/2.1/jobs/list", {"limit": "1"})


def _existing(specification: Mapping[str, object] | None) -> bool:
    return bool(specification and specification.get("existing_cluster_id"))


def _run_id(settings: Mapping[str, str]) -> str:
    named = _NAME.fullmatch(settings.get(_CLUSTER_NAME, ""))
    run_id = settings.get(_RUN_ID, "") or (named[1] if named else "")
    if not run_id.isdecimal():
        raise ManagerError(f"the run id is not known: neither {_RUN_ID} nor the name of the cluster contains it")
    return run_id
