"""`sparkfuse compare`: explains the difference in duration between two runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparkfuse.analysis.engines import do_without_pandas
from sparkfuse.commands.output import Json
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_kernel.event_logs.log import Log
    from sparkfuse_native_analytics.compare import Run

Before = Annotated[str, typer.Argument(metavar="A", help="Event log of the first run: a file, its folder, or a URL.")]
After = Annotated[str, typer.Argument(metavar="B", help="Event log of the second run.")]


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(compare)


def compare(before: Before, after: After, as_json: Json = False) -> None:
    """Explain the difference in duration between two runs of a job.

    Prints the causes of the difference, and the queries and stages that differ; the causes add up to the difference.
    Exit codes: 0 for success, 2 if a path has several logs, 3 if a log cannot be read.
    """
    do_without_pandas()
    from sparkfuse_native_analytics.compare import compare as compare_runs
    from sparkfuse_native_analytics.compare.document import document

    logs = _log(before), _log(after)
    found = document(compare_runs(*map(_run, logs)), *(log.name for log in logs))
    if as_json:
        print_compact(found)
        return
    from sparkfuse.analysis.comparison_text import show

    show(found)


def print_compact(found: dict[str, Any]) -> None:
    """Print JSON on one line, escaped to ASCII so that no control character of a log reaches the terminal."""
    import json

    typer.echo(json.dumps(found, allow_nan=False, separators=(",", ":")))


def _log(path: str) -> Log:
    """Return the log at a path; a path with several logs is an error."""
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_kernel.event_logs.log import UnreadableLogError

    try:
        logs = find_logs(path).logs
    except UnreadableLogError as error:
        raise StartError(str(error), MISSING) from error
    if len(logs) > 1:
        raise StartError(f"{path} contains {len(logs)} logs; compare needs exactly one", USAGE)
    return logs[0]


def _run(log: Log) -> Run:
    from sparkfuse_kernel.event_logs.log import UnreadableLogError
    from sparkfuse_native_analytics.compare.run_from_log import read_run

    try:
        return read_run(log)
    except UnreadableLogError as error:
        raise StartError(str(error), MISSING) from error
