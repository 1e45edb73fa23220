"""Who contributed what to a difference: the Shapley value, exact for a handful of factors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import product


def contributions(
    outcome: Callable[[Mapping[str, float]], float], before: Mapping[str, float], after: Mapping[str, float]
) -> dict[str, float]:
    """How much each factor contributed to ``outcome(after) - outcome(before)``; the contributions add up to it.

    The factors are moved from before to after one by one, in every order, and a factor's contribution is what its
    move changes on average over the orders: no order is preferred, as a waterfall must. A factor that does not move
    contributes nothing, and swapping before and after negates all. Source: Shapley, A Value for n-person Games (1953);
    as a decomposition of change: Shorrocks, Decomposition procedures for distributional analysis (J. of Economic
    Inequality 11, 2013). Only factors that move count, so the outcome is asked 2^k times for k moved factors.
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
    """The share of the orders in which a given factor moves right after a given set of ``size`` others."""
    return math.factorial(size) * math.factorial(factors - size - 1) / math.factorial(factors)
