"""The addresses of pages about applications, jobs and hosts, in the console and in Grafana.

Findings, signals and alerts link to them. ``console_url`` and ``dashboard_url`` are the settings of these names.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

RUNNING_JOB_UID = "sparkfuse-running-job"
FLEET_UID = "sparkfuse-fleet"


def docs_url(console_url: str) -> str:
    """Return the address at which the console publishes the folder ``docs``."""
    return f"{console_url}/docs"


def run_url(console_url: str, app_id: str) -> str:
    """Return the address of the console's page about one application."""
    return f"{console_url}/runs/{_segment(app_id)}"


def job_url(console_url: str, job_key: str) -> str:
    """Return the address of the console's page about one job and its runs."""
    return f"{console_url}/jobs/{_segment(job_key)}"


def host_url(console_url: str, host: str) -> str:
    """Return the address of the console's page about one host."""
    return f"{console_url}/hosts/{_segment(host)}"


def finding_url(console_url: str, finding_id: str) -> str:
    """Return the address of the console's page about one finding."""
    return f"{console_url}/findings/{_segment(finding_id)}"


def inbox_url(console_url: str, **filters: str) -> str:
    """Return the address of the console's list of open findings; ``filters`` are its parameters."""
    return f"{console_url}/?{urlencode(filters, quote_via=quote, safe='')}"


def running_job_url(dashboard_url: str, app_id: str, **parameters: str) -> str:
    """Return the address of Grafana's dashboard of one application; ``parameters`` are added to its query."""
    values = {"var-app_id": app_id, **parameters}
    return f"{dashboard_url}/d/{RUNNING_JOB_UID}?{urlencode(values, quote_via=quote, safe='')}"


def application_url(console_url: str, dashboard_url: str, app_id: str) -> str:
    """Return the address of the page about one application: Grafana's dashboard, or without Grafana the console's."""
    return running_job_url(dashboard_url, app_id) if dashboard_url else run_url(console_url, app_id)


def fleet_url(dashboard_url: str) -> str:
    """Return the address of Grafana's dashboard of all applications."""
    return f"{dashboard_url}/d/{FLEET_UID}"


def _segment(text: str) -> str:
    return quote(text, safe="")
