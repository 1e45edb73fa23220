"""Build the links of an alert: to the finding, and to the page about its application, job or host."""

from __future__ import annotations

from dataclasses import dataclass

from sparkfuse_alertmanager.text import address
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.links import finding_url, host_url, inbox_url, job_url, run_url, running_job_url
from sparkfuse_rules.alert_labels import finding_host, latest_run
from sparkfuse_rules.plain_text import plain

SHOWN_AFTER_MS = 5 * 60_000
HOST_SCOPE = "host"


@dataclass(frozen=True)
class Links:
    """The addresses of the console and of Grafana; without Grafana, ``dashboard_url`` is empty."""

    console_url: str
    dashboard_url: str = ""

    def finding(self, finding: Finding) -> str:
        """Return the address of the page about the finding."""
        return address(finding_url(self.console_url, finding.finding_id))

    def inbox(self, team: str) -> str:
        """Return the address of the list of the critical findings of a team."""
        return address(inbox_url(self.console_url, severity="critical", team=plain(team, 200)))

    def dashboard(self, finding: Finding) -> str:
        """Return the address of the page about what the finding describes: a host, an application, or else a job.

        Grafana shows one application from its start to now; for a resolved finding, the time range ends five minutes
        after the finding resolved. Without Grafana, and for hosts and jobs, the page is one of the console.
        """
        run = latest_run(finding)
        app_id = plain(run.app_id, 100)
        host = plain(finding_host(finding), 200)
        if finding.scope.partition(":")[0] == HOST_SCOPE and host:
            return address(host_url(self.console_url, host))
        if not app_id:
            return address(job_url(self.console_url, plain(finding.job_key, 200)))
        if not self.dashboard_url:
            return address(run_url(self.console_url, app_id))
        begins_ms = run.app_start_ms or finding.started_ms or finding.updated_ms
        ends = str(finding.resolved_ms + SHOWN_AFTER_MS) if finding.state == "resolved" else "now"
        return address(running_job_url(self.dashboard_url, app_id, **{"from": str(begins_ms), "to": ends}))
