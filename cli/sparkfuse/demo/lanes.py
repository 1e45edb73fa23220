"""Runs the cases: those of one lane one after the other, the lanes side by side."""

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
        case: what runs.
        process: its Spark driver.
        paged: rules that paged about it.
        acted: whether the fuse acted on it.
        exit_code: how its driver ended; None while it runs or when it was ended after its page.
        over: whether it ended.
    """

    case: Case
    process: Process
    paged: set[str] = dataclasses.field(default_factory=set)
    acted: bool = False
    exit_code: int | None = None
    over: bool = False


class Lanes:
    """Owner of the Spark drivers.

    Args:
        cases: everything to run.
        bootstrap: the broker that the plugin sends to.
        logs: folder of the drivers' output.
        changed: told of a case and its new state: running or done.
        more: Spark settings of every job.
    """

    def __init__(
        self,
        cases: Iterable[Case],
        bootstrap: str,
        logs: Path,
        changed: Callable[[Case, str], None],
        more: dict[str, str],
    ) -> None:
        self._waiting: dict[str, collections.deque[Case]] = collections.defaultdict(collections.deque)
        for case in cases:
            self._waiting[case.lane].append(case)
        self._bootstrap = bootstrap
        self._logs = logs
        self._changed = changed
        self._more = more
        self.runs: list[Run] = []

    def tend(self) -> None:
        """End what is over and start what is next; call it often."""
        for run in self.runs:
            self._look_at(run)
        busy = {run.case.lane for run in self.runs if not run.over}
        for lane, waiting in self._waiting.items():
            if waiting and lane not in busy:
                self._start(waiting.popleft())

    @property
    def over(self) -> bool:
        """Whether every case was run to its end."""
        return not any(self._waiting.values()) and all(run.over for run in self.runs)

    def run_of(self, job: str) -> Run | None:
        """The latest run of a job: a page that names the job is about it."""
        return next((run for run in reversed(self.runs) if run.case.job == job), None)

    def stop(self) -> None:
        """End every driver that still runs."""
        for run in self.runs:
            if not run.over:
                run.process.stop()
                run.over = True

    def _look_at(self, run: Run) -> None:
        if run.over:
            return
        code = run.process.exit_code()
        if code is None and run.case.stop_when_paged and run.case.expects in run.paged:
            run.process.stop()
            run.over = True
        elif code is not None:
            run.process.stop()  # whatever the driver left in its session
            run.exit_code, run.over = code, True
        if run.over:
            self._changed(run.case, "done")

    def _start(self, case: Case) -> None:
        settings = {
            **spark_job.ON_ONE_MACHINE,
            **spark_job.with_plugin(self._bootstrap, case.job),
            **self._more,
            **case.configuration,
        }
        name = f"job-{len(self.runs) + 1:02d}-{case.job}"
        process = spark_job.start(name, JOBS / case.script, case.arguments, settings, case.environment, self._logs)
        self.runs.append(Run(case, process))
        self._changed(case, "running")
