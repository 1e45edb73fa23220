"""All commands, as the one application that typer runs."""

from __future__ import annotations

import typer

from sparkfuse.commands import baselines, collector, compare, history, pipeline, rules, share, ship

application = typer.Typer(
    name="sparkfuse",
    help="Watches running Spark jobs, pages about what goes wrong and stops what runs away.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)


@application.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
)
def analyze(context: typer.Context) -> None:
    """Judge Spark event logs by the rules, without a server; see `sparkfuse analyze --help`."""
    from sparkfuse.commands.analyze import analyze

    raise typer.Exit(analyze(context.args))


compare.add_to(application)
pipeline.add_to(application)
history.add_to(application)
share.add_to(application)
ship.add_to(application)
application.add_typer(baselines.commands, name="baselines")
application.add_typer(rules.commands, name="rules")
application.add_typer(collector.commands, name="collector")
