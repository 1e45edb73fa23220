"""The HTML report: one file that opens without a network, made from the analysis of one application."""

from sparkfuse_dashboards.report.stages import worst_stages
from sparkfuse_dashboards.report.write import write_report

__all__ = ["worst_stages", "write_report"]
