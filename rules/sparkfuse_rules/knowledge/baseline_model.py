"""The model of a stage's duration: a robust line on the log scale, with its p95.

``log(time) = level + slope * log(work)``. Runs differ by factors, so durations are compared on the log scale.
Sources: Theil 1950 and Sen 1968 for the slope, Hampel 1974 and von Neumann 1941 for the scale, Lepski 1990 for the
number of recent runs that determine the level, Student 1908 for the wider p95 if there are few samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from sparkfuse_rules.knowledge.calendar_modes import NO_MODES, USUAL, CalendarModes, Shift
from sparkfuse_rules.knowledge.driver_idle import DriverIdle, fit_driver_idle
from sparkfuse_rules.knowledge.robust import (
    MAX_MS,
    median,
    prediction_factor,
    spread,
    successive_spread,
    theil_sen_slope,
)
from sparkfuse_rules.knowledge.run_history import RunHistory
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


# If a run has less than half of the smallest learned work, or more than twice the largest, its time depends on the
# share of overhead, which is not known.
COMPARABLE = math.log(2)
# The level is the median of the largest of these numbers of newest runs whose median agrees with that of the newest
# three. So the level follows a trend and a step, and noise changes it little.
LEVEL_RUNS = (12, 8, 5)
NEWEST_RUNS = 3
# Two medians of runs agree if they differ by at most this many scales.
AGREEING_SCALES = 2.0
# The rows of SQL operators are only known when a stage ends. If a job usually has more operator rows than records read,
# by more than this factor, the work of its running application is unknown.
LATE_ROWS = math.log(2)


@dataclass(frozen=True)
class Sample:
    """The training sample of one run of a stage or application; times are in ms, work is input and shuffle read.

    None means not reported. ``operator_rows`` are the rows of SQL operators, for stages that read neither bytes nor
    records. ``between_jobs_ms`` exists for applications only, ``disk_spilled_bytes`` for stages only. ``reference``
    marks the samples of the level with which the level of later runs is compared. ``slow_runs`` is the number of runs
    in a row, up to this one, that were slower than the reference, and ``level_ratio`` the ratio of the longer level
    that the run reported, None if it reported none. ``spark_version``, ``executors`` and ``plan`` exist for
    applications only.
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
    reference: bool = False
    slow_runs: int = 0
    level_ratio: float | None = None
    spark_version: str | None = None
    executors: int | None = None
    plan: str | None = None

    @property
    def started_ms(self) -> int:
        """When the run, or its stage, started at the latest; its day decides about the calendar mode."""
        return self.learned_ms - max(0, self.wall_ms)

    @property
    def work(self) -> Work:
        """The amount of work of the run."""
        return Work(self.work_bytes, self.work_records, self.operator_rows)

    @cached_property
    def sizes(self) -> Mapping[str, float]:
        """The logarithm of the work in each reported measure."""
        return self.work.sizes()

    @cached_property
    def log_wall(self) -> float:
        """The logarithm of the wall time in ms."""
        return _log_ms(self.wall_ms)

    @cached_property
    def log_cpu(self) -> float | None:
        """The logarithm of the CPU time in ms, None if it is unknown."""
        return None if self.cpu_ms is None else _log_ms(self.cpu_ms)


@dataclass(frozen=True)
class Expectation:
    """The expected durations in ms of a stage for an amount of work, and the number of runs behind them.

    ``work_measure`` is the measure of the work: bytes, records or rows. If the work is unknown, the expectation is for
    the usual work; then ``work_measure`` is none and ``work_known`` is false. If the work is known and no earlier run
    reported any, such as after runs without input, ``runs`` is 0, because no earlier run is comparable.
    """

    runs: int
    expected_ms: int
    expected_p95_ms: int
    expected_cpu_ms: int | None
    expected_cpu_p95_ms: int | None
    work_known: bool
    work_measure: str
    history: RunHistory | None = field(default=None, compare=False)


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
            return math.exp(self.level), math.exp(self.level + self.factor * self.scale)
        inside = min(max(size, self.smallest), self.largest)
        excess, shortfall = max(0.0, size - self.largest), max(0.0, self.smallest - size)
        remaining = math.log1p(self.with_work * self._fall * math.expm1(-shortfall))
        bound = self.level + self.slope * (inside - self.reference_size) + self._rise * excess + remaining
        return math.exp(self.centre(size)), math.exp(bound + self.factor * self.scale + UNSEEN_SIZE_POWER * excess)

    def centre(self, size: float | None) -> float:
        """Return the logarithm of the expected duration in ms for ``size``, the log of the work."""
        if size is None:
            return self.level
        if size > self.largest:
            beyond = self._rise * min(size - self.largest, UNSEEN_SIZE_REACH)
            return self.level + self.slope * (self.largest - self.reference_size) + beyond
        if size < self.smallest:
            beyond = self._fall * min(self.smallest - size, UNSEEN_SIZE_REACH)
            return self.level + self.slope * (self.smallest - self.reference_size) - beyond
        return self.level + self.slope * (size - self.reference_size)

    def near(self, size: float) -> bool:
        """Return whether the size is at most ``COMPARABLE`` outside the learned sizes."""
        return self.smallest - COMPARABLE <= size <= self.largest + COMPARABLE

    @property
    def _rise(self) -> float:
        # Above the learned sizes, time grows at least in proportion to the work: the overhead of small sizes hides the
        # slope.
        return max(1.0, self.slope)

    @property
    def _fall(self) -> float:
        # Below the learned sizes, the time falls no faster than the work, because the overhead stays the same. If no
        # slope was fitted, the true slope may be 1.
        return min(1.0, self.slope) if self.fitted else 1.0


@dataclass(frozen=True)
class Fit:
    """The fitted lines of one stage by measure of work; the key "" is the line for unknown work.

    A measure gets a line only if enough samples have this measure. ``driver_idle`` is the model of the driver's idle
    time; only applications with enough samples have it. ``disk_spilled_bytes`` is the largest spill of the samples,
    None if no sample has it. ``history`` compares a run with single earlier runs. ``modes`` are the days on which the
    job always takes longer, and ``day`` is the shift of the day for which the fit was made.
    """

    runs: int
    wall: Mapping[str, Line]
    cpu: Mapping[str, Line]
    usual: Mapping[str, float]  # log of the median work by measure
    driver_idle: DriverIdle | None = None
    disk_spilled_bytes: int | None = None
    history: RunHistory | None = field(default=None, compare=False)
    modes: CalendarModes = NO_MODES
    day: Shift = USUAL

    def at(self, work: Work, running: bool = False) -> Expectation:
        """Return the expectation for this amount of work, from the measure that gives the longest expected duration.

        If a ``running`` stage has less than its usual work, the usual work is used, because the stage has not read all
        its input yet. Rows of SQL operators are only known when a stage ends, so they cannot measure the work of a
        running stage.
        """
        sizes = self._sizes(work, running)
        work_known = bool(sizes) and not (running and self._known_only_at_end())
        if running and work_known and sizes == self.usual:
            return self.at_usual()
        expectation = self._expectation(sizes, work_known)
        return expectation if self.usual or not work.sizes() else replace(expectation, runs=0)

    def residual(self, sample: Sample) -> float:
        """Return the logarithm of the sample's duration relative to the one expected for its work on a usual day."""
        return sample.log_wall - _centre(self.wall, sample.sizes)

    def cpu_residual(self, sample: Sample) -> float | None:
        """Return the logarithm of the CPU time relative to the expected one; None if one of them is unknown."""
        return (
            None if sample.log_cpu is None or "" not in self.cpu else sample.log_cpu - _centre(self.cpu, sample.sizes)
        )

    def comparable(self, sizes: Mapping[str, float]) -> bool:
        """Return whether the sizes are so near to the learned ones that the time of the run shows its speed."""
        return all(self.wall[measure].near(size) for measure, size in sizes.items() if measure in self.wall)

    def at_usual(self) -> Expectation:
        """Return the expectation for the usual work, for a run whose work is not known yet."""
        return self._for_usual_work

    @cached_property
    def _for_usual_work(self) -> Expectation:
        # Running stages request it with each of their rows.
        return self._expectation(self.usual, bool(self.usual))

    def _expectation(self, sizes: Mapping[str, float], work_known: bool) -> Expectation:
        walls = _estimates(self.wall, sizes)
        measure = max(walls, key=walls.__getitem__)
        wall, wall_p95 = (each * math.exp(self.day.wall) for each in _highest(walls))
        cpu_sizes = {each: size for each, size in sizes.items() if each in self.cpu}
        cpu, cpu_p95 = _highest(_estimates(self.cpu, cpu_sizes)) if "" in self.cpu else (None, None)
        if cpu is not None and cpu_p95 is not None:
            cpu, cpu_p95 = cpu * math.exp(self.day.cpu), cpu_p95 * math.exp(self.day.cpu)
        return Expectation(
            runs=self.runs,
            expected_ms=_whole(wall),
            expected_p95_ms=_bound(wall_p95, WALL_SLACK_MS, work_known),
            expected_cpu_ms=None if cpu is None else _whole(cpu),
            expected_cpu_p95_ms=None if cpu_p95 is None else _bound(cpu_p95, CPU_SLACK_MS, work_known),
            work_known=work_known,
            work_measure=measure if work_known else NONE,
            history=self.history,
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

    ``runs`` is the number of different runs among the samples, which are ordered by time. Each line is fitted to the
    samples that have the line's measure, so one run without input does not remove the line.
    """
    wall: dict[str, Line] = {}
    cpu: dict[str, Line] = {}
    for measure in ("", *MEASURES):  # the key "" is for unknown work
        sized = [(each.sizes.get(measure), each) for each in samples if not measure or measure in each.sizes]
        sized_runs = len({each.run_key for _, each in sized})
        if sized_runs < min(MIN_RUNS, runs):
            continue
        timed = [(size, each.log_cpu) for size, each in sized if each.log_cpu is not None]
        if 2 * len(timed) > len(sized):
            cpu[measure] = replace(_line(timed, sized_runs), with_work=CPU_WITH_THE_WORK)
        walls = [(size, each.log_wall) for size, each in sized]
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
    # The samples of one run are alike, so only samples of different runs show how much successive runs differ.
    spreads = [spread(levels), *([successive_spread(levels)] if len(levels) == runs else [])]
    scale = max(min(spreads), MIN_SCALE)
    factor = prediction_factor(runs, 2 if slope else 1)
    # Without a slope, the level is valid only for the usual sizes, and not for the sizes of outliers.
    smallest, largest = (min(sizes), max(sizes)) if fitted else middle
    if sizes and not fitted:
        levels = [y for x, y in points if smallest - COMPARABLE <= x <= largest + COMPARABLE]
    return Line(_newest_level(levels, scale), slope, scale, factor, reference, smallest, largest, fitted)


def _newest_level(levels: Sequence[float], scale: float) -> float:
    """Return the median of the newest levels: of as many as agree with the newest three."""
    newest = median(levels[-NEWEST_RUNS:])
    for count in LEVEL_RUNS:
        level = median(levels[-count:])
        if abs(level - newest) <= AGREEING_SCALES * scale:
            return level
    return newest


def _centre(lines: Mapping[str, Line], sizes: Mapping[str, float]) -> float:
    """Return the largest of the estimates by measure, as `Fit.at` does, on the log scale."""
    largest = -math.inf
    for measure, size in sizes.items():
        if measure in lines and (centre := lines[measure].centre(size)) > largest:
            largest = centre
    return largest if largest > -math.inf else lines[""].level


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
