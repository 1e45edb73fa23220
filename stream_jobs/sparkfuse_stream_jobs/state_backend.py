"""Changes the state backend of a job in the mini cluster without losing its state.

A checkpoint can only be restored with the backend that wrote it. A savepoint in Flink's canonical format can be
restored with each backend. So the job first runs with the last backend, and stops with such a savepoint.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparkfuse_contracts.settings import STATE_BACKENDS
from sparkfuse_stream_jobs.checkpoints import latest_checkpoint
from sparkfuse_stream_jobs.errors import MissingPartError

LOG = logging.getLogger(__name__)
OPTION = "state.backend.type"
# The folder of savepoints beside the checkpoints of a job; Flink's own folders have the id of a job.
PORTABLE = "portable-savepoints"
_MARKER = "state-backend"
_START_SECONDS = 240.0


def start_with_backend(directory: Path, wanted: str, start: Callable[[str], Any]) -> Any:
    """Start the job with the state backend ``wanted``, after a change also with the last one, and return its client.

    ``directory`` contains the checkpoints of the job. ``start`` starts the job with a backend, from the newest
    checkpoint. Raises MissingPartError if the saved state cannot be converted.
    """
    last = _last_backend(directory)
    if last not in {None, wanted}:
        LOG.info("the state backend changes from %s to %s: the job starts twice", last, wanted)
        _stop_with_savepoint(start(str(last)), directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / _MARKER).write_text(f"{wanted}\n")
    return start(wanted)


def _last_backend(directory: Path) -> str | None:
    """Return the only backend that can restore the newest checkpoint; None if each of them can."""
    checkpoint, marker = latest_checkpoint(directory), directory / _MARKER
    if checkpoint is None or checkpoint.parent.name == PORTABLE:
        return None
    return marker.read_text().strip() if marker.is_file() else STATE_BACKENDS[0]


def _stop_with_savepoint(job: Any, directory: Path) -> None:
    """Stop the job with a savepoint that each backend can restore; Flink then removes the job's checkpoints."""
    from pyflink.java_gateway import get_gateway

    canonical = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.CANONICAL
    folder, deadline = (directory / PORTABLE).as_uri(), time.monotonic() + _START_SECONDS
    while True:
        try:
            # PyFlink's own method does not know the format of savepoints.
            address = job._j_job_client.stopWithSavepoint(False, folder, canonical).get()  # noqa: SLF001
            break
        except Exception as error:  # the job does not run yet; after the deadline, the user gets the reason
            if time.monotonic() > deadline:
                raise MissingPartError(f"cannot convert the saved state to another state backend: {error}") from error
            time.sleep(0.5)
    written = Path(str(address).removeprefix("file:"))
    # With the name of a checkpoint, also the last release finds it.
    written.rename(written.with_name(f"chk-{written.stat().st_mtime_ns}"))
