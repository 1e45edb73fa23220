"""Tests what is learned from applications that never end, at the end of each query, micro-batch or job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.long_lived import LONG_LIVED_MS
from sparkfuse_rules.knowledge.training_samples import APPLICATION
from sparkfuse_stream_jobs.detect import baselines, executions
from sparkfuse_stream_jobs.detect.baseline_updates import add_samples
from sparkfuse_stream_jobs.detect.identify import step
from sparkfuse_stream_jobs.detect.state.codec import record_codec
from sparkfuse_stream_jobs.detect.state.run_state import ApplicationState, application_of, in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run

T = 1_795_226_400_000
MINUTE = 60_000
CONNECT = 'Spark Connect - session_id: "?"'
MICRO_BATCH = "counted\nid = 5cb6\nrunId = f6b4\nbatch = 12"


class Driver:
    """A driver that runs queries one after the other; each query has one stage and ends ten seconds before the next."""

    def __init__(self, name: str = "Spark Connect server", description: str = "") -> None:
        self.run, self.state, self.now, self.number = Run("app-1", T), in_memory_run_state(), T, 0
        self.description = description
        self.baselines = baselines.JobBaselines(InMemoryMapState(), lambda _key: None)
        start = self.run.started(T)
        start.application_started.name = name
        self.process([start])

    def process(self, rows: Iterable[LiveRow]) -> list[Any]:
        found = []
        for number, row in enumerate(rows):
            row.row_seq = self.number + number + 1
            found += list(step(row, self.state))
        self.number += 100
        return found

    def query(self, wall_ms: int, scope: str = "Sort", execution: int | None = None, **ends: Any) -> list[LiveRow]:
        """Return the rows of the last window of a query; the window after it is not sent yet."""
        self.now += wall_ms - wall_ms % WINDOW_MS + WINDOW_MS
        return list(self._rows(self.number, wall_ms, scope, execution, **ends))

    def _rows(
        self, number: int, wall_ms: int, scope: str, execution: int | None, *,
        reason: str | None = None, job_reason: str | None = None, job: bool = True, stage_ok: bool = True, **work: Any,
    ) -> Iterator[LiveRow]:  # fmt: skip
        run, at, query = self.run, self.now, {} if execution == -1 else {"sql_execution_id": number}
        yield run.job_started(at, number, [number], description=self.description or "write", **query)
        if query:
            yield run.query_started(at, number)
        yield run.stage_started(at, number, scope_names=[scope], **query)
        yield run.stage_done(at, wall_ms, number, **({} if stage_ok else {"status": "failed"}), **work)
        yield run.stage_ended(at, number, succeeded=stage_ok)
        if query:
            yield run.query_ended(at, number, reason)
        if job:
            yield run.job_ended(at, number, job_reason)

    def pass_time(self, ms: int = executions.LATE_MS) -> list[Any]:
        self.now += ms
        return self.process([self.run.application(self.now)])

    def execute(self, wall_ms: int, **given: Any) -> list[Baseline]:
        """Run a query, let ten seconds pass, and return what is learned; the job's baselines contain it."""
        found = [*self.process(self.query(wall_ms, **given)), *self.pass_time()]
        for each in samples(found):
            baselines.learn_sample(each, self.baselines)
        return samples(found)

    def judge(self, wall_ms: int, **given: Any) -> Any:
        """Run a query, and return the columns of its stage with expected values."""
        row = stage_row(self.process(self.query(wall_ms, **given)))
        return baselines.add_expectations(row, self.baselines).stage


def samples(found: Iterable[Any]) -> list[Baseline]:
    return [each for each in found if isinstance(each, Baseline)]


def stage_row(found: Iterable[Any]) -> LiveRow:
    [row] = [each for each in found if isinstance(each, LiveRow) and each.HasField("stage")]
    return row


def test_query_of_a_server_is_learned_at_its_end():
    """A query of a server is learned ten seconds after its end, once, and is one run of its template."""
    driver = Driver()
    row = stage_row(driver.process(driver.query(20_000)))
    early, [update], later = samples(driver.pass_time(5_000)), samples(driver.pass_time(5_000)), driver.pass_time()
    [sample] = update.samples

    assert not early
    assert update.stage_fingerprint == row.stage.stage_fingerprint
    assert (sample.wall_ms, sample.run_key) == (20_000, f"{driver.run.run_key}#q{row.stage.stage_id}")
    assert update.updated_ms == sample.learned_ms == row.window_end_ms - 100
    assert not samples(later)


@pytest.mark.parametrize("work_bytes", [1_000_000_000, 2_000_000_000])
def test_slow_query_is_compared_with_earlier_queries_of_its_application(work_bytes: int):
    """The sixth execution is expected to take as long as the five before, for its input size."""
    driver = Driver()
    for number in range(5):
        driver.execute(20_000 + 100 * number)
    stage = driver.judge(60_000, work_bytes=work_bytes, work_records=work_bytes // 200)

    assert stage.baseline_runs == 5
    assert stage.expected_ms == pytest.approx(20_200 * work_bytes / 1_000_000_000, rel=0.02)
    assert stage.moved == ("both" if work_bytes == 1_000_000_000 else "none")


def test_template_that_varies_with_its_input_stays_quiet():
    """If each execution has another input size, and its duration follows the size, none is above its p95."""
    driver = Driver()
    moved = []
    for number in range(40):
        size = 1 + (7 * number) % 13
        columns = {"work_bytes": size * 10**9, "work_records": size * 10**7}
        wall_ms = size * 5_000 + (311 * number) % 700
        moved.append(driver.judge(wall_ms, **columns).moved)
        for each in samples(driver.pass_time()):
            baselines.learn_sample(each, driver.baselines)

    assert set(moved[12:]) == {"none"}


@pytest.mark.parametrize(
    "ends",
    [
        pytest.param({"reason": "boom"}, id="the query failed"),
        pytest.param({"job_reason": "boom"}, id="a job failed"),
        pytest.param({"stage_ok": False}, id="the stage failed"),
    ],
)
def test_failed_query_is_not_learned_and_stops_nothing(ends: dict[str, Any]):
    """A failed query is not learned; the queries after it are, and its stage is not learned later."""
    driver = Driver()
    failed, well = driver.execute(20_000, **ends), driver.execute(20_000)
    at_end = samples(driver.process([driver.run.ended(driver.now + WINDOW_MS)]))

    assert (len(failed), len(well), at_end) == (0, 1, [])


@pytest.mark.parametrize(
    "driver",
    [
        pytest.param(Driver("reports", CONNECT), id="connect"),
        pytest.param(Driver("stream", MICRO_BATCH), id="stream"),
        pytest.param(Driver("Thrift JDBC/ODBC Server"), id="thrift"),
        pytest.param(Driver("PySparkShell"), id="notebook"),
    ],
)
def test_shared_drivers_are_learned_from_the_first_query(driver: Driver):
    """Connect, Thrift, notebooks and streams are learned from their first query on."""
    assert len(driver.execute(20_000)) == 1


def test_job_without_a_query_is_learned_at_its_end():
    """A job of the RDD interface is an execution of its own."""
    driver = Driver()
    [update] = driver.execute(20_000, execution=-1)

    assert update.samples[0].run_key == f"{driver.run.run_key}#j100"
    assert not driver.execute(20_000, execution=-1, job_reason="boom")


def test_other_applications_are_learned_after_ten_minutes():
    """The queries of any driver are learned once it has run for ten minutes, also those that ended before."""
    driver = Driver("nightly_orders")
    early = [each for _ in range(2) for each in driver.execute(20_000)]
    at_ten_minutes = samples(driver.pass_time(LONG_LIVED_MS))
    later = driver.execute(20_000)

    assert early == []
    assert [each.samples[0].run_key.rsplit("#")[-1] for each in at_ten_minutes] == ["q100", "q300"]
    assert len(later) == 1


def test_batch_is_learned_once_at_its_end():
    """A short application is learned at its end: each stage once, as one run, and the application."""
    driver = Driver("nightly_orders")
    loop = [each for _ in range(3) for each in driver.execute(20_000)]
    done = driver.run.application_done(driver.now, 60_000)
    at_end = samples(driver.process([done, driver.run.ended(driver.now)]))

    assert loop == []
    assert len(at_end) == 4
    assert {each.samples[0].run_key for each in at_end} == {driver.run.run_key}
    assert {each.samples[0].learned_ms for each in at_end} == {driver.now - 100}


def test_each_stage_of_a_long_batch_is_learned_once():
    """An application that ends well after ten minutes is learned, but no stage a second time."""
    driver = Driver("nightly_orders")
    before = [*driver.execute(20_000), *driver.execute(20_000, scope="Scan")]
    learned = [*before, *samples(driver.pass_time(LONG_LIVED_MS))]
    driver.process([driver.run.stage_done(driver.now, 20_000, 100)])  # a late row of the first stage
    done = driver.run.application_done(driver.now, driver.now - T)
    at_end = samples(driver.process([done, driver.run.ended(driver.now)]))

    assert len(learned) == 2
    assert [each.stage_fingerprint for each in at_end] == [APPLICATION]
    assert at_end[0].samples[0].plan


def test_successful_queries_of_a_failed_batch_are_learned():
    """Of a batch with a failed job, the stages of its successful queries are learned, but not the application."""
    driver = Driver("nightly_orders")
    driver.execute(20_000)
    driver.execute(30_000, scope="Scan", reason="boom", job_reason="boom")
    driver.execute(40_000, scope="Exchange")
    driver.process([*driver.query(50_000, scope="Window")][:-2])  # its query and job never end
    done = driver.run.application_done(driver.now, 90_000, status="failed")
    at_end = samples(driver.process([done, driver.run.ended(driver.now, failed_jobs=1)]))

    assert sorted(each.samples[0].wall_ms for each in at_end) == [20_000, 40_000]


def test_frequent_executions_do_not_fill_the_baseline():
    """A trigger of ten seconds is learned like a job that runs every hour, and its baseline spans days."""
    driver = Driver("stream", MICRO_BATCH)
    learned = [each for _ in range(6 * 60) for each in driver.execute(4_000)]

    assert 10 <= len(learned) <= 14


def test_late_task_ends_count():
    """The last row of a stage, which arrives a window after the end of its query, is the one that is learned."""
    driver = Driver()
    *rows, end = driver.query(20_000, succeeded_tasks=7)
    driver.process([*rows, end])
    driver.process([driver.run.stage_done(driver.now + WINDOW_MS, 20_000, 100)])
    [update] = samples(driver.pass_time())

    assert update.samples[0].wall_ms == 20_000


def test_waiting_executions_and_templates_are_bounded(monkeypatch: pytest.MonkeyPatch):
    """Of too many executions and templates, the newest are kept."""
    monkeypatch.setattr(executions, "MAX_WAITING", 3)
    monkeypatch.setattr(executions, "MAX_TEMPLATES", 8)
    driver = Driver()
    for _ in range(5):
        driver.now = T
        driver.process(driver.query(5_000))
    waiting = len(application_of(driver.state).waiting_executions)
    for number in range(40):
        driver.execute(5_000, scope=f"Scan {'x' * number}")

    assert waiting == 3
    assert len(list(driver.state.templates.items())) == application_of(driver.state).templates <= 8


def test_waiting_execution_survives_a_restart():
    """An execution that waits is part of the state."""
    driver, codec = Driver(), record_codec(ApplicationState)
    driver.process(driver.query(20_000))
    driver.state.application.update(codec.decode(codec.encode(application_of(driver.state))))

    assert len(samples(driver.pass_time())) == 1


def test_backfill_does_not_add_an_execution_again():
    """A run that was learned as a whole ignores its executions, and the reverse; an execution is used once."""
    driver = Driver()
    [one], [two] = driver.execute(20_000), driver.execute(21_000)
    whole = Baseline.FromString(one.SerializeToString())
    whole.samples[0].run_key = driver.run.run_key
    executed = add_samples(None, [one])

    assert executed is not None
    assert add_samples(executed, [one]) is None
    assert add_samples(executed, [whole]) is None
    assert add_samples(add_samples(None, [whole]), [one, two]) is None
    assert len((add_samples(executed, [two]) or executed).samples) == 2
