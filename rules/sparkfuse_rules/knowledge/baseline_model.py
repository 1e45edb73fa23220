"""The model of a stage's time: a robust line on the log scale, with the bound that 19 of 20 runs stay below.

``log(time) = level + slope * log(work)``; runs differ by factors, so times are judged on the log scale.
Sources: Theil 1950 and Sen 1968 for the slope, Hampel 1974 for the scale, Student 1908 for the guard of few samples.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkfuse_rules.knowledge.driver_idle import DriverIdle, fit_driver_idle
from sparkfuse_rules.knowledge.robust import MAX_MS, median, prediction_factor, spread, theil_sen_slope
from sparkfuse_rules.knowledge.work import BYTES, MEASURES, NONE, RECORDS, ROWS, Work

# Below five runs 30 % of outliers cannot be told from the rest.
MIN_RUNS = 5
# Two quiet runs of the same stage differ by this much anyway, whatever the samples say.
MIN_SCALE = math.log(1.15)
# Sizes spread when the middle two fifths of them cover a factor of 1.2: below that the slope would be fitted to noise,
# and with less of the ends cut off a few odd sizes among 30 % of outliers would make the slope alone.
MIN_SIZE_SPREAD = math.log(1.2)
# A sort grows by n log n, a join on keys faster than its input; more than squared is a fit gone wrong.
MAX_SLOPE = 2.0
# Beyond the sizes seen the bound grows by this power of the excess on top of the line.
UNSEEN_SIZE_POWER = 0.25
# The expected time follows the work for no more than this factor beyond the sizes seen, up and down: of what is further
# off nothing is known, and ten times the rows of a stage that is all overhead take no longer.
UNSEEN_SIZE_REACH = math.log(4)
# Below the sizes seen at least this share of the CPU goes with the work: what a stage computes whatever it reads (class
# loading, a table built for each executor) is the lesser part of those that take long. Of wall time nothing is known
# there: a service may be as slow for one row.
CPU_WITH_THE_WORK = 0.5
# What one measure may have grown beyond the sizes seen and beyond what another has. Rows may be wider than they were;
# but a stage whose cache did not hold reads a million rows where it read a hundred batches, and has no more to do.
MEASURES_DIFFER = math.log(10)
# Times that mean nothing: class loading and scheduling of a small stage (first tasks of a JVM take 1-3 s longer).
WALL_SLACK_MS = 2000.0
CPU_SLACK_MS = 1000.0
# Without a measure of work a bigger input cannot be told from a slower run, so the bar is higher.
UNKNOWN_WORK_FACTOR = 2.0


# Rows are told at the end only. While it runs the work of an application is not known when rows make the most of it:
# twice what its stages read.
LATE_ROWS = math.log(2)


@dataclass(frozen=True)
class Sample:
    """One ended run of a stage. Times in ms; work is input and shuffle read, None when nothing was reported.

    ``operator_rows`` are those of SQL operators where nothing was read. ``between_jobs_ms`` is told of applications.
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

    @property
    def work(self) -> Work:
        """How much it had to do."""
        return Work(self.work_bytes, self.work_records, self.operator_rows)


@dataclass(frozen=True)
class Expectation:
    """What is expected of a stage with this much work, in ms, and on how many runs that rests.

    ``work_measure`` is the measure of work that the expectation is for: bytes, records or rows; none where the usual
    work had to be taken for want of one, which ``work_known`` says too.
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
    """A fitted line on the log scale, and where it was seen to hold."""

    level: float  # log ms at reference_size
    slope: float
    scale: float  # of the residuals, log
    factor: float  # scales from the centre to the 95 % bound
    reference_size: float  # log of the median work; 0.0 without sizes
    smallest: float
    largest: float
    fitted: bool = False  # whether the sizes spread, so that the slope is one
    with_work: float = 0.0  # least share of the time that goes with the work below the sizes seen

    def at(self, size: float | None) -> tuple[float, float]:
        """Expected time and 95 % bound in ms for the log of the work, rising with it; None: for the usual work.

        Outside the sizes seen the expected time follows for a factor of four at most. The bound, within which a run is
        taken for healthy, follows the work on and on above them; below them only the share ``with_work`` of it does.
        """
        if size is None:
            return self._bounds(self.level, 0.0)
        inside = min(max(size, self.smallest), self.largest)
        excess, shortfall = max(0.0, size - self.largest), max(0.0, self.smallest - size)
        centre = self.level + self.slope * (inside - self.reference_size)
        # Above all sizes seen, time grows at least in proportion: the overhead of small sizes hides the slope.
        rise = max(1.0, self.slope)
        # Below them at most in proportion: overhead stays. Where the slope is not known it may be all work.
        fall = min(1.0, self.slope) if self.fitted else 1.0
        beyond = rise * min(excess, UNSEEN_SIZE_REACH) - fall * min(shortfall, UNSEEN_SIZE_REACH)
        left = math.log1p(self.with_work * fall * math.expm1(-shortfall))
        _, bound = self._bounds(centre + rise * excess + left, excess)
        return math.exp(centre + beyond), bound

    def _bounds(self, centre: float, excess: float) -> tuple[float, float]:
        return math.exp(centre), math.exp(centre + self.factor * self.scale + UNSEEN_SIZE_POWER * excess)


@dataclass(frozen=True)
class Fit:
    """The lines of one stage for each measure of work that enough of its samples have; the empty one is for none.

    ``driver_idle`` is how long its driver driver_idle, of an application of which enough runs told it.
    """

    runs: int
    wall: Mapping[str, Line]
    cpu: Mapping[str, Line]
    usual: Mapping[str, float]  # log of the median work
    driver_idle: DriverIdle | None = None

    def at(self, work: Work, running: bool = False) -> Expectation:
        """The expectation for this much work; of several measures the one that expects most.

        A ``running`` stage has not seen all its work yet, so less than the usual work counts as the usual; rows of SQL
        operators are not told before the end, so where they are the measure the bar is as high as without one.
        """
        sizes = self._sizes(work, running)
        return self._expectation(sizes, bool(sizes) and not (running and self._told_late()))

    def at_usual(self) -> Expectation:
        """The expectation for the usual work, before anything of it is known."""
        return self._expectation(self.usual, bool(self.usual))

    def _expectation(self, sizes: Mapping[str, float], work_known: bool) -> Expectation:
        walls = _answers(self.wall, sizes)
        measure = max(walls, key=walls.__getitem__)
        wall, wall_p95 = _highest(walls)
        cpu_sizes = {each: size for each, size in sizes.items() if each in self.cpu}
        cpu, cpu_p95 = _highest(_answers(self.cpu, cpu_sizes)) if "" in self.cpu else (None, None)
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
        told = {measure: size for measure, size in work.sizes().items() if measure in self.wall}
        credible = self._credible(told)
        if not running:
            return credible
        # Behind that: what is not told yet is no measure that did not grow.
        return {measure: max(credible.get(measure, usual), usual) for measure, usual in self.usual.items()}

    def _credible(self, sizes: dict[str, float]) -> dict[str, float]:
        """The sizes, each no further beyond those seen than the measure that grew least allows."""
        if len(sizes) < 2:
            return sizes
        least = min(size - self.wall[measure].largest for measure, size in sizes.items())
        most = max(least, 0.0) + MEASURES_DIFFER
        return {measure: min(size, self.wall[measure].largest + most) for measure, size in sizes.items()}

    def _told_late(self) -> bool:
        """Whether most of the work is measured by what is only known at the end."""
        usual = self.usual
        if ROWS not in usual:
            return False
        return BYTES not in usual if RECORDS not in usual else usual[ROWS] - usual[RECORDS] > LATE_ROWS


def _log_ms(milliseconds: int) -> float:
    return math.log(max(1, milliseconds))


def fit_lines(samples: Sequence[Sample], runs: int) -> Fit:
    """Fit the lines of all measures of work that enough ``samples`` have; they are of ``runs`` different runs.

    A line is drawn through those that have its measure: one run without input does not take the measure from the rest.
    """
    wall: dict[str, Line] = {}
    cpu: dict[str, Line] = {}
    all_sizes = [sample.work.sizes() for sample in samples]
    for measure in ("", *MEASURES):  # the empty one is for a row without any
        told = [(sizes.get(measure), each) for sizes, each in zip(all_sizes, samples, strict=True)]
        if measure:
            told = [(size, each) for size, each in told if size is not None]
        told_runs = len({each.run_key for _, each in told})
        if told_runs < min(MIN_RUNS, runs):
            continue
        timed = [(size, _log_ms(each.cpu_ms)) for size, each in told if each.cpu_ms is not None]
        if 2 * len(timed) > len(told):
            cpu[measure] = replace(_line(timed, told_runs), with_work=CPU_WITH_THE_WORK)
        walls = [(size, _log_ms(each.wall_ms)) for size, each in told]
        wall[measure] = _line(walls, told_runs, _steepest_wall(cpu.get(measure)))
    usual = {measure: line.reference_size for measure, line in wall.items() if measure}
    return Fit(runs, wall, cpu, usual, _waits(samples))


def _waits(samples: Sequence[Sample]) -> DriverIdle | None:
    told = [(each.wall_ms, each.between_jobs_ms) for each in samples if each.between_jobs_ms is not None]
    return fit_driver_idle(told, MIN_SCALE) if len(told) >= MIN_RUNS else None


def _steepest_wall(cpu: Line | None) -> float:
    """The slope that wall time may have: noise that met the bigger runs makes it steep, and leaves CPU as it is."""
    return max(1.0, cpu.slope) if cpu is not None and cpu.fitted else MAX_SLOPE


def _line(timed: Sequence[tuple[float | None, float]], runs: int, steepest: float = MAX_SLOPE) -> Line:
    """The line through logarithms of size and time; no size has one where the line is without a measure."""
    sizes = [size for size, _ in timed if size is not None]
    reference = median(sizes) if sizes else 0.0
    points = [(size or 0.0, time) for size, time in timed]
    middle = _middle(sizes)
    fitted = len(sizes) >= MIN_RUNS and middle[1] - middle[0] >= MIN_SIZE_SPREAD
    slope = min(max(theil_sen_slope(points), 0.0), steepest) if fitted else 0.0
    levels = [y - slope * (x - reference) if sizes else y for x, y in points]
    scale = max(spread(levels), MIN_SCALE)
    factor = prediction_factor(runs, 2 if slope else 1)
    # Without a slope the level is that of the usual sizes, and says nothing of the few odd ones among them.
    smallest, largest = (min(sizes), max(sizes)) if fitted else middle
    return Line(median(levels), slope, scale, factor, reference, smallest, largest, fitted)


def _middle(sizes: Sequence[float]) -> tuple[float, float]:
    """The bounds of the middle two fifths of the sizes; 0.0 without any."""
    if not sizes:
        return 0.0, 0.0
    ordered, cut = sorted(sizes), (3 * len(sizes)) // 10
    return ordered[cut], ordered[-1 - cut]


def _answers(lines: Mapping[str, Line], sizes: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """What each measure says; the empty one where there is none."""
    return {measure: lines[measure].at(size) for measure, size in sizes.items()} or {"": lines[""].at(None)}


def _highest(answers: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    return max(centre for centre, _ in answers.values()), max(bound for _, bound in answers.values())


def _bound(bound: float, slack: float, work_known: bool) -> int:
    return _whole((bound + slack) * (1.0 if work_known else UNKNOWN_WORK_FACTOR))


def _whole(milliseconds: float) -> int:
    return min(math.ceil(milliseconds), MAX_MS)
