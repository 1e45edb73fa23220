"""Estimates what an application costs, and what stopping it now avoids. An unknown cost is None, never 0."""

from __future__ import annotations

from sparkfuse_rules.prices import Prices

SECONDS_PER_HOUR = 3600
MIB_PER_GIB = 1024


def cost(core_seconds: float | None, gib_seconds: float | None, prices: Prices | None) -> float | None:
    """Return the cost of an allocation, in the currency of ``prices``; None if a part of it or the prices are unknown.

    cost = core_seconds / 3600 x core_hour + gib_seconds / 3600 x gib_hour

    Args:
        core_seconds: sum over executors of cores x lifetime in seconds.
        gib_seconds: sum over executors of memory in GiB x lifetime in seconds.
        prices: prices of a core-hour and of a GiB-hour; None if costs are switched off.
    """
    if not core_seconds or gib_seconds is None or prices is None:
        return None
    return (core_seconds * prices.core_hour + gib_seconds * prices.gib_hour) / SECONDS_PER_HOUR


def cost_avoided(cost_so_far: float | None, elapsed_ms: int | None, remaining_ms: int | None) -> float | None:
    """Return what the rest of an application would cost; None if its cost or its remaining time is unknown.

    cost_avoided = cost_so_far x remaining_ms / elapsed_ms, which assumes that the application keeps its average size.
    A remaining time of 0 or less means that the usual end has passed: how long the application would run is unknown.

    Args:
        cost_so_far: cost of the application so far.
        elapsed_ms: time since the application started.
        remaining_ms: time until the usual end, or until the deadline.
    """
    if cost_so_far is None or not elapsed_ms or remaining_ms is None or min(elapsed_ms, remaining_ms) <= 0:
        return None
    return cost_so_far * remaining_ms / elapsed_ms


def share_of_cost(cost_so_far: float | None, core_ms: int, allocated_core_ms: int) -> float | None:
    """Return what some core time of an application has cost; None if the cost of the application is unknown.

    share_of_cost = cost_so_far x core_ms / allocated_core_ms. The costs of all stages and of the idle cores add up to
    the cost of the application if its executors are equal. Core time beyond the allocated time is a fault of the
    measurement and costs nothing.

    Args:
        cost_so_far: cost of the application so far.
        core_ms: core time of the tasks of a part of the application.
        allocated_core_ms: core time of all executors of the application so far.
    """
    if cost_so_far is None or allocated_core_ms <= 0:
        return None
    return cost_so_far * min(1.0, core_ms / allocated_core_ms)


def readable_money(amount: float | None, currency: str) -> str:
    """Format an amount for people, such as ``12.50 USD``; ``unknown`` for None.

    An amount below 0.01 that is not 0 is rendered as ``less than 0.01 USD``.
    """
    if amount is None:
        return "unknown"
    return f"less than 0.01 {currency}" if 0 < amount < 0.01 else f"{amount:,.2f} {currency}"


def cost_sentence(amount: float | None, avoidable: float | None, currency: str) -> str:
    """Return the costs of a finding as one sentence; empty if the cost is unknown."""
    if amount is None:
        return ""
    rest = f"; the rest of the run would cost {readable_money(avoidable, currency)}" if avoidable is not None else ""
    return f"Estimated cost so far: {readable_money(amount, currency)}{rest}."
