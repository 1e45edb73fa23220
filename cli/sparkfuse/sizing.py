"""Estimates the partitions, cores, memory, storage and money that Sparkfuse needs for a number of tasks a day.

docs/sizing.md lists how each value of `MEASURED` was measured. The estimate is linear in the number of tasks, and the
jobs were measured with 20,000 running tasks on two cores, so larger numbers are extrapolations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sparkfuse_rules.prices import Prices

DAY_SECONDS = 86_400
MONTH_HOURS = 730
MONTH_DAYS = MONTH_HOURS / 24
GB, GIB = 1e9, 2**30


@dataclass(frozen=True)
class Measured:
    """What one task causes. Sizes are bytes on disk after compression; CPU times are those of a running fleet."""

    facts_per_task: float
    facts_per_task_second: float
    rows_per_task: float
    rows_per_task_second: float
    kafka_bytes_per_fact: float
    kafka_bytes_per_row: float
    store_bytes_per_fact: float
    store_bytes_per_row: float
    windows_cpu_seconds_per_fact: float
    detect_cpu_seconds_per_row: float
    loader_cpu_seconds_per_record: float
    broker_cpu_seconds_per_record: float
    # State and JVM of one slot of a Flink job with `running_tasks_per_slot` running tasks.
    slot_bytes: float
    running_tasks_per_slot: float


MEASURED = Measured(
    facts_per_task=1.13,
    facts_per_task_second=0.30,
    rows_per_task=0.13,
    rows_per_task_second=0.19,
    kafka_bytes_per_fact=90,
    kafka_bytes_per_row=109,
    store_bytes_per_fact=133,
    store_bytes_per_row=122,
    windows_cpu_seconds_per_fact=63e-6,
    detect_cpu_seconds_per_row=150e-6,
    loader_cpu_seconds_per_record=15e-6,
    broker_cpu_seconds_per_record=13e-6,
    slot_bytes=1.3e9,
    running_tasks_per_slot=20_000,
)


@dataclass(frozen=True)
class Workload:
    """The tasks of a company: their number and mean duration, and the load of the busiest hour by that of the mean."""

    tasks_per_day: float
    task_seconds: float = 30.0
    peak: float = 3.0


@dataclass(frozen=True)
class Plan:
    """What people decide: copies of the data, days for which it is kept, and the use of a core at the peak."""

    kafka_copies: int = 3
    kafka_days: float = 1.0
    store_copies: int = 2
    fact_days: float = 30.0
    row_days: float = 90.0
    use: float = 0.5
    disk_price: float = 0.08


@dataclass(frozen=True)
class Estimate:
    """The result; rates are those of the busiest hour, ``cores`` and ``bytes`` are allocated, money is per month."""

    facts_per_second: float
    rows_per_second: float
    running_tasks: float
    partitions: int
    windows_slots: int
    detect_slots: int
    flink_bytes: float
    loader_cores: float
    broker_cores: float
    kafka_bytes_per_second: float
    kafka_disk_bytes: float
    store_bytes_per_day: float
    store_disk_bytes: float
    cores: float
    money: float
    money_per_million_tasks: float


def estimate(work: Workload, plan: Plan, prices: Prices, measured: Measured) -> Estimate:
    """Return what a workload needs. One slot is one core; the topics get two partitions for each slot of a job."""
    facts = _per_day(work, measured.facts_per_task, measured.facts_per_task_second)
    rows = _per_day(work, measured.rows_per_task, measured.rows_per_task_second)
    busiest = work.peak / DAY_SECONDS
    running = work.tasks_per_day * work.task_seconds * busiest
    by_state = running / measured.running_tasks_per_slot
    windows = _slots(facts * busiest * measured.windows_cpu_seconds_per_fact / plan.use, by_state)
    detect = _slots(rows * busiest * measured.detect_cpu_seconds_per_row / plan.use, by_state)
    loader = (facts + rows) * busiest * measured.loader_cpu_seconds_per_record / plan.use * plan.store_copies
    broker = (facts + rows) * busiest * measured.broker_cpu_seconds_per_record / plan.use * plan.kafka_copies
    kafka_per_day = facts * measured.kafka_bytes_per_fact + rows * measured.kafka_bytes_per_row
    stored_facts, stored_rows = facts * measured.store_bytes_per_fact, rows * measured.store_bytes_per_row
    kafka_disk = kafka_per_day * plan.kafka_days * plan.kafka_copies
    store_disk = (stored_facts * plan.fact_days + stored_rows * plan.row_days) * plan.store_copies
    cores, memory = windows + detect + loader + broker, (windows + detect) * measured.slot_bytes
    hourly = cores * prices.core_hour + memory / GIB * prices.gib_hour
    money = hourly * MONTH_HOURS + (kafka_disk + store_disk) / GB * plan.disk_price
    return Estimate(
        facts_per_second=facts * busiest,
        rows_per_second=rows * busiest,
        running_tasks=running,
        partitions=2 * max(windows, detect),
        windows_slots=windows,
        detect_slots=detect,
        flink_bytes=memory,
        loader_cores=loader,
        broker_cores=broker,
        kafka_bytes_per_second=kafka_per_day * busiest,
        kafka_disk_bytes=kafka_disk,
        store_bytes_per_day=stored_facts + stored_rows,
        store_disk_bytes=store_disk,
        cores=cores,
        money=money,
        money_per_million_tasks=money / (work.tasks_per_day * MONTH_DAYS / 1e6),
    )


def _per_day(work: Workload, per_task: float, per_task_second: float) -> float:
    return work.tasks_per_day * (per_task + per_task_second * work.task_seconds)


def _slots(by_cpu: float, by_state: float) -> int:
    return max(1, math.ceil(max(by_cpu, by_state)))
