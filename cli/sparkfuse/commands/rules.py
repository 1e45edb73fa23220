"""`sparkfuse rules`: show the rules, check them, run their cases and apply changes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse_contracts.settings import Settings

if TYPE_CHECKING:
    from sparkfuse_rules.catalog import Catalog
    from sparkfuse_rules.rule import Rule

commands = typer.Typer(help="Show the rules, check them, run their cases and apply changes.", no_args_is_help=True)
POLL_SECONDS = 0.2
Patience = Annotated[float, typer.Option("--seconds", help="How long to wait for detection to restart.")]
Folder = Annotated[Path | None, typer.Option("--catalog", help="Folder of rule files instead of the shipped ones.")]


def catalog(folder: Path | None) -> Catalog:
    """The rules with the overrides of sparkfuse.yaml.

    Raises:
        StartError: a file or an override is invalid; the message names file, key and the most similar valid key.
    """
    from sparkfuse_rules.catalog import load_catalog
    from sparkfuse_rules.errors import RuleError
    from sparkfuse_rules.owners import read_owners
    from sparkfuse_rules.prices import read_prices

    configuration = Settings.from_environment(os.environ).config_file
    try:
        read_owners(configuration)
        read_prices(configuration)
        return load_catalog(folder, configuration)
    except RuleError as refused:
        raise StartError(str(refused), USAGE) from refused


@commands.command("list")
def list_(folder: Folder = None, as_json: Json = False) -> None:
    """List the rules."""
    rules = [_summary(rule) for rule in catalog(folder).values()]
    if as_json:
        print_json(rules)
        return
    print_table("Rules", list(rules[0]), [list(rule.values()) for rule in rules])


def _summary(rule: Rule) -> dict[str, str]:
    return {
        "rule": rule.id,
        "view": rule.view,
        "severity": ", ".join(rule.severity),
        "fuse": ", ".join(rule.fuse.actions) if rule.fuse else "none",
        "summary": rule.summary,
    }


@commands.command()
def show(rule: str, folder: Folder = None, as_json: Json = False) -> None:
    """Show one rule: its condition, its thresholds with their reasons, and its runbook."""
    known = catalog(folder)
    if rule not in known:
        raise StartError(f"there is no rule {rule!r}; the rules are: {', '.join(known)}", USAGE)
    found = known[rule]
    params = [
        {"name": name, "value": param.value, "default": param.default, "unit": param.unit, "why": param.why}
        for name, param in found.params.items()
    ]
    if as_json:
        print_json({**_summary(found), "when": found.when, "params": params, "runbook": found.runbook})
        return
    typer.echo(f"{found.id}: {found.summary}\nview {found.view}, condition {found.when.strip()}\n")
    print_table(
        "Thresholds", ["name", "value", "unit", "why"], [(p["name"], p["value"], p["unit"], p["why"]) for p in params]
    )
    typer.echo(f"Runbook:\n{found.runbook}")


@commands.command()
def check(folder: Folder = None) -> None:
    """Load and compile all rules with the overrides; report errors with file, key and the most similar valid name."""
    typer.echo(f"{len(catalog(folder))} rules valid")


@commands.command()
def backtest(
    since: Annotated[
        str, typer.Option("--since", help="Evaluate runs that started within this time, such as 30d.")
    ] = "30d",
    rule: Annotated[
        list[str] | None, typer.Option("--rule", help="Only this rule; may be given more than once.")
    ] = None,
    job: Annotated[str, typer.Option("--job", help="Only this job.")] = "",
    folder: Folder = None,
    home: Home = DEFAULT_HOME,
    as_json: Json = False,
) -> None:
    """Replay the rules over the store's history: what they would have reported and stopped, and what is unknown."""
    from sparkfuse.commands.backtest import run_backtest

    run_backtest(catalog(folder), since, rule or [], job, home, as_json)


@commands.command()
def precision(
    rule: Annotated[str, typer.Option("--rule", help="Only this rule.")] = "",
    folder: Folder = None,
    home: Home = DEFAULT_HOME,
    as_json: Json = False,
) -> None:
    """Show how many findings people judged as useful, by rule and team, and which rules are demoted to info."""
    from sparkfuse.commands.feedback import print_precision

    print_precision(catalog(folder), home, rule, as_json)


@commands.command("test")
def run_cases_of_all(folder: Folder = None, as_json: Json = False) -> None:
    """Run every case of every rule; exit code 1 if a case gives another result."""
    from sparkfuse_rules.cases import run_cases

    results = run_cases(catalog(folder).values(), "datafusion", _query)
    failed = [
        {"rule": result.rule.id, "case": result.case.name, "expected": result.case.expect, "actual": result.actual}
        for result in results
        if not result.passed
    ]
    if as_json:
        print_json({"cases": len(results), "failed": failed})
    else:
        for case in failed:
            typer.echo(f"{case['rule']}: {case['case']}: expected {case['expected']}, got {case['actual']}")
        typer.echo(f"{len(results)} cases, {len(failed)} failed")
    raise typer.Exit(1 if failed else 0)


@commands.command()
def apply(home: Home = DEFAULT_HOME, seconds: Patience = 300.0) -> None:
    """Check the rules and sparkfuse.yaml, then restart detection from its last checkpoint so that it uses them.

    Firing findings and baselines are kept; a changed or new rule is evaluated from the next window on.
    """
    from sparkfuse.stack.layout import Layout, Ports, addresses_of_running_stack

    count = len(catalog(None))
    addresses = addresses_of_running_stack(home)
    if not addresses:
        raise StartError(
            f"no stack runs in {home}: if detection runs elsewhere, restart its Flink job from its last checkpoint"
        )
    layout = Layout.from_environment(home, Ports(), addresses)
    jobs = ["detect", *(f"detect-{source.name}" for source in layout.sources)]
    requests = [layout.requests / job for job in jobs]
    layout.requests.mkdir(exist_ok=True)
    for request in requests:
        request.touch()
    started = time.monotonic()
    while left := [request.name for request in requests if request.exists()]:
        if time.monotonic() - started > seconds:
            raise StartError(f"detection did not restart within {seconds:.0f} s; see {home}/logs/{left[0]}.log")
        time.sleep(POLL_SECONDS)
    typer.echo(f"detection restarted in {time.monotonic() - started:.0f} s with {count} rules and its earlier state")


def _query(statement: str) -> Iterable[tuple[int, str | None]]:
    import datafusion

    rows = datafusion.SessionContext().sql(statement).to_pylist()
    return [(int(row["case_number"]), row["severity"]) for row in rows]
