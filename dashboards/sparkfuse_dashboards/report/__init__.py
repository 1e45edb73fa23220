"""The HTML report of one application: a single file that needs no network."""

from sparkfuse_dashboards.report.stages import worst_stages
from sparkfuse_dashboards.report.write import write_report

__all__ = ["worst_stages", "write_report"]
