"""The addresses of the dashboards; findings, signals and alerts link to them."""

from __future__ import annotations

from urllib.parse import quote

RUNNING_JOB_UID = "sparkfuse-running-job"
FLEET_UID = "sparkfuse-fleet"


def running_job_url(dashboard_url: str, app_id: str) -> str:
    """Return the address of the dashboard of one application; ``dashboard_url`` is Settings.dashboard_url."""
    return f"{dashboard_url}/d/{RUNNING_JOB_UID}?var-app_id={quote(app_id, safe='')}"


def fleet_url(dashboard_url: str) -> str:
    """Return the address of the dashboard of all applications."""
    return f"{dashboard_url}/d/{FLEET_UID}"
