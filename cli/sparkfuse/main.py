"""The command line: `sparkfuse`."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from sparkfuse.commands import history, pipeline, rules, share
from sparkfuse.stack.failures import USAGE, StartFailure
from sparkfuse_contracts.settings import SettingError

application = typer.Typer(
    name="sparkfuse",
    help="Watches running Spark jobs, pages about what goes wrong and stops what runs away.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
)
pipeline.add_to(application)
history.add_to(application)
share.add_to(application)
application.add_typer(rules.commands, name="rules")


def main() -> None:
    """Run the command line; what a person can mend is one sentence and an exit code, without a trace."""
    try:
        application()
    except StartFailure as failure:
        _say(str(failure))
        sys.exit(failure.exit_code)
    except SettingError as refused:
        _say(str(refused))
        sys.exit(USAGE)
    except KeyboardInterrupt:
        sys.exit(130)


def _say(sentence: str) -> None:
    Console(stderr=True).print(f"sparkfuse: {sentence}", markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
