"""`sparkfuse kafka`: the permissions and topics that Sparkfuse needs on a broker."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from typing import Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import print_json
from sparkfuse_contracts.settings import Settings

commands = typer.Typer(help="Prepare a Kafka cluster: permissions and topics.", no_args_is_help=True)


class Format(StrEnum):
    """How permissions are printed."""

    COMMANDS = "commands"
    JSON = "json"


Principals = Annotated[
    list[str] | None,
    typer.Option(
        "--principal",
        help="Principal of one role, such as job=User:spark; may be repeated, and then only these roles get "
        "permissions. Default: every role, as User:sparkfuse-ROLE.",
    ),
]
Prefix = Annotated[str, typer.Option("--prefix", help="Prefix of the topics (default: SPARKFUSE_TOPIC_PREFIX).")]
Form = Annotated[Format, typer.Option("--format", help="Print commands of kafka-acls, or one JSON document.")]
OldBrokers = Annotated[
    bool, typer.Option("--old-brokers", help="Also grant IDEMPOTENT_WRITE, which writers need on Kafka before 3.0.")
]
Apply = Annotated[bool, typer.Option("--apply", help="Add the permissions to the broker instead of printing them.")]


@commands.command()
def acls(
    principal: Principals = None, prefix: Prefix = "", form: Form = Format.COMMANDS, old_brokers: OldBrokers = False,
    apply: Apply = False, home: Home = DEFAULT_HOME,
) -> None:  # fmt: skip
    """Print the permissions that each role needs on Kafka, or grant them; everything else stays denied."""
    from sparkfuse.stack import acls as permissions

    settings = _settings(home, prefix)
    principals = permissions.principals_of(principal or ())
    wanted = permissions.grants(principals, settings.topic_prefix, old_brokers=old_brokers)
    if apply:
        count = permissions.apply(wanted, settings)
        typer.echo(f"granted {count} permissions to {len(principals)} principals on {settings.kafka_bootstrap}")
    elif form is Format.JSON:
        print_json(permissions.as_data(wanted))
    else:
        typer.echo("\n".join(permissions.commands(wanted, settings)))


@commands.command()
def topics(prefix: Prefix = "", home: Home = DEFAULT_HOME) -> None:
    """Create the missing topics, and check the settings of the existing topics."""
    from sparkfuse.stack.topics import ensure_topics

    created = ensure_topics(_settings(home, prefix))
    typer.echo(f"topics created: {', '.join(created) or 'none, all exist'}")


def _settings(home: Home, prefix: str) -> Settings:
    settings = settings_of_stack(home)
    return dataclasses.replace(settings, topic_prefix=prefix) if prefix else settings
