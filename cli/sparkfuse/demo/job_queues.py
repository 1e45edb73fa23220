"""Runs the cases of the demonstration: one after the other within a queue, the queues in parallel."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path

from sparkfuse.demo import spark_job
from sparkfuse.demo.scenario import JOBS, Case
from sparkfuse.stack.process import Process


@dataclasses.dataclass
class Run:
    """A case that was started.

    Attributes:
        case: the case.
        process: the Spark driver of the case.
        paged: rules that notified about this run.
        acted: whether the fuse acted on this run.
        exit_code: exit code of the driver; None while the driver runs, or if it was stopped after a notification.
        over: whether the run has ended.
    """

    case: Case
    process: Process
    paged: set[str] = dataclasses.field(default_factory=set)
    acted: bool = False
    exit_code: int | None = None
    over: bool = False


class JobQueues:
    """Starts and stops the Spark drivers.

    Args:
        cases: everything to run.
        properties: the properties file that `sparkfuse up` writes for a job.
        logs: folder for the output of the drivers.
        changed: called with a case and its new state, running or done.
    """

    def __init__(
        self, cases: Iterable[Case], properties: Path, logs: Path, changed: Callable[[Case, str], None]
    ) -> None:
        self._waiting: dict[str, collections.deque[Case]] = collections.defaultdict(collections.deque)
        for case in cases:
            self._waiting[case.queue].append(case)
        self._properties = properties
        self._logs = logs
        self._changed = changed
        self.runs: list[Run] = []

    def poll(self) -> None:
        """Record which runs have ended, and start the next cases; call this method often."""
        for run in self.runs:
            self._check(run)
        busy = {run.case.queue for run in self.runs if not run.over}
        for queue, waiting in self._waiting.items():
            if waiting and queue not in busy:
                self._start(waiting.popleft())

    @property
    def over(self) -> bool:
        """Whether every case has run to its end."""
        return not any(self._waiting.values()) and all(run.over for run in self.runs)

    def run_of(self, job: str) -> Run | None:
        """Return the latest run of a job: the run that a notification about this job means."""
        return next((run for run in reversed(self.runs) if run.case.job == job), None)

    def stop(self) -> None:
        """Stop every driver that is still running."""
        for run in self.runs:
            if not run.over:
                run.process.stop()
                run.over = True

    def _check(self, run: Run) -> None:
        if run.over:
            return
        code = run.process.exit_code()
        if code is None and run.case.stop_when_paged and run.case.expects in run.paged:
            run.process.stop()
            run.over = True
        elif code is not None:
            run.process.stop()  # also stops child processes that outlived the driver
            run.exit_code, run.over = code, True
        if run.over:
            self._changed(run.case, "done")

    def _start(self, case: Case) -> None:
        settings = {**spark_job.ON_ONE_MACHINE, "spark.sparkfuse.job": case.job, **case.configuration}
        name = f"job-{len(self.runs) + 1:02d}-{case.job}"
        process = spark_job.start(
            name, JOBS / case.script, case.arguments, self._properties, settings, case.environment, self._logs
        )
        self.runs.append(Run(case, process))
        self._changed(case, "running")
