"""`sparkfuse explain`: why a run was slow or failed, and what would have changed its duration."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import typer

from sparkfuse.analysis.terminal_text import printable
from sparkfuse.commands.history import DEFAULT_HOME, Home, Limit, ask, duration, share, size
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.commands.run import expected_text, print_findings, unknown_application

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries import RunExplanation, UsualRun

VERDICTS = {
    "failed": "The run failed",
    "slow": "The run is slower than expected",
    "as_expected": "The run took as long as expected",
    "unknown": "Whether the run is slow is not known",
}


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(explain)


def explain(app_id: str, home: Home = DEFAULT_HOME, limit: Limit = 10, as_json: Json = False) -> None:
    """Explain why a run was slow or failed: first cause, causes of the excess, slow stages, predictions, findings.

    Reads the store at SPARKFUSE_CLICKHOUSE_URL, or else that of the stack in --home.
    """
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.explain_run(client, app_id, limit))
    if found is None:
        raise unknown_application(app_id)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    for line in _explanation(found):
        typer.echo(printable(line))
    if found.usual:
        _print_usual(found.usual)
    if found.excess:
        _print_excess(found)
    _print_predictions(found)
    print_findings(f"{found.run.job_key}, {app_id}", found.findings)


def _explanation(found: RunExplanation) -> list[str]:
    lines = [f"{VERDICTS[found.verdict]}: {found.run.job_key}, completeness {share(found.completeness) or 'unknown'}."]
    if found.first_cause:
        retry = f" (retry: {found.first_cause.retry})" if found.first_cause.retry else ""
        lines.append(f"First cause: {found.first_cause.first_cause}{retry}")
    if found.expected and found.run.elapsed_ms is not None:
        took, excess = duration(found.run.elapsed_ms), duration(abs(found.excess_ms or 0))
        more = "longer" if (found.excess_ms or 0) >= 0 else "shorter"
        lines.append(
            f"It took {took}, {excess} {more} than expected: {expected_text(found.expected)} "
            f"({found.expected.runs} earlier runs)."
        )
    lines.append(f"{found.stages_compared} of {found.stages_total} stages have an expected duration.")
    return lines


def _print_usual(usual: UsualRun) -> None:
    title = (
        f"Compared with {usual.app_id}, the most usual of {usual.runs} earlier run{'s' if usual.runs > 1 else ''}: "
        f"{_signed(usual.difference_ms)}"
    )
    print_table(
        title,
        ["cause", "difference", "meaning"],
        [(each.cause, _signed(each.difference_ms), each.meaning) for each in usual.causes],
    )
    queries = [each for each in usual.queries if each.difference_ms]
    if queries:
        print_table(
            "Queries that differ most",
            ["query", "usually", "took", "difference"],
            [
                (each.name, duration(each.usual_ms), duration(each.took_ms), _signed(each.difference_ms))
                for each in queries
            ],
        )


def _print_predictions(found: RunExplanation) -> None:
    if found.predictions:
        print_table(
            "Predicted duration if only this had been different",
            ["change", "duration", "difference", "meaning"],
            [
                (each.change.replace("_", " "), duration(each.predicted_ms), _signed(-each.saved_ms), each.meaning)
                for each in found.predictions
            ],
        )


def _print_excess(found: RunExplanation) -> None:
    print_table(
        "Stages above their expected durations",
        ["stage", "name", "took", "expected, p95", "excess", "above p95", "failed tasks", "spilled", "completeness"],
        [
            (
                f"{each.stage_id}.{each.stage_attempt}",
                each.stage_name,
                duration(each.elapsed_ms),
                f"{duration(each.expected_ms)}, p95 {duration(each.expected_p95_ms)}",
                f"+{duration(each.excess_ms)}",
                "yes" if each.above_p95 else "no",
                each.failed_tasks or 0,
                size(each.disk_spilled_bytes),
                share(each.completeness),
            )
            for each in found.excess
        ],
    )


def _signed(milliseconds: int) -> str:
    return f"{'-' if milliseconds < 0 else '+'}{duration(abs(milliseconds))}"
