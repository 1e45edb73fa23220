"""YARN: finds and kills an application through the ResourceManager's REST API; reads the attempt again before the kill.

Documentation: https://hadoop.apache.org/docs/r3.3.4/hadoop-yarn/hadoop-yarn-site/ResourceManagerRest.html
"""

from __future__ import annotations

import re

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

_ID = re.compile(r"application_\d+_\d+")
_OVER = ("FINISHED", "FAILED", "KILLED")


class Yarn:
    """The ResourceManager of one cluster. ``user`` is sent as user.name, for clusters with simple authentication."""

    def __init__(self, http: ManagerHttp, user: str = "") -> None:
        self._http, self._parameters = http, {"user.name": user} if user else {}

    def find(self, application: Application) -> Found:
        """Return the state of the application and its latest attempt. Raises ManagerError."""
        path = _path(application)
        app = self._http.get(path, self._parameters)["app"]
        if app["id"] != application.app_id:
            return Unknown(f"the answer is about {app['id']}")
        if app["state"] in _OVER:
            return Ended(f"{app['id']} is {app['state']}, final status {app.get('finalStatus', 'unknown')}")
        if app["state"] != "RUNNING":
            return Unknown(f"{app['id']} is {app['state']}")
        attempts = self._http.get(f"{path}/appattempts", self._parameters)["appAttempts"]["appAttempt"]
        latest = max(attempts, key=lambda attempt: int(attempt["id"]))
        return Running(str(latest["appAttemptId"]), int(latest["startTime"]), int(latest["id"]))

    def stop(self, application: Application, instance: str) -> None:
        """Read the attempt again, then request the state KILLED. YARN has no precondition for this request."""
        require_instance(self.find(application), instance)
        self._http.send("PUT", f"{_path(application)}/state", parameters=self._parameters, json={"state": "KILLED"})

    def check(self) -> None:
        """Verify that the ResourceManager answers. Raises ManagerError."""
        self._http.get("/ws/v1/cluster/info", self._parameters)


def _path(application: Application) -> str:
    if not _ID.fullmatch(application.app_id):
        raise ManagerError(f"{application.app_id!r} is not a YARN application id")
    return f"/ws/v1/cluster/apps/{application.app_id}"
