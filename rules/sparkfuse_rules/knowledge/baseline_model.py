"""The model of a stage's duration: a robust line on the log scale, with its p95.

``log(time) = level + slope * log(work)``. Runs differ by factors, so durations are compared on the log scale.
Sources: Theil 1950 and Sen 1968 for the slope, Hampel 1974 for the scale, Student 1908 for the wider p95 if there are
few samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkfuse_rules.knowledge.driver_idle import DriverIdle, fit_driver_idle
from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, spread, theil_sen_slope
from sparkfuse_rules.knowledge.work import BYTES, MEASURES, NONE, RECORDS, ROWS, Work

# With fewer than five runs, outliers (up to 30 %) cannot be distinguished from the other runs.
MIN_RUNS = 5
# The smallest spread that the model assumes between undisturbed runs of one stage, on the log scale.
MIN_SCALE = math.log(1.15)
# A slope is fitted only if the middle two fifths of the sizes cover at least a factor of 1.2. With less variation,
# noise would determine the slope; if all sizes counted, a few outliers would determine it.
MIN_SIZE_SPREAD = math.log(1.2)
# The time of a sort grows with n log n; the time of a join on keys grows faster than its input. A line steeper than
# quadratic is a wrong fit.
MAX_SLOPE = 2.0
# Above the learned sizes, the p95 is also multiplied by the ratio of the size to the largest learned size, raised to
# this power.
UNSEEN_SIZE_POWER = 0.25
# Outside the learned sizes, the expected duration follows the work up to a size this many times larger or smaller.
# Beyond that size there is no evidence: a stage that is mostly overhead takes no longer for ten times the rows.
UNSEEN_SIZE_REACH = math.log(4)
# Below the learned sizes, at least this share of CPU time is proportional to the work. In long stages, constant work,
# such as class loading or building a table on each executor, takes less than half of the CPU time. Wall time has no
# such minimum, because a service may take as long for one row as for many.
CPU_WITH_THE_WORK = 0.5
# Each measure of work exceeds its learned sizes by a factor; the factor is limited to this many times the smallest
# factor of all measures. Rows may be wider than before, so bytes may grow faster than records. But after the eviction
# of a cache, a stage reads a million rows instead of a hundred batches, although its work is the same.
MEASURES_DIFFER = math.log(10)
# Differences below these times are noise from class loading and scheduling: the first tasks of a JVM take 1 to 3 s
# longer.
WALL_SLACK_MS = 2000.0
CPU_SLACK_MS = 1000.0
# If no measure of work is known, a larger input cannot be distinguished from a slower run. So the p95 is raised by this
# factor.
UNKNOWN_WORK_FACTOR = 2.0


# The rows of SQL operators are only known when a stage ends. If a job usually has more operator rows than records read,
# by more than this factor, the work of its running application is unknown.
LATE_ROWS = math.log(2)


@dataclass(frozen=True)
class Sample:
    """The training sample of one run of a stage or application; times are in ms, work is input and shuffle read.

    None means not reported. ``operator_rows`` are the rows of SQL operators, for stages that read neither bytes nor
    records. ``between_jobs_ms`` exists for applications only, ``disk_spilled_bytes`` for stages only.
    """

    run_key: str
    learned_ms: int
    wall_ms: int
    cpu_ms: int | None = None
    work_bytes: int | None = None
    work_records: int | None = None
    num_tasks: int | None = None
    abnormal: bool = False
    operator_rows: int | None = None
    between_jobs_ms: int | None = None
    disk_spilled_bytes: int | None = None

    @property
    def work(self) -> Work:
        """The amount of work of the run."""
        return Work(self.work_bytes, self.work_records, self.operator_rows)


@dataclass(frozen=True)
class Expectation:
    """The expected durations in ms of a stage for an amount of work, and the number of runs behind them.

    ``work_measure`` is the measure of the work: bytes, records or rows. If the work is unknown, the expectation is for
    the usual work; then ``work_measure`` is none and ``work_known`` is false.
    """

    runs: int
    expected_ms: int
    expected_p95_ms: int
    expected_cpu_ms: int | None
    expected_cpu_p95_ms: int | None
    work_known: bool
    work_measure: str


@dataclass(frozen=True)
class Line:
    """A fitted line on the log scale, and the range of sizes that it was fitted to."""

    level: float  # log ms at reference_size
    slope: float
    scale: float  # spread of the residuals, log
    factor: float  # the p95 is this many scales above the centre
    reference_size: float  # log of the median work; 0.0 without sizes
    smallest: float
    largest: float
    fitted: bool = False  # whether the sizes vary enough to fit a slope
    with_work: float = 0.0  # smallest share of the time that is proportional to the work below the learned sizes

    def at(self, size: float | None) -> tuple[float, float]:
        """Return the expected duration and the p95 in ms for ``size``, the log of the work; None means the usual work.

        Outside the learned sizes, the expected duration changes with the work up to a factor of four. Above the learned
        sizes, the p95 rises with the work without limit. Below the learned sizes, only the share ``with_work`` of the
        p95 falls.
        """
        if size is None:
            return self._bounds(self.level, 0.0)
        inside = min(max(size, self.smallest), self.largest)
        excess, shortfall = max(0.0, size - self.largest), max(0.0, self.smallest - size)
        centre = self.level + self.slope * (inside - self.reference_size)
        # Above the learned sizes, time grows at least in proportion to the work: the overhead of small sizes hides the
        # slope.
        rise = max(1.0, self.slope)
        # Below the learned sizes, the time falls no faster than the work, because the overhead stays the same. If no
        # slope was fitted, the true slope may be 1.
        fall = min(1.0, self.slope) if self.fitted else 1.0
        beyond = rise * min(excess, UNSEEN_SIZE_REACH) - fall * min(shortfall, UNSEEN_SIZE_REACH)
        remaining = math.log1p(self.with_work * fall * math.expm1(-shortfall))
        _, bound = self._bounds(centre + rise * excess + remaining, excess)
        return math.exp(centre + beyond), bound

    def _bounds(self, centre: float, excess: float) -> tuple[float, float]:
        return math.exp(centre), math.exp(centre + self.factor * self.scale + UNSEEN_SIZE_POWER * excess)


@dataclass(frozen=True)
class Fit:
    """The fitted lines of one stage by measure of work; the key "" is the line for unknown work.

    A measure gets a line only if enough samples have this measure. ``driver_idle`` is the model of the driver's idle
    time; only applications with enough samples have it. ``disk_spilled_bytes`` is the largest spill of the samples,
    None if no sample has it.
    """

    runs: int
    wall: Mapping[str, Line]
    cpu: Mapping[str, Line]
    usual: Mapping[str, float]  # log of the median work by measure
    driver_idle: DriverIdle | None = None
    disk_spilled_bytes: int | None = None

    def at(self, work: Work, running: bool = False) -> Expectation:
        """Return the expectation for this amount of work, from the measure that gives the longest expected duration.

        If a ``running`` stage has less than its usual work, the usual work is used, because the stage has not read all
        its input yet. Rows of SQL operators are only known when a stage ends, so they cannot measure the work of a
        running stage.
        """
        sizes = self._sizes(work, running)
        return self._expectation(sizes, bool(sizes) and not (running and self._known_only_at_end()))

    def at_usual(self) -> Expectation:
        """Return the expectation for the usual work, for a run whose work is not known yet."""
        return self._expectation(self.usual, bool(self.usual))

    def _expectation(self, sizes: Mapping[str, float], work_known: bool) -> Expectation:
        walls = _estimates(self.wall, sizes)
        measure = max(walls, key=walls.__getitem__)
        wall, wall_p95 = _highest(walls)
        cpu_sizes = {each: size for each, size in sizes.items() if each in self.cpu}
        cpu, cpu_p95 = _highest(_estimates(self.cpu, cpu_sizes)) if "" in self.cpu else (None, None)
        return Expectation(
            runs=self.runs,
            expected_ms=_whole(wall),
            expected_p95_ms=_bound(wall_p95, WALL_SLACK_MS, work_known),
            expected_cpu_ms=None if cpu is None else _whole(cpu),
            expected_cpu_p95_ms=None if cpu_p95 is None else _bound(cpu_p95, CPU_SLACK_MS, work_known),
            work_known=work_known,
            work_measure=measure if work_known else NONE,
        )

    def _sizes(self, work: Work, running: bool) -> dict[str, float]:
        sizes = {measure: size for measure, size in work.sizes().items() if measure in self.wall}
        credible = self._credible(sizes)
        if not running:
            return credible
        # The usual sizes are applied after `_credible`, because a measure that is not known yet must not limit the
        # other measures.
        return {measure: max(credible.get(measure, usual), usual) for measure, usual in self.usual.items()}

    def _credible(self, sizes: dict[str, float]) -> dict[str, float]:
        """Limit how far each size exceeds its learned sizes, relative to the measure with the smallest excess."""
        if len(sizes) < 2:
            return sizes
        least = min(size - self.wall[measure].largest for measure, size in sizes.items())
        most = max(least, 0.0) + MEASURES_DIFFER
        return {measure: min(size, self.wall[measure].largest + most) for measure, size in sizes.items()}

    def _known_only_at_end(self) -> bool:
        """Return whether most of the work is in rows of operators, which are only known when the stage ends."""
        usual = self.usual
        if ROWS not in usual:
            return False
        return BYTES not in usual if RECORDS not in usual else usual[ROWS] - usual[RECORDS] > LATE_ROWS


def _log_ms(milliseconds: int) -> float:
    return math.log(max(1, milliseconds))


def fit_lines(samples: Sequence[Sample], runs: int) -> Fit:
    """Fit one line for each measure of work that enough ``samples`` have.

    ``runs`` is the number of different runs among the samples. Each line is fitted to the samples that have the line's
    measure, so one run without input does not remove the line.
    """
    wall: dict[str, Line] = {}
    cpu: dict[str, Line] = {}
    all_sizes = [sample.work.sizes() for sample in samples]
    for measure in ("", *MEASURES):  # the key "" is for unknown work
        sized = [(sizes.get(measure), each) for sizes, each in zip(all_sizes, samples, strict=True)]
        if measure:
            sized = [(size, each) for size, each in sized if size is not None]
        sized_runs = len({each.run_key for _, each in sized})
        if sized_runs < min(MIN_RUNS, runs):
            continue
        timed = [(size, _log_ms(each.cpu_ms)) for size, each in sized if each.cpu_ms is not None]
        if 2 * len(timed) > len(sized):
            cpu[measure] = replace(_line(timed, sized_runs), with_work=CPU_WITH_THE_WORK)
        walls = [(size, _log_ms(each.wall_ms)) for size, each in sized]
        wall[measure] = _line(walls, sized_runs, _steepest_wall(cpu.get(measure)))
    usual = {measure: line.reference_size for measure, line in wall.items() if measure}
    return Fit(runs, wall, cpu, usual, _driver_idle(samples))


def _driver_idle(samples: Sequence[Sample]) -> DriverIdle | None:
    times = [(each.wall_ms, each.between_jobs_ms) for each in samples if each.between_jobs_ms is not None]
    return fit_driver_idle(times, MIN_SCALE) if len(times) >= MIN_RUNS else None


def _steepest_wall(cpu: Line | None) -> float:
    """Return the largest allowed slope of the wall time, derived from the slope of the CPU time.

    The limit exists because noise during larger runs makes the slope of wall time steeper than that of CPU time.
    """
    return max(1.0, cpu.slope) if cpu is not None and cpu.fitted else MAX_SLOPE


def _line(timed: Sequence[tuple[float | None, float]], runs: int, steepest: float = MAX_SLOPE) -> Line:
    """Return the line fitted to (log size, log time); for the line of unknown work, all sizes are None."""
    sizes = [size for size, _ in timed if size is not None]
    reference = median(sizes) if sizes else 0.0
    points = [(size or 0.0, time) for size, time in timed]
    middle = _middle(sizes)
    fitted = len(sizes) >= MIN_RUNS and middle[1] - middle[0] >= MIN_SIZE_SPREAD
    slope = min(max(theil_sen_slope(points), 0.0), steepest) if fitted else 0.0
    levels = [y - slope * (x - reference) if sizes else y for x, y in points]
    scale = max(spread(levels), MIN_SCALE)
    factor = prediction_factor(runs, 2 if slope else 1)
    # Without a slope, the level is valid only for the usual sizes, and not for the sizes of outliers.
    smallest, largest = (min(sizes), max(sizes)) if fitted else middle
    return Line(median(levels), slope, scale, factor, reference, smallest, largest, fitted)


def _middle(sizes: Sequence[float]) -> tuple[float, float]:
    """Return the lower and upper bound of the middle two fifths of the sizes; both are 0.0 if there are no sizes."""
    if not sizes:
        return 0.0, 0.0
    ordered, cut = sorted(sizes), (3 * len(sizes)) // 10
    return ordered[cut], ordered[-1 - cut]


def _estimates(lines: Mapping[str, Line], sizes: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Return (expected duration, p95) by measure of work; the only key is "" if no measure is known."""
    return {measure: lines[measure].at(size) for measure, size in sizes.items()} or {"": lines[""].at(None)}


def _highest(estimates: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    return max(centre for centre, _ in estimates.values()), max(bound for _, bound in estimates.values())


def _bound(bound: float, slack: float, work_known: bool) -> int:
    return _whole((bound + slack) * (1.0 if work_known else UNKNOWN_WORK_FACTOR))


def _whole(milliseconds: float) -> int:
    return min(math.ceil(milliseconds), MAX_MS)
