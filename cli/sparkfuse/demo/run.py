"""The demonstration from the first process to the verdict."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from sparkfuse.demo.events import Page, Watch
from sparkfuse.demo.lanes import Lanes
from sparkfuse.demo.scenario import CONFIGURATION, Case, cases
from sparkfuse.demo.screen import Screen
from sparkfuse.demo.spark_job import tail
from sparkfuse.demo.verdict import Outcome, complaints
from sparkfuse.paths import PLUGIN_JAR, SPARK_PYTHON, require
from sparkfuse.stack import stack
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.outputs import public_key_file
from sparkfuse.stack.supervisor import Supervisor
from sparkfuse_alertmanager.receiver import Receiver
from sparkfuse_contracts.generated import action_pb2

LIMIT_SECONDS = 900.0
"""The jobs take about five minutes here; a machine three times slower still gets its verdict."""
LAST_PAGES_SECONDS = 45.0
"""After the last job: a window, detection, and the ten seconds that Alertmanager groups warnings for."""
DEMO_ACTS = ("acted",)


class Demonstration:
    """One go through all cases.

    Args:
        home: folder for state and logs; what an earlier demonstration left there must be gone.
        console: where to show it.
        wanted: cases to run.
    """

    def __init__(self, home: Path, console: Console, wanted: tuple[Case, ...]) -> None:
        self._layout = Layout.from_environment(home, Ports.free(), {})
        self._console = console
        self._cases = wanted
        self._strangers: list[str] = []
        self._screen = Screen(console, [case.title for case in wanted])

    def run(self) -> list[str]:
        """Run everything and stop it again.

        Returns:
            What is wrong, a sentence each; empty when all that was expected came and nothing else.
        """
        require(PLUGIN_JAR)
        require(SPARK_PYTHON)
        configuration = self._layout.home / "sparkfuse.yaml"
        configuration.parent.mkdir(parents=True, exist_ok=True)
        configuration.write_text(CONFIGURATION)
        more = {"SPARKFUSE_CONFIG": str(configuration)}
        with self._screen, Receiver() as receiver, stack.running(self._layout, self._told, receiver.url, more) as up:
            self._screen.phase("running the Spark jobs")
            watch = Watch(receiver, self._layout.kafka_bootstrap, "sparkfuse")
            lanes = Lanes(
                self._cases,
                self._layout.kafka_bootstrap,
                self._layout.logs,
                lambda case, state: self._screen.run(case.title, state),
                {"spark.sparkfuse.fuse.publicKeys": str(public_key_file(self._layout))},
            )
            try:
                self._until_over(up, watch, lanes)
            finally:
                lanes.stop()
                watch.close()
                self._show_failed_jobs(lanes)
                self._screen.phase("stopping")
        return complaints(self._outcomes(lanes), self._strangers)

    def _told(self, name: str, event: str) -> None:
        self._screen.event(f"{name}: {event}")

    def _until_over(self, up: Supervisor, watch: Watch, lanes: Lanes) -> None:
        deadline = time.monotonic() + LIMIT_SECONDS
        last_pages: float | None = None
        while time.monotonic() < deadline:
            up.tend()
            lanes.tend()
            for event in watch.poll():
                self._note(event, watch, lanes)
            if not lanes.over:
                continue
            last_pages = last_pages or time.monotonic() + LAST_PAGES_SECONDS
            if time.monotonic() > last_pages or not complaints(self._outcomes(lanes), []):
                return
        self._screen.event(f"gave up after {LIMIT_SECONDS:.0f} s")

    def _note(self, event: Page | action_pb2.Action, watch: Watch, lanes: Lanes) -> None:
        if isinstance(event, Page):
            self._note_page(event, watch, lanes)
            return
        self._screen.event(f"fuse, {event.actor}: {event.outcome} {event.action} {event.reason}")
        run = next((run for run in reversed(lanes.runs) if run.case.fuse), None)
        if run is not None and event.outcome in DEMO_ACTS:
            run.acted = True

    def _note_page(self, page: Page, watch: Watch, lanes: Lanes) -> None:
        self._screen.event(f"webhook: {page.status} {page.severity} {page.rule} of {page.job}: {page.text}")
        run = lanes.run_of(page.job)
        if page.status != "firing":
            return
        if run is None:
            self._strangers.append(f"{page.rule} of {page.job}: {page.text}")
            return
        run.paged.add(page.rule)
        if page.rule == run.case.expects:
            self._screen.result(
                run.case.title, f"{page.rule} ({page.severity})", watch.seconds_to_page(page), page.text
            )

    def _outcomes(self, lanes: Lanes) -> list[Outcome]:
        started = [Outcome(run.case, run.exit_code, frozenset(run.paged), run.acted) for run in lanes.runs]
        never = [
            Outcome(case, 1, frozenset(), False)
            for case in self._cases
            if all(run.case is not case for run in lanes.runs)
        ]
        return [*started, *never]

    def _show_failed_jobs(self, lanes: Lanes) -> None:
        for run in lanes.runs:
            if run.exit_code not in (0, None):
                self._screen.event(f"{run.case.title}:\n{tail(run.process)}")

    def show_result(self, found: list[str]) -> None:
        """Print the table once more, the complaints, and what to open next."""
        if not self._console.is_terminal:
            self._console.print(self._screen.table())
        for sentence in found:
            self._console.print(f"[red]missing or unexpected:[/red] {sentence}")
        if not found:
            self._console.print("[green]Every expected page came, and nothing else was said.[/green]")
        self._console.print(
            "Next: `sparkfuse up`, then your own job with the jar and two lines (docs/plugin.md); "
            f"the logs of this demonstration are in {self._layout.logs}.",
            soft_wrap=True,
        )


def demonstrate(home: Path, console: Console, only: str = "") -> int:
    """Run the demonstration.

    Args:
        home: folder for state and logs.
        console: where to show it.
        only: part of the titles of the cases to run; empty for all.

    Returns:
        Exit code: 0 when everything expected came and nothing else, else 1.
    """
    wanted = tuple(case for case in cases() if only in case.title)
    demonstration = Demonstration(home, console, wanted)
    found = demonstration.run()
    demonstration.show_result(found)
    return 1 if found else 0
