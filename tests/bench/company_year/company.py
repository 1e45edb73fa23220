"""The jobs of a simulated company: the same seed gives the same jobs."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

from tests.bench.company_year.archetypes import ARCHETYPES
from tests.bench.company_year.job_year import HOUR_MS, LONGEST_RUN, JobYear, blank_year
from tests.bench.company_year.stage_shapes import draw_shapes

# The models are developed with one seed; the published figures are from the other.
SEEDS = {"develop": 20_250_101, "held-out": 481_516}
# The hours between runs, with the share of the jobs that have them.
EVERY_HOURS = ((1, 0.005), (4, 0.015), (12, 0.03), (24, 0.6), (168, 0.35))
# Empty hours need several runs a day.
SEVERAL_A_DAY = ("empty_runs",)
EVERY_HOURS_SEVERAL = ((1, 0.05), (3, 0.25), (6, 0.7))


def company(
    jobs: int, days: int, seed: int, archetypes: Sequence[str] = tuple(ARCHETYPES)
) -> Iterator[tuple[JobYear, np.random.Generator]]:
    """Yield so many jobs, equally distributed over the archetypes, each with its source of random numbers.

    A job depends on its archetype and number only, so fewer jobs or archetypes do not change the others.
    """
    names = list(archetypes)
    for place in range(jobs):
        name, number = names[place % len(names)], place // len(names)
        random = np.random.default_rng([seed, zlib.crc32(name.encode()), number])
        hours, shares = zip(*(EVERY_HOURS_SEVERAL if name in SEVERAL_A_DAY else EVERY_HOURS), strict=True)
        every = int(random.choice(hours, p=shares))
        shapes = draw_shapes(random, 0.1 * every * HOUR_MS)
        job = blank_year(name, number, random, shapes, days, every)
        ARCHETYPES[name](job, random)
        limit = LONGEST_RUN * every * HOUR_MS / max(1.0, sum(shape.base_ms for shape in shapes))
        np.minimum(job.wall, limit, out=job.wall)
        yield job, random
