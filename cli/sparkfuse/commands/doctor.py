"""`sparkfuse doctor`: checks every process of the installation, and says what is wrong and how to correct it."""

from __future__ import annotations

import dataclasses

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table


def doctor(home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Check Kafka, the Flink jobs, the store, the sender and Alertmanager, and say what to do about a failure."""
    from sparkfuse.doctor import FAILED, examine

    checks = examine(settings_of_stack(home), home)
    if as_json:
        print_json([dataclasses.asdict(check) for check in checks])
    else:
        rows = [(check.state, check.name, check.found, check.fix or None) for check in checks]
        print_table("Sparkfuse", ["state", "part", "found", "what to do"], rows)
    if any(check.state == FAILED for check in checks):
        raise typer.Exit(1)
