"""`sparkfuse analyze`: judge event logs where they lie, without a server.

The one command that is parsed by argparse: it must be over before others have begun, see `sparkfuse.main`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparkfuse.analysis.engines import import_in_background
from sparkfuse.analysis.progress import Progress
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_kernel.event_logs.log import Log
    from sparkfuse_native_analytics.offline.application import Application
    from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
    from sparkfuse_rules.compiled import CompiledRule

FOUND = 1
"""Exit code: a rule found something at or above `--fail-on`."""
PIPE_CLOSED = 141
"""Exit code: whoever read the output went away (128 and SIGPIPE, as shells have it)."""
SEVERITIES = ("info", "warning", "critical")
NEVER = "never"
_VALUED = ("--history", "--html", "--fail-on")
_DESCRIPTION = """\
Judge Spark event logs by the rules: what went wrong, with the evidence and what to do.

PATH is an event log, a rolling or a Databricks log folder, a folder of logs, or a URL
(s3://, abfs://, gs://, hdfs:// and what else fsspec reads)."""
_EXIT_CODES = f"""\
exit codes:
  0    every log was read, and nothing was found at or above --fail-on
  {FOUND}    something was found
  {USAGE}    the command line or sparkfuse.yaml is wrong
  {MISSING}    a path could not be read, or a package for its protocol is missing; the other logs are shown"""


def analyze(arguments: Sequence[str]) -> int:
    """Judge the logs that ``arguments`` name, and print what was found; gives the exit code.

    Raises:
        StartError: a rule, an option or the report's file cannot be used.
        SystemExit: for `--help` (0) and a wrong command line (2).
    """
    options = _parser().parse_args(spread_history(arguments))
    # Imports make no garbage, and looking for it among all that they bring is a tenth of the start.
    gc.disable()
    import_in_background()
    try:
        return _analyze(options)
    except ModuleNotFoundError as missing:
        raise StartError(
            f"{(missing.name or '').split('.')[0]} is not installed; the extra `sparkfuse[cli]` contains it"
        ) from missing
    except (BrokenPipeError, SystemExit):  # rich ends the program with 1, which would say that something was found
        # Python would complain once more when it closes its output at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    finally:
        gc.enable()


def spread_history(arguments: Sequence[str]) -> list[str]:
    """``LOG --history A B`` as ``LOG --history A --history B``: it takes every path up to the next option.

    With no log named before it, as in ``--history A LOG``, it takes one.
    """
    spread: list[str] = []
    logs_named, taking, before = False, False, ""
    for place, argument in enumerate(arguments):
        if argument == "--":
            return [*spread, *arguments[place:]]
        is_value = before in _VALUED
        if argument.startswith("--") and not is_value:
            taking = argument.partition("=")[0] == "--history" and logs_named
        elif taking and not is_value:
            spread.append("--history")
        elif not is_value:
            logs_named = True
        spread.append(argument)
        before = argument
    return spread


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sparkfuse analyze",
        usage="sparkfuse analyze PATH... [--history PATH...] [--json] [--html FILE] [--fail-on SEVERITY]",
        description=_DESCRIPTION,
        epilog=_EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a log to judge, or a folder of them")
    parser.add_argument(
        "--history",
        metavar="PATH",
        action="append",
        default=[],
        help="logs of earlier runs, or folders of them: what is slow is judged against runs of the same job; "
        "every path behind it, up to the next option, is history",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object a log, each on a line (JSON Lines)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report of one log as HTML")
    parser.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        choices=(*SEVERITIES, NEVER),
        default="warning",
        help=f"severity from which on the exit code is {FOUND}: {', '.join(SEVERITIES)} or {NEVER} (default: warning)",
    )
    return parser


def _analyze(options: argparse.Namespace) -> int:
    unreadable = Unreadable()
    logs, earlier = _found(options.paths, unreadable), _found(options.history, unreadable)
    if options.html and len(logs) > 1:
        raise StartError(f"--html holds one application, but {len(logs)} logs were found; name one of them", USAGE)
    rules = _rules()
    with Progress([log.size_bytes for log in (*earlier, *logs)]) as progress:
        named = {*options.paths, *options.history}
        known = _learned(earlier, progress, unreadable, named)
        analyses = _analyses(logs, rules, known, progress, unreadable, named, options.html)
        worst = _tell(analyses, progress, options.json, many=len(logs) > 1)
    return _exit_code(worst, options.fail_on, unreadable)


class Unreadable:
    """Says on standard error what could not be read, at once, and remembers that there was something."""

    def __init__(self) -> None:
        self.some = False

    def say(self, sentence: object, counts: bool = True) -> None:
        """One sentence; ``counts`` says whether it is a failure or only something that was passed over."""
        from sparkfuse.analysis.terminal_text import readable

        self.some = self.some or counts
        print(f"sparkfuse: {readable(str(sentence))}", file=sys.stderr)


def _found(paths: Iterable[str], unreadable: Unreadable) -> list[Log]:
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_kernel.event_logs.log import UnreadableLogError

    logs: list[Log] = []
    for path in paths:
        try:
            found = find_logs(path)
        except UnreadableLogError as error:
            unreadable.say(error)
            continue
        logs += found.logs
        for sentence in found.skipped:
            unreadable.say(sentence, counts=False)
    return logs


def _rules() -> tuple[CompiledRule, ...]:
    from sparkfuse_contracts.settings import Settings
    from sparkfuse_rules.compiled import rules_offline
    from sparkfuse_rules.errors import RuleError

    try:
        return rules_offline(Settings.from_environment(os.environ).config_file)
    except RuleError as refused:
        raise StartError(str(refused), USAGE) from refused


def _learned(logs: list[Log], progress: Progress, unreadable: Unreadable, named: set[str]) -> EarlierRuns:
    from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns, training_samples

    known = EarlierRuns()
    for application in _applications(logs, progress, unreadable, named):
        known.add(training_samples(application))
    return known


def _analyses(
    logs: list[Log],
    rules: tuple[CompiledRule, ...],
    known: EarlierRuns,
    progress: Progress,
    unreadable: Unreadable,
    named: set[str],
    html: Path | None,
) -> Iterator[dict[str, Any]]:
    from sparkfuse_native_analytics.offline.analysis import analyze_all

    for application, analysis in analyze_all(_applications(logs, progress, unreadable, named), rules, known):
        if html:
            _write_report(application, analysis, html)
        yield analysis


def _applications(
    logs: list[Log], progress: Progress, unreadable: Unreadable, named: set[str]
) -> Iterator[Application]:
    """The applications of the logs in their order, read side by side; one log alone has all threads.

    A file that is no event log is a failure when somebody named it, and passed over when it lay in a folder of logs.
    """
    from sparkfuse_kernel.event_logs.log import NoEventLogError, UnreadableLogError
    from sparkfuse_native_analytics.offline.application import read_applications

    for log, read in zip(logs, read_applications(logs), strict=True):
        progress.advance(log.size_bytes)
        if isinstance(read, UnreadableLogError):
            unreadable.say(read, counts=not isinstance(read, NoEventLogError) or log.name in named)
        else:
            yield read


def _write_report(application: Application, analysis: dict[str, Any], path: Path) -> None:
    from sparkfuse_dashboards.report import worst_stages, write_report
    from sparkfuse_native_analytics.offline.application import read_tasks

    try:
        write_report(analysis, read_tasks(application, worst_stages(analysis)), path)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror or error}") from error


def _tell(analyses: Iterator[dict[str, Any]], progress: Progress, as_json: bool, many: bool) -> list[str | None]:
    """Print each analysis as it comes; give back the worst severity of each, None without a finding."""
    from sparkfuse_native_analytics.offline.analysis import worst_severity

    worst: list[str | None] = []
    for analysis in analyses:
        gc.enable()  # the engines are there
        progress.make_room()
        if as_json:
            # Escaped to ASCII: any terminal and pipe carries it, and no control character of a log gets through.
            print(json.dumps(analysis, allow_nan=False, separators=(",", ":")), flush=True)
        else:
            from sparkfuse.analysis.analysis_text import show

            show(analysis, briefly=many)
        worst.append(worst_severity(analysis))
    return worst


def _exit_code(found: list[str | None], fail_on: str, unreadable: Unreadable) -> int:
    if unreadable.some or not found:
        return MISSING
    counts = () if fail_on == NEVER else SEVERITIES[SEVERITIES.index(fail_on) :]
    return FOUND if any(severity in counts for severity in found) else 0
