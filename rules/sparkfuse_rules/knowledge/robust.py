"""Robust statistics on small samples: median, spread, Theil-Sen line and Student's t, without dependencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, pairwise

# An integer above this value is not exact as a double; as a duration, the value is 285,000 years in ms.
MAX_MS = 2**53
# The factor that makes the median absolute deviation of normal values equal to their standard deviation (Hampel 1974).
MAD_TO_SIGMA = 1.4826
_Z_95 = 1.6448536269514722


def median(values: Sequence[float]) -> float:
    """Return the median of ``values``. Raises ValueError if ``values`` is empty."""
    if not values:
        raise ValueError("the median of an empty list is not defined")
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def spread(values: Sequence[float]) -> float:
    """Return the median absolute deviation, scaled to a standard deviation.

    Up to half of the values may be outliers.
    """
    centre = median(values)
    return MAD_TO_SIGMA * median([abs(value - centre) for value in values])


def successive_spread(*series: Sequence[float]) -> float:
    """Return the spread of the values of one or several series around their trend, from successive differences.

    A trend or a single step does not increase the result. The differences of independent values have twice their
    variance (von Neumann 1941); their median absolute value replaces the mean square, so outliers do not matter.
    """
    steps = [abs(later - earlier) for values in series for earlier, later in pairwise(values)]
    return MAD_TO_SIGMA * median(steps) / math.sqrt(2) if steps else 0.0


def theil_sen_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the median slope over all pairs of points with different x; 0.0 if all x are equal.

    Up to 29 % of the points may be outliers (Theil 1950, Sen 1968).
    """
    slopes = [(y2 - y1) / (x2 - x1) for (x1, y1), (x2, y2) in combinations(points, 2) if x1 != x2]
    return median(slopes) if slopes else 0.0


def student_t_95(degrees: int) -> float:
    """Return the one-sided 95 % quantile of Student's t, with an error of at most 2 %.

    Fewer degrees of freedom give a higher quantile.

    The formula is the Cornish-Fisher expansion (Abramowitz and Stegun 26.7.5); for one and two degrees of freedom it is
    exact.
    """
    if degrees <= 2:
        return 2.919986 if degrees == 2 else 6.313752
    z, n = _Z_95, float(degrees)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3


def prediction_factor(samples: int, estimated: int) -> float:
    """Return the number of scales between the centre and the p95 of the next value.

    The factor is the bound of a prediction interval, t * sqrt(1 + 1/n), so few samples give a wide interval.
    ``estimated`` is the number of parameters that were estimated from the samples.
    """
    return student_t_95(max(1, samples - estimated)) * math.sqrt(1 + 1 / samples)
