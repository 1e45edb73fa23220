"""Tests the bounds of running stages: dropping the rows within them changes no finding."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparkfuse_contracts.columns import VIEWS
from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import severity_sql, when_sql
from sparkfuse_rules.owners import Owners
from sparkfuse_stream_jobs.detect import baselines, stage_bounds
from sparkfuse_stream_jobs.detect.baseline_updates import key_of_baseline
from sparkfuse_stream_jobs.detect.findings import FindingBuilder
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.lifecycle import Lifecycle
from sparkfuse_stream_jobs.detect.lifecycle_state import LifecycleState, Timer
from sparkfuse_stream_jobs.detect.prefilter import linger_ms
from sparkfuse_stream_jobs.detect.row_columns import present
from sparkfuse_stream_jobs.detect.rule_evaluation import RuleEvaluation
from sparkfuse_stream_jobs.detect.rule_sql import post_end_rules
from sparkfuse_stream_jobs.detect.stage_bounds import application_key, bounds_of, encode, tasks_without_projection
from sparkfuse_stream_jobs.detect.state.run_state import application_of, in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState, InMemoryValueState
from tests.unit.stream_jobs.detect_rows import STAGE, WINDOW_MS, Run

T, HOUR_MS = 1_795_226_400_000, 3_600_000
CATALOG = load_catalog()
# With the built-in limits, a stage that only uses more CPU matches after its p95 only.
SLOW = CATALOG["stage_slow"].with_params({"min_ratio": 1.05, "min_lost_ms": 1_000})
OTHERS = ("stage_spill", "output_explosion", "stage_runaway_spill", "python_udf_heavy")
RULES = [SLOW, *(CATALOG[name] for name in OTHERS)]
UNKNOWN = {name for name, column in VIEWS["stage_live"].items() if "detect" in column.tags}
LINGER_MS = linger_ms(CATALOG, "stage_live", WINDOW_MS)
USUAL_MS, CPU_SHARE = 60_000, 7


@dataclass(frozen=True)
class Window:
    """What happens in one window: the times that the stage used in it, its tasks, and another event before its row."""

    cpu_ms: int = CPU_SHARE * WINDOW_MS
    succeeded: int = 0
    running: int = 4
    spilled_bytes: int = 0
    event: str = ""


windows = st.lists(
    st.builds(
        Window,
        cpu_ms=st.sampled_from([0, CPU_SHARE * WINDOW_MS, 30 * WINDOW_MS, -20 * WINDOW_MS]),
        succeeded=st.sampled_from([0, 0, 1, 8]),
        running=st.sampled_from([0, 4, 8]),
        spilled_bytes=st.sampled_from([0, 0, 0, 400_000_000, -400_000_000]),
        event=st.sampled_from(["", "", "", "", "added", "removed", "plan"]),
    ),
    min_size=1,
    max_size=45,
)


def rows_of(
    story: Sequence[Window], ends: bool, work_bytes: int, scope_names: Sequence[str] = ("Exchange", "Sort")
) -> list[LiveRow]:
    """Return the rows of a run with one stage."""
    run, at = Run("app-1", T), T + WINDOW_MS
    rows = [run.started(at), *(run.executor_added(at, str(number)) for number in range(2)),
            run.stage_started(at, scope_names=scope_names)]  # fmt: skip
    cpu_ms = succeeded = spilled = executors = 0
    for number, window in enumerate(story, 1):
        at = T + number * WINDOW_MS
        if window.event == "added":
            executors += 1
            rows.append(run.executor_added(at, f"added-{executors}"))
        elif window.event == "removed":
            rows.append(run.executor_removed(at, str(number % 2)))
        elif window.event == "plan":
            rows.append(run.query_plan(at, version=number))
        cpu_ms, spilled = max(0, cpu_ms + window.cpu_ms), max(0, spilled + window.spilled_bytes)
        succeeded += window.succeeded
        columns: dict[str, Any] = {
            "num_tasks": 400, "finished_tasks": succeeded, "succeeded_tasks": succeeded, "finished_cpu_ms": cpu_ms,
            "running_tasks": window.running, "disk_spilled_bytes": spilled, "duration_p50_ms": 2_000.0,
            "finished_duration_ms": 2_000 * succeeded, "running_age_max_ms": at - T, "work_bytes": work_bytes,
            "finished_run_ms": 10 * (at - T),
        }  # fmt: skip
        rows += [run.stage(at, at - T, **columns), run.application(at)]
    if ends:
        at += WINDOW_MS
        rows += [
            run.stage_done(at, at - T - 100, num_tasks=8, finished_cpu_ms=cpu_ms),
            run.stage_ended(at),
            run.ended(at),
        ]
    return rows


@dataclass
class Filter:
    """Does the same as io.sparkfuse.detect.LiveRowFilter for one stage; bounds arrive ``delay`` rows late."""

    holds: Mapping[int, bool]
    holds_without_python: Mapping[int, bool]
    delay: int
    seen: int = 0
    waiting: list[tuple[int, bytes]] = field(default_factory=list)
    known: tuple[int, ...] = ()
    known_at: int = 0
    runs_python: bool = True
    changed: int = -1
    unchecked: list[tuple[int, ...]] = field(default_factory=list)
    exceeded_ms: int = 0
    until_ms: int = -1

    def publish(self, record: bytes) -> None:
        self.waiting.append((self.seen + self.delay, record))

    def passes(self, row: LiveRow) -> bool:
        self.seen += 1
        while self.waiting and self.waiting[0][0] <= self.seen:
            record = self.waiting.pop(0)[1]
            assert record[48:] == b"stage/3/0"
            (*known, runs_python), self.known_at = struct.unpack_from(">6q", record), row.window_end_ms
            self.known, self.runs_python = tuple(known), bool(runs_python)
        kind = row.WhichOneof("row")
        if kind in {"application_started", "executor_added", "executor_removed", "sql_plan", "stage_started"}:
            self.changed = row.row_seq
        if kind != "stage" or row.stage.status != "running":
            return True
        at, stage = row.window_end_ms, row.stage
        done = stage.succeeded_tasks if stage.succeeded_tasks > 2 * stage.running_tasks else 0
        measures = (done, stage.elapsed_ms, stage.finished_cpu_ms + stage.running_cpu_ms)
        valid = bool(self.known) and self.changed <= self.known[1] < row.row_seq
        if not valid:
            self.unchecked.append((at, *measures))
        else:
            self.exceeded_ms = max([self.exceeded_ms, *(e[0] for e in self.unchecked if self._exceeds(e[1:]))])
            self.unchecked.clear()
        holds = self.holds if self.runs_python else self.holds_without_python
        if holds[row.row_seq] or (valid and self._exceeds(measures)):
            self.until_ms = max(self.until_ms, at + LINGER_MS)
        fresh = valid and at < self.known_at + 120_000 and at > self.exceeded_ms + LINGER_MS
        return at <= self.until_ms or not fresh

    def _exceeds(self, measures: tuple[int, ...]) -> bool:
        return any(value > limit for value, limit in zip(measures, self.known[2:], strict=True))


@cache
def seeded() -> tuple[bytes, ...]:
    """Return the samples of earlier runs with durations about ``USUAL_MS``."""
    found, known = {}, baselines.JobBaselines(InMemoryMapState(), lambda _key: None)
    for number in range(8):
        run, state = Run(f"before-{number}", T - (10 - number) * HOUR_MS), in_memory_run_state()
        for row in run.whole(USUAL_MS + 700 * number, running_cpu_ms=0):
            for output in step(row, state):
                if isinstance(output, Baseline):
                    found[output.stage_fingerprint] = baselines.learn_sample(output, known)
    return tuple(each.SerializeToString() for each in found.values())


def known_baselines() -> baselines.JobBaselines:
    known = baselines.JobBaselines(InMemoryMapState(), lambda _key: None)
    for content in seeded():
        baseline = Baseline.FromString(content)
        known.put(key_of_baseline(baseline), baseline)
    return known


def evaluated(rows: Sequence[LiveRow], expressions: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the values of SQL expressions on rows of stages."""
    from datafusion import SessionConfig, SessionContext

    if not rows:
        return []
    types = {
        "int32": pa.int64(),
        "int64": pa.int64(),
        "double": pa.float64(),
        "string": pa.string(),
        "bool": pa.bool_(),
    }
    schema = pa.schema(
        [(name, types[column.type]) for name, column in VIEWS["stage_live"].items() if column.type in types]
    )
    table = pa.Table.from_pylist([present(row.stage) for row in rows], schema)
    table = table.append_column("row_number", pa.array(range(len(rows)), pa.int64()))
    context = SessionContext(SessionConfig().with_target_partitions(1))
    context.register_record_batches("rows", [table.to_batches()])
    columns = ", ".join(f"{sql} AS {name}" for name, sql in expressions.items())
    found: list[dict[str, Any]] = context.sql(f"SELECT {columns} FROM rows ORDER BY row_number").to_pylist()
    return found


def steps(rows: Iterable[LiveRow], gate: Filter | None) -> Iterator[LiveRow]:
    """Run the Python steps on the rows that pass the filter, and yield their rows."""
    state, known = in_memory_run_state(), known_baselines()
    for row in rows:
        if gate is not None and not gate.passes(row):
            continue
        copy = LiveRow.FromString(row.SerializeToString())
        for output in step(copy, state):
            if isinstance(output, LiveRow):
                if output.HasField("stage"):
                    output = baselines.add_expectations(output, known)  # noqa: PLW2901 - the row itself is filled in
                    fitted = known.fit(baselines.key_of_row(output), output.app_start_ms)
                    bounds = bounds_of(output, tasks_without_projection(application_of(state).slots), fitted)
                    if gate is not None and bounds:
                        gate.publish(encode(bounds))
                yield output


def findings(rows: Sequence[LiveRow], gate: Filter | None) -> list[tuple[Any, ...]]:
    """Return everything that the lifecycle emits, with the time at which it emits it."""
    enriched = list(steps(rows, gate))
    of_stages = [row for row in enriched if row.HasField("stage")]
    severities = evaluated(of_stages, {rule.id: severity_sql(rule, "datafusion") for rule in RULES})
    by_row = {
        row.row_seq: {k: v for k, v in found.items() if v} for row, found in zip(of_stages, severities, strict=True)
    }
    state = LifecycleState(InMemoryValueState(), InMemoryValueState(), InMemoryMapState(), InMemoryValueState())
    builder = FindingBuilder.of(CATALOG, "https://docs.sparkfuse.example", Owners(()))
    lifecycle = Lifecycle(RuleEvaluation(CATALOG, WINDOW_MS, builder), post_end_rules(CATALOG))
    timers: set[int] = set()
    emitted: list[tuple[Any, ...]] = []

    def collect(at: int, found: Iterable[Finding | Timer]) -> None:
        for each in found:
            if isinstance(each, Timer):
                timers.add(each.at_ms)
            else:
                emitted.append((at - T, each.rule, each.state, each.severity, dict(each.runs[0].evidence)))

    def until(now_ms: int) -> None:
        while due := sorted(at for at in timers if at <= now_ms):
            timers.discard(due[0])
            collect(due[0], lifecycle.on_timer(due[0], state))

    for row in enriched:
        until(row.window_end_ms - 1)
        collect(row.window_end_ms, lifecycle.step(row, by_row.get(row.row_seq, {}), state))
    until(rows[-1].window_end_ms + HOUR_MS)
    return emitted


def filter_of(rows: Sequence[LiveRow], delay: int) -> Filter:
    of_stages = [row for row in rows if row.HasField("stage")]

    def holds(**known: str | bool) -> dict[int, bool]:
        conditions = {rule.id: when_sql(rule, "datafusion", "", UNKNOWN - known.keys(), known) for rule in RULES}
        found = evaluated(of_stages, conditions)
        return {row.row_seq: any(each.values()) for row, each in zip(of_stages, found, strict=True)}

    return Filter(holds(moved="none"), holds(moved="none", runs_python=False), delay)


LONG = [Window()] * 40
# After one row per window without bounds, the stage uses much CPU in one window only.
MUCH = 300 * WINDOW_MS
# A stage that mostly waits, which is evidence of slow Python functions only if the stage runs some.
WAITS = [*[Window()] * 6, *[Window(cpu_ms=0)] * 14, *[Window(cpu_ms=10 * WINDOW_MS)] * 12]
JVM, PYTHON = ("Exchange", "Sort"), ("Exchange", "ArrowEvalPython")
scopes = st.sampled_from([JVM, PYTHON])
RECOVERS = [*[Window()] * 13, Window(cpu_ms=MUCH), Window(cpu_ms=-MUCH), *[Window(cpu_ms=0)] * 10]


@settings(max_examples=12, deadline=None)
@given(windows, st.booleans(), st.sampled_from([1, 5, 40]), st.sampled_from([10**8, 10**9, 10**11]), scopes)
@example(LONG, True, 1, 10**9, JVM)
@example(RECOVERS, False, 28, 10**9, JVM)
@example([Window(succeeded=8, running=0)] * 30, True, 1, 10**9, JVM)
@example(WAITS, False, 1, 10**9, JVM)
@example(WAITS, False, 1, 10**9, PYTHON)
def test_findings_are_the_same_with_the_filter(story, ends, delay, work_bytes, scope_names):
    """Rules fire and resolve in the same windows, with the same evidence, whether or not rows within bounds pass."""
    rows = rows_of(story, ends, work_bytes, scope_names)

    assert findings(rows, filter_of(rows, delay)) == findings(rows, None)


def test_most_rows_of_a_usual_stage_are_dropped_and_a_slow_one_fires():
    """Of a stage that runs as long as usual, the first row passes; after its p95, all rows pass and the rule fires."""
    rows = rows_of(LONG, ends=False, work_bytes=10**9)
    gate = filter_of(rows, 1)
    passed = [row.stage.elapsed_ms for row in steps(rows, gate) if row.HasField("stage")]
    fired = [each for each in findings(rows, None) if each[1] == "stage_slow"]

    assert passed[:2] == [WINDOW_MS, 85_000]
    assert passed[1:] == list(range(85_000, 200_001, WINDOW_MS))
    assert fired


def test_stage_that_waits_passes_only_if_it_runs_python():
    """A stage that waits matches a rule on Python functions; of another stage, only the first row passes."""
    passed, fired = {}, {}
    for scope_names in (JVM, PYTHON):
        rows = rows_of(WAITS[:14], ends=False, work_bytes=10**9, scope_names=scope_names)
        passed[scope_names] = sum(row.HasField("stage") for row in steps(rows, filter_of(rows, 1)))
        fired[scope_names] = {each[1] for each in findings(rows, None)}

    assert passed[JVM] == 1
    assert passed[PYTHON] == 5
    assert fired == {JVM: set(), PYTHON: {"python_udf_heavy"}}


def test_stage_that_ends_has_no_bounds():
    """The last row of a stage gives no bounds, and neither does a row without a number."""
    run = Run("app-1", T)
    unnumbered = run.stage(T, 1_000)
    unnumbered.ClearField("row_seq")

    assert bounds_of(run.stage_done(T, 1_000), 8, None) is None
    assert bounds_of(unnumbered, 8, None) is None
    assert bounds_of(run.stage(T, 1_000), 8, None) is not None


def test_stage_without_history_is_limited_by_its_tasks_only():
    """Without enough earlier runs no rule on expected values can match, so only a projection matters."""
    row = Run("app-1", T).stage(T, 1_000)
    bounds = bounds_of(row, 8, None)

    assert bounds is not None
    assert (bounds.tasks, bounds.elapsed_ms, bounds.cpu_ms) == (8, stage_bounds.UNLIMITED, stage_bounds.UNLIMITED)
    assert STAGE["num_tasks"] == row.stage.num_tasks
    assert application_key(row) == f"prod-eu\x1fapp-1\x1f{T}\x1f0"
