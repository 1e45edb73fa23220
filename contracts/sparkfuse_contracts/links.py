"""Addresses of what people open: findings, signals and alerts link to the same dashboards."""

from __future__ import annotations

from urllib.parse import quote

RUNNING_JOB_UID = "sparkfuse-running-job"
FLEET_UID = "sparkfuse-fleet"


def running_job_url(dashboard_url: str, app_id: str) -> str:
    """The dashboard of one application; ``dashboard_url`` is Settings.dashboard_url."""
    return f"{dashboard_url}/d/{RUNNING_JOB_UID}?var-app_id={quote(app_id, safe='')}"


def fleet_url(dashboard_url: str) -> str:
    """The dashboard of all applications."""
    return f"{dashboard_url}/d/{FLEET_UID}"
