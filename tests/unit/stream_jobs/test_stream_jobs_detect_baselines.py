"""Baselines: what was expected of a stage, and what is learnt from it."""

from __future__ import annotations

from collections.abc import Iterable

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import baselines, identify
from sparkfuse_stream_jobs.detect.baseline_bootstrap import PublishedBaselines
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
HOUR = 3_600_000


def identified(rows: Iterable[LiveRow]) -> list[identify.Output]:
    held = in_memory_run_state()
    return [found for row in rows for found in identify.step(row, held)]


def memory(seed: Baseline | None = None) -> baselines.JobBaselines:
    return baselines.JobBaselines(InMemoryMapState(), lambda _key: seed)


def taught(runs: int, held: baselines.JobBaselines) -> Baseline:
    """The memory after healthy runs of 20 s, one an hour."""
    found = [identified(Run(f"app-{n}", T + n * HOUR).whole(20_000 + 100 * n))[-1] for n in range(runs)]
    return [baselines.learn_sample(lesson, held) for lesson in found][-1]


def last_row(run: Run, wall_ms: int) -> LiveRow:
    """The last row of the only stage of a run, as Identify gives it."""
    return [row for row in identified(run.whole(wall_ms)) if isinstance(row, LiveRow) and row.HasField("stage")][-1]


def test_nothing_is_said_before_five_runs():
    """Below five runs an outlier cannot be told from the rest."""
    held = memory()
    taught(4, held)
    row = baselines.add_expectations(last_row(Run("app-x", T + 9 * HOUR), 60_000), held)

    assert not row.stage.HasField("expected_ms")
    assert not row.stage.HasField("moved")


def test_after_five_runs_the_row_says_what_was_expected_and_what_moved():
    """The rule that compares needs the expectation in the row."""
    held = memory()
    taught(5, held)
    stage = baselines.add_expectations(last_row(Run("app-x", T + 9 * HOUR), 60_000), held).stage

    assert stage.baseline_runs == 5
    assert 20_000 <= stage.expected_ms <= 20_500
    assert stage.expected_ms < stage.expected_p95_ms < 60_000
    assert stage.expected_cpu_ms < stage.expected_cpu_p95_ms
    assert (stage.moved, stage.work_known) == ("both", True)


def test_a_run_is_judged_by_what_was_known_when_it_started():
    """A run that began before the others ended is not judged by them, whenever its rows arrive."""
    held = memory()
    taught(9, held)
    early = baselines.add_expectations(last_row(Run("app-x", T + 4 * HOUR + 1_000), 60_000), held)
    later = baselines.add_expectations(last_row(Run("app-y", T + 4 * HOUR + 60_000), 60_000), held)

    assert not early.stage.HasField("baseline_runs")
    assert later.stage.baseline_runs == 5


def test_a_lost_state_is_filled_by_what_was_written_and_goes_on_from_there():
    """After a lost state the job goes on with what it once wrote, and never goes back to it."""
    seed = taught(5, memory())
    cold = memory(seed)
    grown = baselines.learn_sample(identified(Run("app-9", T + 9 * HOUR).whole(20_000))[-1], cold)
    again = baselines.learn_sample(identified(Run("app-10", T + 10 * HOUR).whole(20_000))[-1], cold)

    assert [len(grown.samples), len(again.samples)] == [6, 7]


def test_runs_that_a_backfill_writes_stand_beside_those_that_were_learned_live():
    """Whether it was there before the job or comes while it runs; a run that both have counts once."""
    everything, seeds = taught(7, memory()), PublishedBaselines()
    try:
        held = baselines.JobBaselines(InMemoryMapState(), seeds)
        for run in (5, 6):
            baselines.learn_sample(identified(Run(f"app-{run}", T + run * HOUR).whole(20_000 + 100 * run))[-1], held)
        key = key_of_baseline(everything)
        before = held.get(key)
        backfilled = Baseline.FromString(everything.SerializeToString())
        del backfilled.samples[-1]
        seeds.put(backfilled)
        both = held.get(key)
        again = held.get(key)
    finally:
        seeds.close()

    assert before is not None
    assert both is not None
    assert [len(before.samples), len(both.samples)] == [2, 7]
    assert both.samples == everything.samples
    assert again == both


def test_the_same_lesson_twice_changes_nothing():
    """After a restart a run may teach again what it taught."""
    held = memory()
    lesson = identified(Run("app-1", T).whole(20_000))[-1]

    assert baselines.learn_sample(lesson, held) == baselines.learn_sample(lesson, held)


def test_two_tenants_with_a_job_of_one_name_do_not_share_a_memory():
    """Nor two clusters; what was written before it said so is that of the default ones."""
    row = last_row(Run("app-1", T), 20_000)
    key = baselines.key_of_row(row)
    bare = LiveRow.FromString(row.SerializeToString())
    bare.ClearField("cluster")
    bare.ClearField("tenant")
    old = Baseline(job_key=key.job_key, stage_fingerprint=key.stage_fingerprint)

    assert (key.cluster, key.tenant) == ("prod-eu", "orders")
    assert baselines.key_of_row(bare) == key_of_baseline(old)
    assert key_of_baseline(old) == BaselineKey("default", "default", key.job_key, key.stage_fingerprint)
    assert key_of_baseline(taught(1, memory())) == key


def test_a_new_level_is_accepted_after_three_runs_and_that_is_said():
    """When it was stays in the baseline, so that people can see why the expectation moved."""
    held = memory()
    taught(8, held)
    lessons = [identified(Run(f"app-{n}", T + n * HOUR).whole(100_000))[-1] for n in (20, 21, 22)]
    two, three = [baselines.learn_sample(lesson, held) for lesson in lessons][1:]
    later = baselines.learn_sample(identified(Run("app-23", T + 23 * HOUR).whole(100_000))[-1], held)

    assert not two.HasField("level_changed_ms")
    assert three.level_changed_ms == three.updated_ms == later.level_changed_ms
    assert later.updated_ms > three.updated_ms


def test_what_was_fitted_is_used_again_until_something_was_learned():
    """A stage that runs is asked about every few seconds; a run that ended meanwhile does not change its answer."""
    held = memory()
    taught(6, held)
    run = Run("app-x", T + 9 * HOUR)
    first = baselines.add_expectations(last_row(run, 60_000), held).stage.expected_ms
    fitted = held.fit(baselines.key_of_row(last_row(run, 60_000)), T + 9 * HOUR)
    baselines.add_expectations(last_row(run, 60_000), held)
    same = held.fit(baselines.key_of_row(last_row(run, 60_000)), T + 9 * HOUR)
    baselines.learn_sample(identified(Run("app-y", T + 9 * HOUR + 1).whole(20_000))[-1], held)
    forgotten = len(held.fits)
    again = baselines.add_expectations(last_row(run, 60_000), held).stage.expected_ms

    assert fitted is same is not None
    assert (forgotten, len(held.fits)) == (0, 1)
    assert first == again


def test_a_seed_that_does_not_say_whose_it_is_gives_way_to_one_that_does():
    """It was written by an older version under another key, and may be read before or behind the newer one."""
    of_stage = {"job_key": "orders", "stage_fingerprint": "f00"}
    old = Baseline(stage_name="old", **of_stage)
    new, newest = (
        Baseline(cluster="default", tenant="default", stage_name=name, **of_stage) for name in ("new", "newest")
    )
    other = Baseline(cluster="prod", tenant="default", stage_name="other", **of_stage)
    key = key_of_baseline(old)

    def kept(*told: Baseline) -> str:
        seeds = PublishedBaselines()
        try:
            for baseline in told:
                seeds.put(baseline)
            found = seeds(key)
            return found.stage_name if found else ""
        finally:
            seeds.close()

    assert [kept(old), kept(old, new), kept(new, old), kept(new, newest, old)] == ["old", "new", "new", "newest"]
    assert kept(other) == ""
