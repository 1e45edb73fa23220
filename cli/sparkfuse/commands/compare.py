"""`sparkfuse compare`: explains the difference in duration between two runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparkfuse.analysis.engines import do_without_pandas
from sparkfuse.commands.history import DEFAULT_HOME, Home, ask
from sparkfuse.commands.output import Json
from sparkfuse.commands.run import unknown_application
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_kernel.event_logs.log import Log
    from sparkfuse_native_analytics.compare import Run

Before = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help="First run: its event log (a file, its folder, or a URL), or the id of an application in the store.",
    ),
]
After = Annotated[str, typer.Argument(metavar="B", help="Second run, given in the same way.")]
FailOn = Annotated[
    str, typer.Option("--fail-on", help="Exit with 1 if B took longer than A by more than this share, such as 20%.")
]
_PERCENTAGE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)%")
FOUND = 1
"""Exit code: the second run is slower by more than `--fail-on`."""


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(compare)


def compare(
    before: Before, after: After, home: Home = DEFAULT_HOME, fail_on: FailOn = "", as_json: Json = False
) -> None:
    """Explain the difference in duration between two runs of a job.

    Prints the causes of the difference, and the queries and stages that differ; the causes add up to the difference.
    Exit codes: 0 for success, 1 if the second run is slower by more than --fail-on, 2 if a path has several logs or the
    store has no such application, 3 if a log cannot be read or the store does not answer.
    """
    do_without_pandas()
    from sparkfuse_native_analytics.compare import compare as compare_runs
    from sparkfuse_native_analytics.compare.document import document

    allowed = _share(fail_on)
    (one, name), (other, other_name) = _run(before, home), _run(after, home)
    found = document(compare_runs(one, other), name, other_name)
    if as_json:
        print_compact(found)
    else:
        from sparkfuse.analysis.comparison_text import show

        show(found)
    if allowed is not None and found["difference_ms"] > allowed * found["before"]["elapsed_ms"]:
        raise typer.Exit(FOUND)


def _share(text: str) -> float | None:
    found = _PERCENTAGE.fullmatch(text.strip())
    if text and not found:
        raise StartError(f"--fail-on must be a percentage such as 20%, but is {text!r}", USAGE)
    return float(found[1]) / 100 if found else None


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


def _run(place: str, home: Path) -> tuple[Run, str]:
    """Return the run of a log or, if the text is neither a path nor a URL, of an application in the store."""
    if "/" in place or Path(place).exists():
        log = _log(place)
        return _run_of_log(log), log.name
    from sparkfuse_native_analytics.queries import comparable_run

    found = ask(home, lambda client: comparable_run(client, place))
    if found is None:
        raise unknown_application(place, "; it is no path of an event log either")
    return found, place


def _run_of_log(log: Log) -> Run:
    from sparkfuse_kernel.event_logs.log import UnreadableLogError
    from sparkfuse_native_analytics.compare.run_from_log import read_run

    try:
        return read_run(log)
    except UnreadableLogError as error:
        raise StartError(str(error), MISSING) from error
