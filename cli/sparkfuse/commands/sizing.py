"""`sparkfuse sizing`: what Sparkfuse needs for a number of tasks a day."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated

import typer

from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.sizing import GB, GIB, MEASURED, Estimate, Plan, Workload, estimate
from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.prices import Prices, read_prices

DEFAULT_TASKS = (1e7, 1e8, 1e9)
PLAN = Plan()
# What the table shows of an estimate, and how.
FIGURES: tuple[tuple[str, Callable[[Estimate], str]], ...] = (
    ("facts, busiest hour", lambda each: f"{each.facts_per_second:,.0f}/s"),
    ("live rows, busiest hour", lambda each: f"{each.rows_per_second:,.0f}/s"),
    ("running tasks, busiest hour", lambda each: f"{each.running_tasks:,.0f}"),
    ("partitions of facts and of live", lambda each: str(each.partitions)),
    ("slots of windows, one core each", lambda each: str(each.windows_slots)),
    ("slots of detect, one core each", lambda each: str(each.detect_slots)),
    ("memory of both jobs", lambda each: f"{each.flink_bytes / GIB:,.0f} GiB"),
    ("cores of loader and store", lambda each: f"{each.loader_cores:,.1f}"),
    ("cores of the brokers", lambda each: f"{each.broker_cores:,.1f}"),
    ("written to Kafka, busiest hour", lambda each: f"{each.kafka_bytes_per_second / 1e6:,.1f} MB/s"),
    ("disk of Kafka, all copies", lambda each: f"{each.kafka_disk_bytes / GB:,.0f} GB"),
    ("written to the store, one copy", lambda each: f"{each.store_bytes_per_day / GB:,.1f} GB a day"),
    ("disk of the store, all copies", lambda each: f"{each.store_disk_bytes / GB:,.0f} GB"),
)
Tasks = Annotated[
    list[float] | None, typer.Argument(metavar="[TASKS]...", help="Tasks a day, such as 2e7; default: 1e7 1e8 1e9.")
]
Seconds = Annotated[float, typer.Option("--task-seconds", help="Mean duration of a task [s].")]
Peak = Annotated[float, typer.Option("--peak", help="Tasks of the busiest hour divided by those of a mean hour.")]
FactDays = Annotated[float, typer.Option("--fact-days", help="Days for which the store keeps facts.")]
RowDays = Annotated[float, typer.Option("--row-days", help="Days for which the store keeps live rows.")]
DiskPrice = Annotated[float, typer.Option("--disk-price", help="Price of a GB of disk for a month.")]


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(sizing)


def sizing(
    tasks: Tasks = None,
    task_seconds: Seconds = 30.0,
    peak: Peak = 3.0,
    fact_days: FactDays = PLAN.fact_days,
    row_days: RowDays = PLAN.row_days,
    disk_price: DiskPrice = PLAN.disk_price,
    as_json: Json = False,
) -> None:
    """Estimate partitions, cores, memory, storage and money for a number of tasks a day.

    Cores and memory have the prices of sparkfuse.yaml, or the list prices of its cloud. docs/sizing.md has the
    formulas.
    """
    plan = dataclasses.replace(PLAN, fact_days=fact_days, row_days=row_days, disk_price=disk_price)
    works = [Workload(each, task_seconds, peak) for each in tasks or DEFAULT_TASKS]
    for work in works:
        if not (0 < work.tasks_per_day <= 1e13 and 0 < task_seconds <= 86_400 and 1 <= peak <= 24):
            raise StartError("sizing needs 1 to 1e13 tasks a day of up to a day each, and a peak of 1 to 24", USAGE)
    if not all(0 <= each <= 10_000 for each in (fact_days, row_days, disk_price)):
        raise StartError("days and prices must be numbers from 0 to 10000", USAGE)
    prices = _prices()
    found = [estimate(work, plan, prices, MEASURED) for work in works]
    if as_json:
        documents = [
            {**dataclasses.asdict(work), **dataclasses.asdict(each), "currency": prices.currency}
            for work, each in zip(works, found, strict=True)
        ]
        print_json(documents)
        return
    headings = ["", *(f"{work.tasks_per_day:,.0f} tasks a day" for work in works)]
    print_table("Sizing", headings, table(found, prices.currency))
    typer.echo(f"Tasks of {task_seconds:g} s, peak {peak:g}, {prices.source}; formulas and limits: docs/sizing.md")


def table(found: Sequence[Estimate], currency: str) -> list[list[str]]:
    """Return one row for each figure, with one cell for each estimate."""
    rows = [[name, *(cell(each) for each in found)] for name, cell in FIGURES]
    money = ["money", *(f"{each.money:,.0f} {currency} a month" for each in found)]
    of_tasks = ["money for a million tasks", *(f"{each.money_per_million_tasks:,.2f} {currency}" for each in found)]
    return [*rows, money, of_tasks]


def _prices() -> Prices:
    file = Settings.from_environment().config_file
    try:
        found = read_prices(file)
    except RuleError as error:
        raise StartError(str(error), USAGE) from error
    if found is None:
        raise StartError("sizing needs prices, but sparkfuse.yaml has `prices: off`", USAGE)
    return found
