"""The HTML report of one application: one file that opens without a network."""

from sparkfuse_dashboards.report.stages import worst_stages
from sparkfuse_dashboards.report.write import write_report

__all__ = ["worst_stages", "write_report"]
