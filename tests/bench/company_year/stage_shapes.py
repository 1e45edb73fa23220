"""Shapes of stages, drawn from the stages of the real event logs of this repository."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

LOGS = Path(__file__).parents[2] / "logs"
FOLDERS = ("detection", "real", "runs")
# The times of shorter stages are dominated by scheduling.
SHORTEST_MS = 300
NO_LOGS = (".yaml", ".md")
_COLUMNS = ("status", "elapsed_ms", "finished_cpu_ms", "work_bytes", "work_records", "operator_rows_max", "num_tasks")


@dataclass(frozen=True)
class RealStage:
    """One stage of a real log: CPU time per wall time, and what it read per second of wall time."""

    cpu_ratio: float
    bytes_per_s: float
    records_per_s: float
    rows_per_s: float
    tasks: int


@dataclass(frozen=True)
class StageShape:
    """A stage of a simulated job at its usual work: ``base_ms`` is its wall time.

    ``fixed`` is the share of the time that does not depend on the work; the rest grows with the power ``exponent``.
    """

    real: RealStage
    base_ms: float
    fixed: float
    exponent: float

    def time_ms(self, work: float) -> float:
        """Return the wall time without noise for this multiple of the usual work."""
        return float(self.base_ms * (self.fixed + (1 - self.fixed) * work**self.exponent))


@cache
def real_stages() -> tuple[RealStage, ...]:
    """Return the stages of all logs that ended well and took longer than the shortest."""
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_native_analytics.offline.application import read_application

    found = []
    for folder in FOLDERS:
        for log in find_logs(str(LOGS / folder)).logs:
            if log.name.endswith(NO_LOGS):
                continue
            for stage in read_application(log).stages(*_COLUMNS):
                wall_ms = stage["elapsed_ms"]
                if stage["status"] == "succeeded" and wall_ms and wall_ms >= SHORTEST_MS:
                    seconds = wall_ms / 1000
                    found.append(
                        RealStage(
                            (stage["finished_cpu_ms"] or 0) / wall_ms,
                            (stage["work_bytes"] or 0) / seconds,
                            (stage["work_records"] or 0) / seconds,
                            (stage["operator_rows_max"] or 0) / seconds,
                            stage["num_tasks"] or 1,
                        )
                    )
    return tuple(found)


def draw_shapes(random: np.random.Generator, longest_ms: float) -> list[StageShape]:
    """Return one to three stages; together they take at most about ``longest_ms``."""
    count = int(random.choice([1, 1, 1, 2, 3]))
    known = real_stages()
    whole_ms = min(float(np.exp(random.normal(np.log(420_000), 1.0))), longest_ms)
    shares = random.dirichlet(np.full(count, 2.0))
    return [
        StageShape(
            known[int(random.integers(len(known)))],
            max(5_000.0, whole_ms * share),
            float(random.uniform(0.02, 0.4)),
            float(np.clip(random.normal(1.0, 0.12), 0.6, 1.4)),
        )
        for share in shares
    ]
