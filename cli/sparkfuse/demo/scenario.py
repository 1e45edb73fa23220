"""What the demonstration runs and what must come of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"
HEALTHY_RUNS = 5
"""As many as a baseline needs before it says anything."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One run of one job.

    Attributes:
        title: what the person sees.
        script: file in the folder of jobs.
        expects: rule that must page; empty for a healthy run.
        allows: rules that may page too, because they are true of this job as well.
        environment: variables of the job.
        configuration: Spark settings of the job on top of the plugin's.
        fuse: whether the fuse must stop it.
        stop_when_paged: whether it is ended once its page came, because it would never end by itself.
        lane: cases of one lane run one after the other, lanes run side by side.
    """

    title: str
    script: str
    lane: str
    expects: str = ""
    allows: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fuse: bool = False
    stop_when_paged: bool = False

    @property
    def job(self) -> str:
        """Name of the job, the same for all its runs."""
        return self.script.removesuffix(".py")


def cases() -> tuple[Case, ...]:
    """All runs. The hung task needs no CPU and waits beside the others; the rest take turns on two lanes."""
    healthy = tuple(
        Case(f"nightly orders, run {number}", "nightly_orders.py", "first") for number in range(1, HEALTHY_RUNS + 1)
    )
    return (
        Case(
            "hung Python task",
            "hung_lookup.py",
            "hung",
            expects="task_stuck",
            # It is stopped in the middle of its job, which is told as information.
            allows=frozenset({"job_failed"}),
            stop_when_paged=True,
        ),
        *healthy,
        Case(
            "nightly orders, slow tax service",
            "nightly_orders.py",
            "first",
            expects="stage_slow",
            # The whole run is late by its slow stage.
            allows=frozenset({"application_slow"}),
            environment={"TAX_SERVICE_MS": "6000"},
        ),
        Case("skewed join", "skewed_join.py", "second", expects="stage_skew"),
        Case("spilling sort", "spilling_sort.py", "second", expects="stage_spill"),
        Case(
            "runaway sort, stopped by the fuse",
            "runaway_sort.py",
            "second",
            expects="stage_runaway_spill",
            allows=frozenset({"stage_spill"}),
            configuration={"spark.sparkfuse.fuse": "act"},
            fuse=True,
        ),
    )


CONFIGURATION = """\
# sparkfuse.yaml of the demonstration: the shipped rules, but a budget that a small machine reaches, and leave to act.
rules:
  stage_runaway_spill:
    params: {budget_bytes: 2500000000, max_since_finish_ms: 20000}
    fuse: {mode: act}
"""
