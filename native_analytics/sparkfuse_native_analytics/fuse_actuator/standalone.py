"""Spark's standalone master: finds the application in its list, and ends it through the form of the web interface.

The REST server of the master (spark.master.rest.enabled) only knows drivers that were submitted to it. Neither this
server nor the list shows which driver belongs to which application, so the actuator kills no driver.
Source: org.apache.spark.deploy.master.ui.MasterWebUI of Spark 3.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

_ALIVE, _RUNNING = "ALIVE", "RUNNING"
# After the form is sent, the master answers with a redirect to its page.
_DONE = (200, 302, 303)


class Standalone:
    """The web interface of one master."""

    def __init__(self, http: ManagerHttp) -> None:
        self._http = http

    def find(self, application: Application) -> Found:
        """Return the state of the application. Raises ManagerError."""
        master = self._master()
        for app in master["activeapps"]:
            if app["id"] == application.app_id:
                # The application id contains the time of the registration and a number, so a later application has
                # another id.
                instance = f"{app['id']} registered at {app['starttime']}"
                running = app["state"] == _RUNNING
                return Running(instance, int(app["starttime"])) if running else Unknown(f"it is {app['state']}")
        for app in master["completedapps"]:
            if app["id"] == application.app_id:
                return Ended(f"{app['id']} is {app['state']}")
        return Unknown(f"the master does not know {application.app_id}")

    def stop(self, application: Application, instance: str) -> None:
        """Read the application again, then end it: the master removes its executors and informs its driver."""
        require_instance(self.find(application), instance)
        form = {"id": application.app_id, "terminate": "true"}
        self._http.send("POST", "/app/kill/", form=form, accepted=_DONE)

    def check(self) -> None:
        """Verify that the master answers and is the active one. Raises ManagerError."""
        self._master()

    def _master(self) -> Mapping[str, Any]:
        master: Mapping[str, Any] = self._http.get("/json/")
        if master.get("status") != _ALIVE:
            raise ManagerError(f"the master is {master.get('status')}, not {_ALIVE}")
        return master
