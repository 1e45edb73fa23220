"""Computes Shapley values: how much each of a few factors contributes to a difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product


def contributions(
    outcome: Callable[[Mapping[str, float]], float], before: Mapping[str, float], after: Mapping[str, float]
) -> dict[str, float]:
    """Return how much each factor contributes to ``outcome(after) - outcome(before)``; they add up to this difference.

    The factors change from ``before`` to ``after`` one after another, in every possible order. The contribution of a
    factor is the change of the outcome when this factor changes, averaged over all orders. A factor that does not
    change contributes nothing, and swapping ``before`` and ``after`` negates all contributions. Source: Shapley, A
    Value for n-person Games (1953); as a decomposition of change: Shorrocks, Decomposition procedures for
    distributional analysis (J. of Economic Inequality 11, 2013). The outcome is evaluated 2^k times for k factors that
    change.
    """
    moved = [name for name in before if before[name] != after[name]]
    if not moved:
        return dict.fromkeys(before, 0.0)
    values: dict[tuple[bool, ...], float] = {}
    for taken in product((False, True), repeat=len(moved)):
        state = {**before, **{name: after[name] for name, is_after in zip(moved, taken, strict=True) if is_after}}
        values[taken] = outcome(state)
    found = dict.fromkeys(before, 0.0)
    weights = [_weight(size, len(moved)) for size in range(len(moved))]
    for taken, value in values.items():
        for place, name in enumerate(moved):
            if not taken[place]:
                joined = (*taken[:place], True, *taken[place + 1 :])
                found[name] += weights[sum(taken)] * (values[joined] - value)
    return found


def _weight(size: int, factors: int) -> float:
    """Return the share of orders in which a factor changes directly after a given set of ``size`` other factors."""
    return math.factorial(size) * math.factorial(factors - size - 1) / math.factorial(factors)
