"""The bounds of a running stage, which let the JVM drop rows of the stage that cannot change a finding.

While a row is within the bounds, it has no projection, and neither its duration nor its CPU time is above the p95: the
column ``moved`` is ``none`` or absent. The bounds do not change while the stage runs. More work only raises the p95,
and a run is compared only with the runs that ended before it started. Whether a stage runs Python functions does not
change either, so it is published with the bounds.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.baseline import Fit
from sparkfuse_rules.knowledge.projection import RUNNING, WAVES_BEFORE
from sparkfuse_rules.knowledge.robust import MAX_MS
from sparkfuse_stream_jobs.detect.subjects import subject_name

# The numbers of a record: row_epoch_ms, row_seq, tasks, elapsed_ms, cpu_ms, runs_python (0 or 1). The subject follows.
# io.sparkfuse.detect.StageBounds reads this format.
_NUMBERS = struct.Struct(">6q")
NOT_MOVED = "none"
UNLIMITED = MAX_MS


@dataclass(frozen=True)
class StageBounds:
    """The bounds of one running stage. ``row`` is the row from which they were computed; they hold for later rows.

    ``tasks`` limits the succeeded tasks, and ``elapsed_ms`` and ``cpu_ms`` the time that the stage used so far.
    """

    row: LiveRow
    tasks: int
    elapsed_ms: int = UNLIMITED
    cpu_ms: int = UNLIMITED


def tasks_without_projection(slots: int) -> int:
    """Return how many tasks of a stage may succeed before it is projected, in an application with ``slots`` slots."""
    return WAVES_BEFORE * max(0, slots)


def bounds_of(row: LiveRow, tasks: int, fitted: Fit | None) -> StageBounds | None:
    """Return the bounds of the row's stage; None if the stage does not run, or if the row has no number.

    ``fitted`` is the fit of the stage's baseline, None if too few runs are known.
    """
    if row.stage.status != RUNNING or not row.HasField("row_seq"):
        return None
    if fitted is None:
        return StageBounds(row, tasks)
    least = fitted.at_usual()
    return StageBounds(
        row, tasks, least.expected_p95_ms, UNLIMITED if least.expected_cpu_p95_ms is None else least.expected_cpu_p95_ms
    )


def encode(bounds: StageBounds) -> bytes:
    """Return the record for the JVM."""
    row = bounds.row
    numbers = (
        row.row_epoch_ms, row.row_seq, bounds.tasks, bounds.elapsed_ms, bounds.cpu_ms, int(row.stage.runs_python)
    )  # fmt: skip
    return _NUMBERS.pack(*numbers) + (subject_name(row) or "").encode()


def application_key(row: LiveRow) -> str:
    """Return the key of the row's application attempt, as ``LiveRowReader`` computes it."""
    return "\x1f".join((row.cluster, row.app_id, str(row.app_start_ms), str(row.app_attempt)))
