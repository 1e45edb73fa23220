"""`sparkfuse up` and `sparkfuse demo`: run the whole pipeline on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.lock import only_one
from sparkfuse_contracts.settings import Settings

if TYPE_CHECKING:
    from sparkfuse_alertmanager.receiver import Receiver

POLL_SECONDS = 0.2
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder for state and logs.")]
FreePorts = Annotated[bool, typer.Option("--free-ports", help="Use free ports instead of the default ones.")]
Webhook = Annotated[str, typer.Option("--webhook", help="Post notifications to this URL instead of showing them here.")]
Ships = Annotated[
    list[str] | None, typer.Option("--ship", help="Folder of event logs to read continuously; may be repeated.")
]
ActuatorOption = Annotated[
    str,
    typer.Option(
        "--actuator",
        envvar="SPARKFUSE_ACTUATOR",
        help="Also run the external actuator: BACKEND=FILE, such as standalone=actuator.yaml.",
    ),
]
Only = Annotated[str, typer.Option("--only", help="Run only the cases whose title contains this text.")]


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    application.command()(up)
    application.command()(demo)


def up(
    home: Home = Path(".sparkfuse"), free_ports: FreePorts = False, webhook: Webhook = "", ships: Ships = None,
    actuator: ActuatorOption = "",
) -> None:  # fmt: skip
    """Start Kafka, the Flink jobs, the store, Alertmanager, Prometheus and our processes; Ctrl-C stops them.

    If SPARKFUSE_KAFKA_BOOTSTRAP, SPARKFUSE_CLICKHOUSE_URL or SPARKFUSE_ALERTMANAGER_URLS is set, the stack uses that
    server and does not start its own.
    """
    from sparkfuse.stack import stack
    from sparkfuse.stack.services import ExternalActuator
    from sparkfuse_alertmanager.receiver import Receiver

    _terminate_like_interrupt()
    console = Console(stderr=True)
    layout = Layout.from_environment(home, Ports.free() if free_ports else Ports())
    external = ExternalActuator.parse(actuator)

    def report(name: str, event: str) -> None:
        console.print(f"{name}: {event}", markup=False, highlight=False)

    with (
        Receiver() as receiver,
        stack.running(layout, report, webhook or receiver.url, ships=ships or (), actuator=external) as supervisor,
    ):
        _print_usage(console, layout)
        shown = -1
        while True:
            supervisor.poll()
            shown = _show_notifications(console, receiver, shown)
            time.sleep(POLL_SECONDS)


def demo(
    home: Home = Path(".sparkfuse/demo"),
    only: Only = "",
) -> None:
    """Run real Spark jobs that go wrong, and show their findings; the command takes about four minutes."""
    from sparkfuse.demo.run import demonstrate

    _terminate_like_interrupt()
    if (home / "stack.json").exists() or (home / "lock").exists():
        with only_one(home):
            shutil.rmtree(home)  # state of an earlier demonstration, whose baselines would change this one
    raise typer.Exit(demonstrate(home, Console(), only))


def _terminate_like_interrupt() -> None:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that every process is stopped."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _print_usage(console: Console, layout: Layout) -> None:
    from sparkfuse.stack.job_properties import submit_command, write_job_properties

    settings = Settings.from_environment({**os.environ, **layout.environment()})
    console.print(
        "\nSparkfuse is up. Run a job:\n"
        f"  {submit_command(write_job_properties(layout, settings))}\n"
        f"Console: {layout.console_url}\n"
        f"Alertmanager: {layout.alertmanager_urls}   store: {layout.clickhouse_url}   logs: {layout.logs}\n"
        "In another terminal: `sparkfuse runs`, `sparkfuse findings`. Ctrl-C stops everything.\n",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def _show_notifications(console: Console, receiver: Receiver, shown: int) -> int:
    for delivery in receiver.after(shown):
        shown = delivery.number
        for alert in delivery.payload.get("alerts", []):
            labels, annotations = alert.get("labels", {}), alert.get("annotations", {})
            about = labels.get("job_key") or "the pipeline itself"
            console.print(
                f"page {alert.get('status')}: {labels.get('rule') or labels.get('alertname')} of {about}: "
                f"{annotations.get('description')}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    return shown
