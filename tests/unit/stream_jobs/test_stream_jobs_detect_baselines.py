"""Tests the baselines of the detect job: the expected values of a stage, and the samples that are learned."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.detect import baselines, identify
from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey, key_of_baseline
from sparkfuse_stream_jobs.detect.published_baselines import Place, PublishedBaselines
from sparkfuse_stream_jobs.detect.state.run_state import in_memory_run_state
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState
from tests.unit.stream_jobs.detect_rows import Run

T = 1_795_226_400_000
HOUR = 3_600_000


def identify_all(rows: Iterable[LiveRow]) -> list[identify.Output]:
    held = in_memory_run_state()
    return [found for row in rows for found in identify.step(row, held)]


def sample_of(rows: Iterable[LiveRow]) -> Baseline:
    """Return the training sample of the run's only stage: the last output of the identify step."""
    sample = identify_all(rows)[-1]
    assert isinstance(sample, Baseline)
    return sample


def job_baselines(published: Baseline | None = None) -> baselines.JobBaselines:
    return baselines.JobBaselines(InMemoryMapState(), lambda _key: published)


def learn_runs(runs: int, held: baselines.JobBaselines) -> Baseline:
    """Learn healthy runs of 20 s, one per hour, and return the baseline."""
    found = [sample_of(Run(f"app-{n}", T + n * HOUR).whole(20_000 + 100 * n)) for n in range(runs)]
    return [baselines.learn_sample(sample, held) for sample in found][-1]


def last_row(run: Run, wall_ms: int) -> LiveRow:
    """Return the last row of the run's only stage, after the identify step."""
    return [row for row in identify_all(run.whole(wall_ms)) if isinstance(row, LiveRow) and row.HasField("stage")][-1]


def test_fewer_than_five_runs_give_no_expectation():
    """With fewer than five runs there are no expected values, because an outlier could not be recognized."""
    held = job_baselines()
    learn_runs(4, held)
    row = baselines.add_expectations(last_row(Run("app-x", T + 9 * HOUR), 60_000), held)

    assert not row.stage.HasField("expected_ms")
    assert not row.stage.HasField("moved")


def test_row_has_expected_values_after_five_runs():
    """After five runs, a row also has columns with expected values; rules compare them with the measured columns."""
    held = job_baselines()
    learn_runs(5, held)
    stage = baselines.add_expectations(last_row(Run("app-x", T + 9 * HOUR), 60_000), held).stage

    assert stage.baseline_runs == 5
    assert 20_000 <= stage.expected_ms <= 20_500
    assert stage.expected_ms < stage.expected_p95_ms < 60_000
    assert stage.expected_cpu_ms < stage.expected_cpu_p95_ms
    assert (stage.moved, stage.work_known) == ("both", True)


def test_run_is_compared_with_runs_that_ended_before_it():
    """A run is compared only with runs that ended before it started, even if its own rows arrive later."""
    held = job_baselines()
    learn_runs(9, held)
    early = baselines.add_expectations(last_row(Run("app-x", T + 4 * HOUR + 1_000), 60_000), held)
    later = baselines.add_expectations(last_row(Run("app-y", T + 4 * HOUR + 60_000), 60_000), held)

    assert not early.stage.HasField("baseline_runs")
    assert later.stage.baseline_runs == 5


def test_lost_state_is_restored_from_published_baselines():
    """After a loss of state, the job reads the baselines that it published, and merges each baseline once."""
    seed = learn_runs(5, job_baselines())
    cold = job_baselines(seed)
    grown = baselines.learn_sample(sample_of(Run("app-9", T + 9 * HOUR).whole(20_000)), cold)
    again = baselines.learn_sample(sample_of(Run("app-10", T + 10 * HOUR).whole(20_000)), cold)

    assert [len(grown.samples), len(again.samples)] == [6, 7]


def test_backfilled_runs_are_merged_with_live_runs():
    """The runs of a backfill are merged with live runs, and a run that is in both is used once.

    A backfill may run before or during the job.
    """
    everything, published = learn_runs(7, job_baselines()), PublishedBaselines()
    try:
        held = baselines.JobBaselines(InMemoryMapState(), published)
        for run in (5, 6):
            baselines.learn_sample(sample_of(Run(f"app-{run}", T + run * HOUR).whole(20_000 + 100 * run)), held)
        key = key_of_baseline(everything)
        before = held.get(key)
        backfilled = Baseline.FromString(everything.SerializeToString())
        del backfilled.samples[-1]
        published.put(backfilled, Place(0, b"key"), T)
        both = held.get(key)
        again = held.get(key)
    finally:
        published.close()

    assert before is not None
    assert both is not None
    assert [len(before.samples), len(both.samples)] == [2, 7]
    assert both.samples == everything.samples
    assert again == both


def test_repeated_sample_is_ignored():
    """A sample that is learned again, as after a restart, is ignored."""
    held = job_baselines()
    sample = sample_of(Run("app-1", T).whole(20_000))

    assert baselines.learn_sample(sample, held) == baselines.learn_sample(sample, held)


def test_tenants_do_not_share_baselines():
    """Tenants do not share baselines, and neither do clusters.

    A baseline without cluster and tenant belongs to the default ones.
    """
    row = last_row(Run("app-1", T), 20_000)
    key = baselines.key_of_row(row)
    bare = LiveRow.FromString(row.SerializeToString())
    bare.ClearField("cluster")
    bare.ClearField("tenant")
    old = Baseline(job_key=key.job_key, stage_fingerprint=key.stage_fingerprint)

    assert (key.cluster, key.tenant) == ("prod-eu", "orders")
    assert baselines.key_of_row(bare) == key_of_baseline(old)
    assert key_of_baseline(old) == BaselineKey("default", "default", key.job_key, key.stage_fingerprint)
    assert key_of_baseline(learn_runs(1, job_baselines())) == key


def test_new_level_is_accepted_after_three_runs():
    """Three consistent runs with other durations are accepted as the new usual duration.

    The baseline stores when the duration changed, so that people can see why the expectation changed.
    """
    held = job_baselines()
    learn_runs(8, held)
    samples = [sample_of(Run(f"app-{n}", T + n * HOUR).whole(100_000)) for n in (20, 21, 22)]
    two, three = [baselines.learn_sample(sample, held) for sample in samples][1:]
    later = baselines.learn_sample(sample_of(Run("app-23", T + 23 * HOUR).whole(100_000)), held)

    assert not two.HasField("level_changed_ms")
    assert three.level_changed_ms == three.updated_ms == later.level_changed_ms
    assert later.updated_ms > three.updated_ms


def test_fit_is_reused_until_a_sample_is_learned():
    """The fit of a baseline is reused until a sample is learned.

    A run that ends while a stage is running does not change the stage's expected values.
    """
    held = job_baselines()
    learn_runs(6, held)
    run = Run("app-x", T + 9 * HOUR)
    first = baselines.add_expectations(last_row(run, 60_000), held).stage.expected_ms
    fitted = held.fit(baselines.key_of_row(last_row(run, 60_000)), T + 9 * HOUR)
    baselines.add_expectations(last_row(run, 60_000), held)
    same = held.fit(baselines.key_of_row(last_row(run, 60_000)), T + 9 * HOUR)
    baselines.learn_sample(sample_of(Run("app-y", T + 9 * HOUR + 1).whole(20_000)), held)
    forgotten = len(held.fits)
    again = baselines.add_expectations(last_row(run, 60_000), held).stage.expected_ms

    assert fitted is same is not None
    assert (forgotten, len(held.fits)) == (0, 1)
    assert first == again


def test_newest_baseline_of_a_stage_wins():
    """If several records are about one stage, the record with the newest sample is used, in any order of reading.

    Older versions of Sparkfuse wrote with another partitioner and without a cluster, so one stage can have several
    records. The partition and key of each other record are reported, because these records are no longer needed.
    """
    of_stage: dict[str, Any] = {"job_key": "orders", "stage_fingerprint": "f00"}
    old = Baseline(stage_name="old", updated_ms=T, **of_stage)
    new = Baseline(cluster="default", tenant="default", stage_name="new", updated_ms=T + 1, **of_stage)
    other = Baseline(cluster="prod", tenant="default", stage_name="other", updated_ms=T + 2, **of_stage)
    first, second = Place(0, b"old"), Place(1, b"new")

    def stored(*records: tuple[Baseline, Place]) -> tuple[str, list[Place | None]]:
        published = PublishedBaselines()
        try:
            useless = [published.put(baseline, place, T) for baseline, place in records]
            found = published(key_of_baseline(old))
            return found.stage_name if found else "", useless
        finally:
            published.close()

    assert stored((old, first), (new, second)) == ("new", [None, first])
    assert stored((new, second), (old, first)) == ("new", [None, first])
    assert stored((old, first), (new, first)) == ("new", [None, None])
    assert stored((new, first), (old, first)) == ("new", [None, None])
    assert stored((other, first)) == ("", [None])


def test_expired_baselines_are_removed():
    """Baselines whose last write is older than the limit are removed, and their partitions and keys are returned."""
    published = PublishedBaselines()
    baselines_read = [Baseline(job_key=job, stage_fingerprint="f00", updated_ms=T) for job in ("old", "current")]
    try:
        for number, baseline in enumerate(baselines_read):
            published.put(baseline, Place(number, baseline.job_key.encode()), T - 1 + number)
        places = published.remove_expired(T)
        found = [published(key_of_baseline(baseline)) for baseline in baselines_read]
    finally:
        published.close()

    assert places == [Place(0, b"old")]
    assert found == [None, baselines_read[1]]
