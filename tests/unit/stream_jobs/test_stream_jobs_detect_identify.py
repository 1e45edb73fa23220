"""Tests the identify step: job, run and stage of each row, and the samples of a successful run."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY
from sparkfuse_stream_jobs.detect import queries, stage_identity
from sparkfuse_stream_jobs.detect.identify import Output, step
from sparkfuse_stream_jobs.detect.state.run_state import RunState, application_of, in_memory_run_state
from tests.unit.stream_jobs.detect_rows import WINDOW_MS, Run

T = 1_795_226_400_000


def process(rows: Iterable[LiveRow], held: RunState | None = None) -> list[Output]:
    held = held or in_memory_run_state()
    return [found for row in rows for found in step(row, held)]


def in_order(rows: Iterable[LiveRow]) -> list[LiveRow]:
    """Renumber the rows in ascending order, whatever order they were created in."""
    numbered = list(rows)
    for number, row in enumerate(numbered, 1):
        row.row_seq = number
    return numbered


def samples(found: Iterable[Output]) -> list[Baseline]:
    return [each for each in found if isinstance(each, Baseline)]


def test_fingerprint_does_not_depend_on_the_stage_id():
    """A stage that has another id in the next run of its job has the same fingerprint."""
    one, two = Run("app-1", T), Run("app-2", T + 99)
    first = process([one.started(T), one.stage_started(T, 3), one.stage(T, 900, 3)])[-1]
    second = process([two.started(T), two.stage_started(T, 8), two.stage(T, 900, 8)])[-1]

    assert (first.job_key, first.run_key) == ("nightly_orders", one.run_key)
    assert first.stage.stage_fingerprint == second.stage.stage_fingerprint


def test_row_has_owner_and_team_of_the_application():
    """A row has the owner and team from the application's settings; without these settings the columns are absent."""
    run, silent = Run("app-1", T), Run("app-2", T)
    start = run.started(T)
    start.application_started.properties.update({"spark.sparkfuse.owner": "alice", "spark.sparkfuse.team": "sales"})
    first = process([start, run.stage(T, 900)])[-1]
    second = process([silent.started(T), silent.stage(T, 900)])[-1]

    assert (first.owner, first.team) == ("alice", "sales")
    assert not second.HasField("owner")
    assert not second.HasField("team")


def test_fingerprint_depends_on_the_parents():
    """Two stages with equal operators that read from different stages have different fingerprints."""

    def child(parent_scopes: list[str]) -> str:
        run = Run("app-1", T)
        start = run.stage_started(T, 1, scope_names=parent_scopes)
        rows = [run.started(T), start, run.stage_started(T, 2, parent_stage_ids=[1]), run.stage(T, 900, 2)]
        return process(in_order(rows))[-1].stage.stage_fingerprint

    assert child(["Scan orders"]) != child(["Scan customers"])


def test_retried_parent_does_not_change_the_fingerprint():
    """A retried parent stage does not change the fingerprint of the stage that reads from it.

    All starts of a window come before its other rows, so the retry may start before the row of the reading stage.
    """

    def reader(*parent_began_ms: int) -> str:
        run = Run("app-1", T)
        start = run.stage_started(T, 2, parent_stage_ids=[1], submitted_ms=T - 900)
        parents = [run.stage_started(T, 1, scope_names=["Scan"], submitted_ms=began) for began in parent_began_ms]
        return process(in_order([run.started(T), start, *parents, run.stage(T, 900, 2)]))[-1].stage.stage_fingerprint

    skipped, retried, before = reader(), reader(T - 500), reader(T - 1_500)

    assert skipped == retried
    assert skipped != before


def test_long_and_circular_parents_are_handled():
    """A list of parents that is too long or circular does not stop the job."""
    run = Run("app-1", T)
    starts = [run.stage_started(T, n, parent_stage_ids=[n - 1, n, n + 1]) for n in range(1, 3000)]
    last = process(in_order([run.started(T), *starts, run.stage(T, 900, 2999)]))[-1]

    assert not last.stage.stage_fingerprint.startswith(NAME_ONLY)


def test_stage_without_start_is_not_learned():
    """A stage whose start was lost is not learned.

    The stage's fingerprint is computed only from the stage's name, and must not be mixed with complete fingerprints.
    """
    run = Run("app-1", T)
    found = process([run.started(T), run.stage_done(T, 900), run.stage_ended(T), run.ended(T)])

    assert found[1].stage.stage_fingerprint.startswith(NAME_ONLY)
    assert not samples(found)


def test_application_without_start_is_a_job_of_its_own():
    """If the start of an application was lost, its job is unknown.

    The application is then neither learned nor compared with another job.
    """
    run = Run("app-1", T)
    found = process([run.stage_started(T), run.stage_done(T, 900), run.ended(T)])

    assert found[0].job_key == "app-1"
    assert not samples(found)


def test_task_row_has_name_and_fingerprint_of_its_stage():
    """A task row gets the name and fingerprint of its stage, because the windows job provides neither."""
    run = Run("app-1", T)
    *_, stage, task = process([run.started(T), run.stage_started(T), run.stage(T, 900), run.task(T, 900)])

    assert task.task.stage_name == stage.stage.stage_name
    assert task.task.stage_fingerprint == stage.stage.stage_fingerprint


def test_repeated_rows_are_ignored():
    """If the windows job repeats rows after a restart, each row is used once."""
    rows = list(Run("app-1", T).whole(20_000))
    held = in_memory_run_state()
    first, again = process(rows, held), process(rows[:4] + rows, held)

    assert len(samples(first)) == 1
    assert again == []


def test_last_row_of_each_stage_is_learned():
    """The last row of each stage is learned, with the end of the application as the time of the sample."""
    run = Run("app-1", T)
    rows = [run.started(T), run.stage_started(T), run.stage_done(T, 900), run.stage_done(T, 950), run.ended(T + 5_000)]
    [update] = samples(process(rows))
    [sample] = update.samples

    assert (sample.wall_ms, sample.cpu_ms, sample.work_bytes) == (950, 6_650, 1_000_000_000)
    assert sample.learned_ms == T + 4_900
    assert sample.run_key == run.run_key


def broken_runs():
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T)]
    yield "a job failed", [*begin, run.stage_done(T, 900), run.ended(T, failed_jobs=1)]
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T)]
    other = [run.stage_started(T, 4), run.stage_ended(T, 4, succeeded=False)]
    yield "another stage failed", [*begin, run.stage_done(T, 900), *other, run.ended(T)]
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T)]
    yield "it never ended", [*begin, run.stage_done(T, 900)]
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T)]
    yield "tasks are missing", [*begin, run.stage_done(T, 900, succeeded_tasks=7), run.ended(T)]
    run = Run("app-1", T)
    begin = [run.started(T), run.stage_started(T)]
    retried = run.stage_done(T, 900, stage_attempt=1)
    yield "the stage was tried again", [*begin, run.stage_done(T, 900), retried, run.ended(T)]
    run = Run("app-1", T)
    begin = [run.started(T), run.job_started(T), run.stage_started(T)]
    yield "a job still ran", [*begin, run.stage_done(T, 900), run.ended(T)]
    run = Run("app-1", T, completeness=0.98)
    begin = [run.started(T), run.stage_started(T)]
    yield "facts were lost", [*begin, run.stage_done(T, 900), run.ended(T)]


@pytest.mark.parametrize("reason, rows", list(broken_runs()))
def test_failed_or_incomplete_run_is_not_learned(reason: str, rows: list[LiveRow]):
    """Only complete and successful runs become training samples."""
    assert samples(process(in_order(rows))) == []


def test_stage_that_succeeds_in_a_retry_counts_as_succeeded():
    """A stage that fails and then succeeds in a retry is treated as succeeded."""
    run = Run("app-1", T)
    failed = [run.stage_started(T, 4), run.stage_ended(T, 4, succeeded=False)]
    again = [run.stage_started(T, 4, stage_attempt=1), run.stage_ended(T, 4, stage_attempt=1)]
    rows = [run.started(T), run.stage_started(T), run.stage_done(T, 900), *failed, *again, run.ended(T)]

    assert len(samples(process(in_order(rows)))) == 1


def test_state_of_an_application_is_bounded_and_cleared(monkeypatch):
    """If running jobs have more stages than the limit, further stages are identified by name only.

    The end of the application clears the application's state.
    """
    monkeypatch.setattr(stage_identity, "MAX_STAGES", 10)
    run, held = Run("app-1", T), in_memory_run_state()
    process([run.started(T), run.job_started(T, stage_ids=range(30))], held)
    process([run.stage_started(T, n) for n in range(30)], held)
    process([run.stage_ended(T, n, succeeded=False) for n in range(30)], held)
    kept = len(list(held.stages.items()))
    row = process([run.stage(T, 900, 25)], held)[0]
    process([run.ended(T + WINDOW_MS)], held)

    assert kept == 10
    assert row.stage.stage_fingerprint.startswith(NAME_ONLY)
    assert not [*held.stages.items(), *held.queries.items(), *held.samples.items(), *held.templates.items()]


def test_oldest_stages_and_queries_make_room_for_new_ones(monkeypatch):
    """A stream that exceeds the limits within a week loses its oldest stages and queries, never its newest."""
    monkeypatch.setattr(stage_identity, "MAX_STAGES", 10)
    monkeypatch.setattr(queries, "MAX_QUERIES", 10)
    run, held = Run("app-1", T), in_memory_run_state()
    process([run.started(T)], held)
    for n in range(100):
        process([run.job_started(T, n, stage_ids=[n], sql_execution_id=n), run.query_started(T, n)], held)
        process([run.query_plan(T, n), run.stage_started(T, n, sql_execution_id=n)], held)
        [row] = [each for each in process([run.stage_done(T, 900, n)], held) if isinstance(each, LiveRow)]
        process([run.query_ended(T, n), run.job_ended(T, n)], held)

        assert not row.stage.stage_fingerprint.startswith(NAME_ONLY)
        assert held.queries.get(str(n))
    stages, known = (len(list(each.items())) for each in (held.stages, held.queries))
    application = application_of(held)

    assert (stages, known) == (application.stages, application.plans)
    assert max(stages, known) <= 10


def in_epoch(epoch_ms: int, rows: Iterable[LiveRow]) -> list[LiveRow]:
    """Number the rows from 1 in an epoch, as a windows job without saved state does."""
    numbered = in_order(rows)
    for row in numbered:
        row.row_epoch_ms = epoch_ms
    return numbered


def test_rows_of_a_later_epoch_are_new_although_their_numbers_are_lower():
    """After the state of the windows job was lost, rows of the later epoch are processed, and earlier ones dropped."""
    run, held = Run("app-1", T), in_memory_run_state()
    before = in_epoch(
        T, [run.started(T), run.stage_started(T, 3), *(run.stage(T + 5_000 * n, 900, 3) for n in range(9))]
    )
    since = in_epoch(T + 10_000, [run.stage(T + 50_000, 900, 3), run.stage(T + 55_000, 900, 3)])

    assert [row.row_epoch_ms for row in process(before, held) if isinstance(row, LiveRow)] == [T] * len(before)
    found = [row for row in process([*since, *before, *since], held) if isinstance(row, LiveRow)]
    assert [(row.row_epoch_ms, row.row_seq) for row in found] == [(T + 10_000, 1), (T + 10_000, 2)]
    assert found[-1].job_key == "nightly_orders"


def test_windows_of_the_last_epoch_are_not_processed_again():
    """A later epoch that begins with windows of the last epoch counts from the first window after them."""
    run, held = Run("app-1", T), in_memory_run_state()
    process(in_epoch(T, [run.started(T), run.stage(T + 50_000, 900, 3)]), held)
    again = in_epoch(T + 10_000, [run.stage(T + 5_000 * number, 900, 3) for number in range(8, 13)])
    found = [row for row in process(again, held) if isinstance(row, LiveRow)]

    assert [row.window_end_ms for row in found] == [T + 55_000, T + 60_000]
