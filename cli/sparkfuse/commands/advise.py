"""`sparkfuse advise`: settings with which a job would probably be faster or cheaper."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.analysis.engines import do_without_pandas
from sparkfuse.analysis.terminal_text import printable
from sparkfuse.commands.history import DEFAULT_HOME, Home, ask, duration, money
from sparkfuse.commands.output import Json, print_json
from sparkfuse.commands.run import prices_of
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.advice import Advice, Setting
    from sparkfuse_native_analytics.queries import JobAdvice

Subject = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB|LOG…",
        help="A job key, as `sparkfuse runs` lists them, or at least five event logs of one job: files, folders, URLs.",
    ),
]


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(advise)


def advise(subject: Subject, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Advise settings for the next runs of a job, with predicted durations, from at least five successful runs.

    Changes nothing. Reads event logs, or the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    do_without_pandas()
    found = _of_logs(subject) if len(subject) > 1 or _is_path(subject[0]) else _of_job(subject[0], home)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    for line in _lines(found):
        typer.echo(printable(line))


def _of_job(job_key: str, home: Path) -> JobAdvice:
    from sparkfuse_native_analytics.queries import job_advice

    prices, now_ms = prices_of(home), time.time_ns() // 1_000_000
    found = ask(home, lambda client: job_advice(client, job_key, prices, now_ms))
    if found is None:
        raise StartError(
            f"the store has no run of a job {job_key!r} in the last 90 days; `sparkfuse runs` lists job keys", USAGE
        )
    return found


def _is_path(text: str) -> bool:
    return "://" in text or Path(text).exists()


def _of_logs(paths: list[str]) -> JobAdvice:
    from sparkfuse_kernel.event_logs.find import find_logs
    from sparkfuse_kernel.event_logs.log import UnreadableLogError
    from sparkfuse_native_analytics.advice.log_runs import successful_runs
    from sparkfuse_native_analytics.queries.job_advice import advice_from

    try:
        logs = [log for path in paths for log in find_logs(path).logs]
        found = successful_runs(logs)
    except UnreadableLogError as error:
        raise StartError(str(error), MISSING) from error
    keys = sorted({job_key for job_key, _ in found})
    if len(keys) > 1:
        raise StartError(f"the logs are of several jobs ({', '.join(keys[:3])}); advice needs runs of one job", USAGE)
    return advice_from(keys[0] if keys else "", [run for _, run in found], len(logs) - len(found))


def _lines(found: JobAdvice) -> list[str]:
    lines = [f"{found.job_key or 'no job'}: {found.runs} successful run(s) with the same configuration."]
    if found.left_out:
        lines.append(f"Left out: {found.left_out} run(s) with incomplete data, or logs of runs that did not succeed.")
    if found.usual_cost is not None:
        lines.append(f"A run usually costs {money(found.usual_cost, found.currency)}.")
    if found.reason:
        lines.append(found.reason)
    for each in found.advice:
        lines += ["", *_advice(each, found)]
    return lines


def _advice(each: Advice, found: JobAdvice) -> list[str]:
    lines = [f"{each.kind.replace('_', ' ')}: {each.how}"]
    lines += [f"  set      {one.key}={one.after} (now {one.before or 'not set'})" for one in each.settings]
    lines.append(
        f"  duration {duration(each.usual_ms)} -> {duration(each.predicted_ms)} predicted "
        f"(between {duration(each.low_ms)} and {duration(each.high_ms)}), from {len(each.evidence)} runs"
    )
    if each.core_ratio is not None:
        amount = found.usual_cost * each.core_ratio if found.usual_cost is not None else None
        price = f"; predicted cost {money(amount, found.currency)} per run" if amount is not None else ""
        lines.append(f"  cores    {each.core_ratio - 1:+.0%} core time{price}")
    lines.append(f"  risk     {each.risk}")
    if each.settings:
        lines += [f"  undo     {_undo(one)}" for one in each.settings]
    return lines


def _undo(setting: Setting) -> str:
    return f"set {setting.key}={setting.before}" if setting.before else f"remove {setting.key}"
