"""All commands, as one typer application."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Annotated

import typer

from sparkfuse.commands import (
    advise,
    baselines,
    canary,
    collector,
    compare,
    cost,
    deadletters,
    digest,
    doctor,
    explain,
    feedback,
    fuse,
    history,
    kafka,
    pipeline,
    pods,
    rules,
    run,
    serve,
    share,
    ship,
    sizing,
)

ALWAYS = {
    0: "success",
    2: "the command line or the configuration is wrong",
    3: "something that the command needs is missing or failed",
}
# The exit codes that only some commands have.
MORE = {
    "backfill": {1: "a log could not be read"},
    "audit": {1: "the chain of records is broken, with --verify"},
    "canary": {1: "no finding arrived in time"},
    "doctor": {1: "a part has failed"},
    "compare": {1: "the second run is slower by more than --fail-on"},
    "demo": {1: "an expected page is missing, or an unexpected one arrived"},
    "off": {1: "the application refused"},
    "on": {1: "the application refused"},
    "ship": {4: "another shipper of the same name has taken over"},
    "test": {1: "a case gave another result"},
}

application = typer.Typer(
    name="sparkfuse",
    help="Watch Spark jobs while they run, report what goes wrong, and stop runaway jobs where you allow it.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sparkfuse {version('sparkfuse')}")
        raise typer.Exit


@application.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Watch Spark jobs while they run, report what goes wrong, and stop runaway jobs where you allow it."""


@application.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def analyze(context: typer.Context) -> None:
    """Evaluate Spark event logs with the rules, without a server; see `sparkfuse analyze --help`."""
    from sparkfuse.commands.analyze import analyze

    raise typer.Exit(analyze(context.args))


def _list_exit_codes(commands: typer.Typer) -> None:
    """Add the exit codes to the help of each command."""
    for command in commands.registered_commands:
        name = command.name or (command.callback.__name__.rstrip("_") if command.callback else "")
        command.epilog = _epilog(MORE.get(name, {}))
    for group in commands.registered_groups:
        if group.typer_instance:
            group.epilog = _epilog({})
            _list_exit_codes(group.typer_instance)


def _epilog(more: Mapping[int, str]) -> str:
    codes = sorted({**ALWAYS, **more}.items())
    return "Exit codes: " + "; ".join(f"{code}: {meaning}" for code, meaning in codes) + "."


compare.add_to(application)
application.command()(doctor.doctor)
application.command()(canary.canary)
sizing.add_to(application)
application.command()(pods.watch_pods)
pipeline.add_to(application)
history.add_to(application)
feedback.add_to(application)
run.add_to(application)
explain.add_to(application)
advise.add_to(application)
cost.add_to(application)
digest.add_to(application)
serve.add_to(application)
share.add_to(application)
ship.add_to(application)
application.add_typer(baselines.commands, name="baselines")
application.add_typer(rules.commands, name="rules")
application.add_typer(collector.commands, name="collector")
application.add_typer(fuse.commands, name="fuse")
application.add_typer(kafka.commands, name="kafka")
application.add_typer(deadletters.commands, name="deadletters")
_list_exit_codes(application)
