"""`sparkfuse analyze`: evaluates the rules on event logs, without a server.

Only this command is parsed with argparse, because importing typer would double its start time; see `sparkfuse.main`.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sparkfuse.analysis.engines import import_in_background
from sparkfuse.analysis.progress import Progress
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_kernel.event_logs.log import Log
    from sparkfuse_native_analytics.offline.analysis_types import Analysis
    from sparkfuse_native_analytics.offline.application import Application
    from sparkfuse_native_analytics.offline.earlier_runs import EarlierRuns
    from sparkfuse_rules.compiled import CompiledRule

FOUND = 1
"""Exit code: at least one finding has the severity of `--fail-on` or a higher one."""
PIPE_CLOSED = 141
"""Exit code: the reader of the output closed the pipe (128 + SIGPIPE, as in shells)."""
SEVERITIES = ("info", "warning", "critical")
NEVER = "never"
_VALUED = ("--history", "--html", "--fail-on")
_DESCRIPTION = """\
Evaluate the rules on Spark event logs: findings with evidence and the first step to take.

PATH is an event log, a rolling or Databricks log folder, a folder of logs, or a URL
(s3://, abfs://, gs://, hdfs:// and others that fsspec supports)."""
_EXIT_CODES = f"""\
exit codes:
  0    all logs were read, and no finding reaches --fail-on
  {FOUND}    at least one finding reaches --fail-on
  {USAGE}    the command line or sparkfuse.yaml is not valid
  {MISSING}    a path could not be read, or a package for its protocol is missing; other logs are shown"""


def analyze(arguments: Sequence[str]) -> int:
    """Analyze the logs in ``arguments``, print the findings and return the exit code.

    Raises:
        StartError: a rule, an option or the file of the report is not valid.
        SystemExit: for `--help` (0) and an invalid command line (2).
    """
    options = _parser().parse_args(spread_history(arguments))
    # Garbage collection during imports takes a tenth of the start time and frees nothing.
    gc.disable()
    import_in_background()
    try:
        return _analyze(options)
    except ModuleNotFoundError as missing:
        raise StartError(
            f"{(missing.name or '').split('.')[0]} is not installed; the extra `sparkfuse[cli]` contains it"
        ) from missing
    except (BrokenPipeError, SystemExit):  # the output's reader is gone; rich exits with 1 (a finding)
        # If standard output were not replaced, Python would report the closed pipe again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    finally:
        gc.enable()


def spread_history(arguments: Sequence[str]) -> list[str]:
    """Rewrite the arguments ``LOG --history A B`` as ``LOG --history A --history B``.

    The option --history takes all paths up to the next option. If no log precedes it, as in ``--history A LOG``, the
    option takes one path.
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
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a log to analyze, or a folder of logs")
    parser.add_argument(
        "--history",
        metavar="PATH",
        action="append",
        default=[],
        help="logs of earlier runs, or folders of logs; durations are compared with runs of the same job; "
        "all paths up to the next option belong to this option",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object for each log, each on its own line")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write the report of one log as HTML")
    parser.add_argument(
        "--fail-on",
        metavar="SEVERITY",
        choices=(*SEVERITIES, NEVER),
        default="warning",
        help=f"lowest severity that gives exit code {FOUND}: {', '.join(SEVERITIES)} or {NEVER} (default: warning)",
    )
    return parser


def _analyze(options: argparse.Namespace) -> int:
    unreadable = Unreadable()
    logs, earlier = _found(options.paths, unreadable), _found(options.history, unreadable)
    if options.html and len(logs) > 1:
        raise StartError(f"--html needs exactly one log, but {len(logs)} logs were found", USAGE)
    rules = _rules()
    with Progress([log.size_bytes for log in (*earlier, *logs)]) as progress:
        named = {*options.paths, *options.history}
        known = _earlier_runs(earlier, progress, unreadable, named)
        analyses = _analyses(logs, rules, known, progress, unreadable, named, options.html)
        worst = _print_all(analyses, progress, options.json, many=len(logs) > 1)
    return _exit_code(worst, options.fail_on, unreadable)


class Unreadable:
    """Prints errors of unreadable logs to standard error at once, and remembers whether a log was unreadable."""

    def __init__(self) -> None:
        self.some = False

    def report(self, sentence: object, counts: bool = True) -> None:
        """Print one sentence; if ``counts`` is false, the file is skipped without changing the exit code."""
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
            unreadable.report(error)
            continue
        logs += found.logs
        for sentence in found.skipped:
            unreadable.report(sentence, counts=False)
    return logs


def _rules() -> tuple[CompiledRule, ...]:
    from sparkfuse_contracts.settings import Settings
    from sparkfuse_rules.compiled import rules_offline
    from sparkfuse_rules.errors import RuleError

    try:
        return rules_offline(Settings.from_environment(os.environ).config_file)
    except RuleError as error:
        raise StartError(str(error), USAGE) from error


def _earlier_runs(logs: list[Log], progress: Progress, unreadable: Unreadable, named: set[str]) -> EarlierRuns:
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
) -> Iterator[Analysis]:
    from sparkfuse_native_analytics.offline.analysis import analyze_all

    for application, analysis in analyze_all(_applications(logs, progress, unreadable, named), rules, known):
        if html:
            _write_report(application, analysis, html)
        yield analysis


def _applications(
    logs: list[Log], progress: Progress, unreadable: Unreadable, named: set[str]
) -> Iterator[Application]:
    """Yield the applications of the logs in their order, reading several in parallel.

    A file that is not an event log is an error if the user named the file, and is skipped if it was found in a folder.
    """
    from sparkfuse_kernel.event_logs.log import NoEventLogError, UnreadableLogError
    from sparkfuse_native_analytics.offline.application import read_applications

    for log, read in zip(logs, read_applications(logs), strict=True):
        progress.advance(log.size_bytes)
        if isinstance(read, UnreadableLogError):
            unreadable.report(read, counts=not isinstance(read, NoEventLogError) or log.name in named)
        else:
            yield read


def _write_report(application: Application, analysis: Analysis, path: Path) -> None:
    from sparkfuse_dashboards.report import worst_stages, write_report
    from sparkfuse_native_analytics.offline.application import read_tasks

    try:
        write_report(analysis, read_tasks(application, worst_stages(analysis)), path)
    except OSError as error:
        raise StartError(f"{path} cannot be written: {error.strerror or error}") from error


def _print_all(analyses: Iterator[Analysis], progress: Progress, as_json: bool, many: bool) -> list[str | None]:
    """Print each analysis; return the worst severity of each analysis, None for an analysis without findings."""
    from sparkfuse_native_analytics.offline.analysis import worst_severity

    worst: list[str | None] = []
    for analysis in analyses:
        gc.enable()  # now all engines are imported
        progress.make_room()
        if as_json:
            # The JSON is escaped to ASCII, so that no control character of a log reaches the terminal.
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
