"""Reads the successful runs of event logs, from which advice is derived."""

from __future__ import annotations

from collections.abc import Iterable

from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_kernel.event_logs.log import Log
from sparkfuse_native_analytics.compare import Run
from sparkfuse_native_analytics.compare.run_from_log import run_of
from sparkfuse_native_analytics.offline.application import read_application


def successful_runs(logs: Iterable[Log]) -> list[tuple[str, Run]]:
    """Return the job key and the run of each application that succeeded and whose log is complete.

    Other logs are left out; the caller knows their number from the number of results.

    Raises UnreadableLogError.
    """
    found = []
    for log in logs:
        application = read_application(log, environment=allowed_configuration().keys)
        if application.row.get("status") == "succeeded" and application.completeness >= 1:
            found.append((application.job_key, run_of(application)))
    return found
