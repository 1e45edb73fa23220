"""`sparkfuse advise`: settings with which a job would probably be faster or cheaper."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.analysis.engines import do_without_pandas
from sparkfuse.analysis.terminal_text import printable
from sparkfuse.commands.history import DEFAULT_HOME, Home, ask, duration, moment, money
from sparkfuse.commands.output import Json, print_json
from sparkfuse.commands.run import prices_of
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.advice import Advice, Setting
    from sparkfuse_native_analytics.advice.advice_outcomes import AdviceOutcome
    from sparkfuse_native_analytics.queries import JobAdvice, JobOutcomes

Subject = Annotated[
    list[str],
    typer.Argument(
        metavar="JOB|LOG…",
        help="A job key, as `sparkfuse runs` lists them, or at least five event logs of one job: files, folders, URLs.",
    ),
]
Outcomes = Annotated[
    bool,
    typer.Option("--outcomes", help="Show the outcomes of the advice: proposed, applied, verified or without gain."),
]
_STATES = {"no_gain": "no gain"}


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(advise)


def advise(subject: Subject, home: Home = DEFAULT_HOME, of_outcomes: Outcomes = False, as_json: Json = False) -> None:
    """Advise settings for the next runs of a job, with predicted durations, from at least five successful runs.

    Changes nothing. Reads event logs, or the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    do_without_pandas()
    if of_outcomes:
        _show_outcomes(subject, home, as_json)
        return
    found = _of_logs(subject) if len(subject) > 1 or _is_path(subject[0]) else _of_job(subject[0], home)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    for line in _lines(found):
        typer.echo(printable(line))


def _show_outcomes(subject: list[str], home: Path, as_json: bool) -> None:
    from sparkfuse_native_analytics.queries import job_outcomes

    if len(subject) > 1 or _is_path(subject[0]):
        raise StartError("--outcomes reads the store, so it needs one job key; `sparkfuse runs` lists job keys", USAGE)
    prices, now_ms = prices_of(home), time.time_ns() // 1_000_000
    found = ask(home, lambda client: job_outcomes(client, subject[0], prices, now_ms))
    if found is None:
        raise StartError(
            f"the store has no run of a job {subject[0]!r} in the last 90 days; `sparkfuse runs` lists job keys", USAGE
        )
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    for line in outcome_lines(found):
        typer.echo(printable(line))


def outcome_lines(found: JobOutcomes) -> list[str]:
    """Return the outcomes of the advice for a job, as lines of text."""
    lines = [f"{found.job_key}: {found.runs} ended run(s) with a known configuration."]
    if found.left_out:
        lines.append(f"Left out: {found.left_out} run(s) of event logs, whose configuration the store does not have.")
    if not found.entries:
        lines.append("No advice is proposed, and no setting has changed as advised.")
    for each in found.entries:
        lines += ["", *_entry(each, found)]
    return lines


def _entry(each: AdviceOutcome, found: JobOutcomes) -> list[str]:
    lines = [f"{_STATES.get(each.state, each.state)}: {each.kind.replace('_', ' ')}"]
    lines += [f"  set      {one.key}={one.after} (before {one.before or 'not set'})" for one in each.settings]
    goal = each.goal.replace("_", " ")
    lines.append(
        f"  predict  {each.predicted_ratio - 1:+.0%} {goal} "
        f"(between {each.predicted_low - 1:+.0%} and {each.predicted_high - 1:+.0%}), "
        f"from {each.proposed_from_runs} runs"
    )
    if each.applied_ms is not None:
        since = "" if each.active else "; the newest run does not have it"
        lines.append(f"  applied  {moment(each.applied_ms)} by {each.applied_app_id}{since}")
        lines.append(
            f"  runs     {each.runs_after} with the setting, {each.unusable_after} of them failed or incomplete"
        )
    if each.measured_ratio is not None and each.measured_low is not None and each.measured_high is not None:
        lines.append(
            f"  measured {each.measured_ratio - 1:+.0%} {goal} for the same input size (between "
            f"{each.measured_low - 1:+.0%} and {each.measured_high - 1:+.0%}), "
            f"{'as' if each.as_predicted else 'not as'} predicted"
        )
    if each.saved_cost is not None:
        per_run = money(each.saved_cost_per_run, found.currency)
        lines.append(f"  saved    {per_run} per run, {money(each.saved_cost, found.currency)} in all")
    if each.also_changed:
        lines.append(f"  also     changed in the same run: {', '.join(each.also_changed)}")
    if each.reason:
        lines.append(f"  open     {each.reason}")
    return lines


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
