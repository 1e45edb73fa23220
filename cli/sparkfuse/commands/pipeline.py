"""`sparkfuse up`, `sparkfuse demo`: run the whole pipeline on this machine."""

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

from sparkfuse.paths import PLUGIN_JAR
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.lock import only_one

if TYPE_CHECKING:
    from sparkfuse_alertmanager.receiver import Receiver

TEND_SECONDS = 0.2
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder for state and logs.")]
FreePorts = Annotated[bool, typer.Option("--free-ports", help="Pick free ports instead of the usual ones.")]
Webhook = Annotated[str, typer.Option("--webhook", help="Where to post notifications; they are shown here without it.")]
Ships = Annotated[
    list[str] | None, typer.Option("--ship", help="Follow this folder of event logs, too; may be repeated.")
]
Only = Annotated[str, typer.Option("--only", help="Run just the cases whose title contains this.")]


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    application.command()(up)
    application.command()(demo)


def up(
    home: Home = Path(".sparkfuse"), free_ports: FreePorts = False, webhook: Webhook = "", ships: Ships = None
) -> None:
    """Start Kafka, the Flink jobs, the store, Alertmanager and the rest; Ctrl-C stops all.

    A part whose address the environment gives (SPARKFUSE_KAFKA_BOOTSTRAP, SPARKFUSE_CLICKHOUSE_URL,
    SPARKFUSE_ALERTMANAGER_URLS) is used as it is and not started.
    """
    from sparkfuse.stack import stack
    from sparkfuse_alertmanager.receiver import Receiver

    _terminate_like_interrupt()
    console = Console(stderr=True)
    layout = Layout.from_environment(home, Ports.free() if free_ports else Ports())

    def report(name: str, event: str) -> None:
        console.print(f"{name}: {event}", markup=False, highlight=False)

    with (
        Receiver() as receiver,
        stack.running(layout, report, webhook or receiver.url, ships=ships or ()) as supervisor,
    ):
        _say_how_to_use(console, layout)
        shown = -1
        while True:
            supervisor.tend()
            shown = _show_notifications(console, receiver, shown)
            time.sleep(TEND_SECONDS)


def demo(
    home: Home = Path(".sparkfuse/demo"),
    only: Only = "",
) -> None:
    """Run real Spark jobs that go wrong and show what the pipeline says of them, in about six minutes."""
    from sparkfuse.demo.run import demonstrate

    _terminate_like_interrupt()
    if (home / "stack.json").exists() or (home / "lock").exists():
        with only_one(home):
            shutil.rmtree(home)  # only state of an earlier demonstration: its baselines must not help this one
    raise typer.Exit(demonstrate(home, Console(), only))


def _terminate_like_interrupt() -> None:
    """SIGTERM and SIGHUP unwind the stack as Ctrl-C does, so that no process stays behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, interrupt)


def _say_how_to_use(console: Console, layout: Layout) -> None:
    from sparkfuse.stack.outputs import public_key_file

    jar = os.path.relpath(PLUGIN_JAR)
    console.print(
        "\nSparkfuse is up. Run a job with it:\n"
        f"  spark-submit --jars {jar} --conf spark.plugins=io.sparkfuse.spark.SparkfusePlugin \\\n"
        f"    --conf spark.sparkfuse.kafka.bootstrap={layout.kafka_bootstrap} "
        f"--conf spark.sparkfuse.fuse.publicKeys={public_key_file(layout)} your_job.py\n"
        f"  Alertmanager: {layout.alertmanager_urls}   store: {layout.clickhouse_url}   logs: {layout.logs}\n"
        "  Then: sparkfuse runs, sparkfuse findings. Ctrl-C stops everything.\n",
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
                f"page: {alert.get('status')} {labels.get('rule') or labels.get('alertname')} of {about}: "
                f"{annotations.get('description')}",
                markup=False,
                highlight=False,
                soft_wrap=True,
            )
    return shown
