"""`sparkfuse canary`: measures the time from a fact to its finding, once or at intervals."""

from __future__ import annotations

import dataclasses
import signal
import threading
from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json
from sparkfuse.commands.ship import Cluster, Tenant
from sparkfuse.stack.errors import MISSING, StartError
from sparkfuse_contracts.kafka_access import KafkaUnavailableError

Every = Annotated[
    float, typer.Option("--every", min=0.0, help="Seconds between two probes; 0 sends one probe and prints its result.")
]


def canary(
    home: Home = DEFAULT_HOME, every: Every = 0.0, cluster: Cluster = "default", tenant: Tenant = "default",
    as_json: Json = False,
) -> None:  # fmt: skip
    """Send the facts of an artificial application, and measure how long its finding takes.

    The sender posts no alert for it. With --every the command runs until SIGTERM or Ctrl-C, and serves the results as
    metrics at SPARKFUSE_METRICS_PORT.
    """
    from sparkfuse.canary import FOUND, Canary, answers
    from sparkfuse.canary_metrics import CanaryMetrics

    settings, stop = settings_of_stack(home), threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        sender = Canary(settings, cluster, tenant, stop)
    except KafkaUnavailableError as error:
        raise StartError(str(error), MISSING) from error
    try:
        if every:
            metrics = CanaryMetrics()
            metrics.serve(settings)
            for answer in answers(sender, every, stop):
                metrics.count(answer)
            return
        answer = sender.probe()
    finally:
        sender.close()
    if as_json:
        print_json(dataclasses.asdict(answer))
    elif answer.delay_seconds is not None:
        typer.echo(f"The finding arrived {answer.delay_seconds:.1f} s after its fact.")
    else:
        typer.echo(answer.reason or "No finding arrived within two minutes; `sparkfuse doctor` checks every part.")
    if answer.outcome != FOUND:
        raise typer.Exit(1)
