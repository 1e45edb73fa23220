"""The cases of the demonstration, and the findings that each case must cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

JOBS = Path(__file__).parent / "jobs"
HEALTHY_RUNS = 5
"""The number of healthy runs before the slow one: a baseline needs five runs before it gives an expected duration."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One run of one job.

    Attributes:
        title: name on the screen.
        script: file in the folder of jobs.
        expects: rule that must notify; empty for a healthy run.
        allows: further rules that may notify, because their conditions are also true for this job.
        environment: environment variables of the job.
        configuration: Spark settings of the job in addition to those of the plugin.
        fuse: whether the fuse must stop the job.
        stop_when_paged: whether the demonstration stops the job after its notification; the job never ends by itself.
        queue: cases of one queue run one after the other, the queues in parallel.
    """

    title: str
    script: str
    queue: str
    expects: str = ""
    allows: frozenset[str] = frozenset()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = dataclasses.field(default_factory=dict)
    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict)
    fuse: bool = False
    stop_when_paged: bool = False

    @property
    def job(self) -> str:
        """The name of the job, which is the same in all its runs."""
        return self.script.removesuffix(".py")


def cases() -> tuple[Case, ...]:
    """Return all cases.

    The job with the hung task uses no CPU, so it has a queue of its own; the other jobs share two queues.
    """
    healthy = tuple(
        Case(f"nightly orders (run {number})", "nightly_orders.py", "first") for number in range(1, HEALTHY_RUNS + 1)
    )
    return (
        Case(
            "hung Python task",
            "hung_lookup.py",
            "hung",
            expects="task_stuck",
            # The demonstration stops the job in the middle, and `job_failed` reports that with severity info.
            allows=frozenset({"job_failed"}),
            stop_when_paged=True,
        ),
        *healthy,
        Case(
            "nightly orders (slow tax service)",
            "nightly_orders.py",
            "first",
            expects="stage_slow",
            # The slow stage also delays the whole run.
            allows=frozenset({"application_slow"}),
            environment={"TAX_SERVICE_MS": "6000"},
        ),
        Case("skewed join", "skewed_join.py", "second", expects="stage_skew"),
        Case("spilling sort", "spilling_sort.py", "second", expects="stage_spill"),
        Case(
            "runaway sort (stopped by the fuse)",
            "runaway_sort.py",
            "second",
            expects="stage_runaway_spill",
            allows=frozenset({"stage_spill"}),
            configuration={"spark.sparkfuse.fuse": "act"},
            fuse=True,
        ),
    )


# The alert about the act itself. The alert names a rule, but no job.
ALERT_OF_ACT = "SparkfuseFuseActed"
# The rule and the action that the demonstration arms.
RULE, ACTION = "stage_runaway_spill", "cancel_stage"
CONFIGURATION = """\
# sparkfuse.yaml of the demonstration: the shipped rules with a spill budget that a small machine reaches, in mode act.
# A real installation keeps the default of 300 probes before a rule may be armed.
rules:
  stage_runaway_spill:
    params: {budget_bytes: 400000000, max_since_progress_ms: 20000, max_since_spill_ms: 60000}
    fuse: {mode: act}
fuse:
  arming: {probes: 0}
"""
