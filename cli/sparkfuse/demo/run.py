"""The demonstration: starts the stack, runs the cases, and compares findings with expectations."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from sparkfuse.demo.event_collector import EventCollector, FuseStep, Page
from sparkfuse.demo.job_queues import JobQueues
from sparkfuse.demo.outcome import Outcome, failures
from sparkfuse.demo.scenario import ACTION, ALERT_OF_ACT, CONFIGURATION, RULE, Case, cases
from sparkfuse.demo.screen import Screen
from sparkfuse.demo.spark_job import tail
from sparkfuse.paths import PLUGIN_JAR, SPARK_PYTHON, require
from sparkfuse.stack import stack
from sparkfuse.stack.job_properties import write_job_properties
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse_alertmanager.receiver import Receiver
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.keys import APPROVE, load_private_key, private_key_file
from sparkfuse_native_analytics.fuse_operator import orders

HOUR_MS = 3_600_000
LIMIT_SECONDS = 900.0
"""The time limit: the jobs take about four minutes on two quiet cores; a machine three times slower still finishes."""
LAST_PAGES_SECONDS = 45.0
"""How long to wait for notifications after the last job: a window, detection, and ten seconds in which Alertmanager
groups warnings."""
ACTED = ("ended",)


class Demonstration:
    """One demonstration: it runs all cases.

    Args:
        home: folder for state and logs; it must not contain the state of an earlier demonstration.
        console: where to show the progress and the result.
        wanted: cases to run.
    """

    def __init__(self, home: Path, console: Console, wanted: tuple[Case, ...]) -> None:
        self._layout = Layout.from_environment(home, Ports.free(), {})
        self._console = console
        self._cases = wanted
        self._unexpected_pages: list[str] = []
        self._screen = Screen(console, [case.title for case in wanted])

    def run(self) -> list[str]:
        """Start the stack, run all cases, and stop everything.

        Returns:
            A sentence for every missing and every unexpected result; empty for success.
        """
        require(PLUGIN_JAR)
        require(SPARK_PYTHON)
        configuration = self._layout.home / "sparkfuse.yaml"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        configuration.write_text(CONFIGURATION)
        # The demonstration shows every page, so none is held back.
        more = {"SPARKFUSE_CONFIG": str(configuration), "SPARKFUSE_PAGES_PER_DAY": "0"}
        with self._screen, Receiver() as receiver, stack.running(self._layout, self._report, receiver.url, more) as up:
            settings = Settings.from_environment({**self._layout.environment(), **more})
            self._arm(settings)
            self._screen.phase(f"running the Spark jobs; console: {self._layout.console_url}")
            collector = EventCollector(receiver, settings)
            queues = JobQueues(
                self._cases,
                write_job_properties(self._layout, settings),
                self._layout.logs,
                lambda case, state: self._screen.run(case.title, state),
            )
            try:
                self._run_until_over(up, collector, queues)
            finally:
                queues.stop()
                collector.close()
                self._show_failed_jobs(queues)
                self._screen.phase("stopping")
        return failures(self._outcomes(queues), self._unexpected_pages)

    def _arm(self, settings: Settings) -> None:
        """Allow the fuse to stop the runaway job, in the same way as `sparkfuse fuse arm`."""
        key = load_private_key(private_key_file(self._layout.home / "keys", APPROVE))
        until_ms = time.time_ns() // 1_000_000 + HOUR_MS
        control = orders.arm(orders.Selection(rule=RULE), ACTION, "demonstration", until_ms)
        orders.give(settings, orders.Operator("demonstration", key), control)

    def _report(self, name: str, event: str) -> None:
        self._screen.event(f"{name}: {event}")

    def _run_until_over(self, up: Supervisor, collector: EventCollector, queues: JobQueues) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        last_pages: float | None = None
        while time.monotonic() < deadline:
            up.poll()
            queues.poll()
            for event in collector.poll():
                self._record(event, collector, queues)
            if not queues.over:
                continue
            last_pages = last_pages or time.monotonic() + LAST_PAGES_SECONDS
            if time.monotonic() > last_pages or not failures(self._outcomes(queues), []):
                return
        self._screen.event(f"stopped after the limit of {LIMIT_SECONDS:.0f} s")

    def _record(self, event: Page | FuseStep, collector: EventCollector, queues: JobQueues) -> None:
        if isinstance(event, Page):
            self._record_page(event, collector, queues)
            return
        self._screen.event(f"fuse, {event.actor}: {event.step} {event.action}: {event.reason}")
        run = next((run for run in reversed(queues.runs) if run.case.fuse), None)
        if run is not None and event.step in ACTED:
            run.acted = True

    def _record_page(self, page: Page, collector: EventCollector, queues: JobQueues) -> None:
        of_job = f" of {page.job}" if page.job else ""
        self._screen.event(f"page {page.status}: {page.rule} ({page.severity}){of_job}: {page.text}")
        run = queues.run_of(page.job)
        if page.status != "firing" or page.rule == ALERT_OF_ACT:
            return
        if run is None:
            self._unexpected_pages.append(f"{page.rule} of {page.job}: {page.text}")
            return
        run.paged.add(page.rule)
        if page.rule == run.case.expects:
            self._screen.result(run.case.title, f"{page.rule} ({page.severity})", collector.seconds_to_page(page))

    def _outcomes(self, queues: JobQueues) -> list[Outcome]:
        started = [Outcome(run.case, run.exit_code, frozenset(run.paged), run.acted) for run in queues.runs]
        never_started = [
            Outcome(case, 1, frozenset(), False)
            for case in self._cases
            if all(run.case is not case for run in queues.runs)
        ]
        return [*started, *never_started]

    def _show_failed_jobs(self, queues: JobQueues) -> None:
        for run in queues.runs:
            if run.exit_code not in (0, None):
                for line in tail(run.process).splitlines():
                    self._screen.event(f"{run.case.title} failed: {line}")

    def show_result(self, found: list[str]) -> None:
        """Print one line per run, the missing and unexpected results, and the commands to run next."""
        for line in self._screen.summary():
            self._console.print(line, markup=False, highlight=False, soft_wrap=True)
        for sentence in found:
            self._console.print(f"[red]missing or unexpected:[/red] {sentence}", soft_wrap=True)
        if not found:
            self._console.print("[green]All expected notifications arrived, and no others.[/green]")
        self._console.print(
            f"Logs: {os.path.relpath(self._layout.logs)}\n"
            "Next: `source .venv/bin/activate`, then `sparkfuse up`; it prints the command that runs your own job.",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )


def demonstrate(home: Path, console: Console, only: str = "") -> int:
    """Run the demonstration.

    Args:
        home: folder for state and logs.
        console: where to show it.
        only: runs the cases whose title contains this text; empty for all.

    Returns:
        Exit code: 0 if all expected notifications arrived and no others, else 1.
    """
    wanted = tuple(case for case in cases() if only in case.title)
    demonstration = Demonstration(home, console, wanted)
    found = demonstration.run()
    demonstration.show_result(found)
    return 1 if found else 0
