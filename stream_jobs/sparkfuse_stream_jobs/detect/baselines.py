"""Baselines: says of each row of a stage or application what was expected of it, and learns from runs that ended well.

One stage, or the whole, of one job of one tenant is one key. What a run is judged by was known before it started, so
rows of one run read alike whenever they are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.baseline import Expectation, Fit, Sample, fit, learn, level_changed
from sparkfuse_rules.knowledge.projection import RUNNING, share_of_whole
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of
from sparkfuse_rules.knowledge.training_samples import APPLICATION, driver_idle_columns, expected_columns
from sparkfuse_rules.knowledge.work import Work, work_of
from sparkfuse_stream_jobs.detect.fits import Fits
from sparkfuse_stream_jobs.detect.learning import joined
from sparkfuse_stream_jobs.detect.memory import Shelf
from sparkfuse_stream_jobs.detect.memory_key import DEFAULT, Key, key_of_baseline
from sparkfuse_stream_jobs.detect.rows import Columns, present

_WORK = ("work_bytes", "work_records", "operator_rows_max")

Seed = Callable[[Key], Baseline | None]


@dataclass(frozen=True)
class Memory:
    """The baselines of one job by fingerprint, where to look for what others wrote of them, and what was fitted.

    The fits are of all jobs whose turn it is by turns.
    """

    baselines: Shelf[Baseline]
    seed: Seed
    fits: Fits = field(default_factory=Fits)

    def recall(self, key: Key) -> Baseline | None:
        """The baseline, with the runs that an earlier life of the job, or a backfill, knew of beside ours."""
        self._hear(key)
        return self.baselines.get(key.stage_fingerprint)

    def fitted(self, key: Key, app_start_ms: int) -> Fit | None:
        """What was known of the stage before the run started; None below five known runs."""
        self._hear(key)
        return self.fits.of(key, app_start_ms, lambda: self._fit(key, app_start_ms))

    def keep(self, key: Key, baseline: Baseline) -> None:
        """It is the stage's baseline from now on."""
        self.baselines.put(key.stage_fingerprint, baseline)
        self.fits.forget(key)

    def _hear(self, key: Key) -> None:
        """Take over what others wrote of the stage since it was asked for last."""
        if (told := self.seed(key)) is None:
            return
        known = self.baselines.get(key.stage_fingerprint)
        if (both := joined(known, told)) is not known:
            self.keep(key, both)

    def _fit(self, key: Key, app_start_ms: int) -> Fit | None:
        baseline = self.baselines.get(key.stage_fingerprint)
        return fit([sample_of(each) for each in baseline.samples], app_start_ms) if baseline else None


def key_of_job(told: LiveRow | Baseline) -> tuple[str, str, str]:
    """Cluster, tenant and job whose memory the row or baseline is of; what says none is of the default ones."""
    return told.cluster or DEFAULT, told.tenant or DEFAULT, told.job_key


def key_of_row(row: LiveRow) -> Key:
    """Whose memory the row asks for; rows that none is kept of have an empty fingerprint."""
    fingerprint = APPLICATION if row.HasField("application") else row.stage.stage_fingerprint
    return Key(*key_of_job(row), fingerprint)


def judge(row: LiveRow, memory: Memory) -> LiveRow:
    """The row of a stage or application with what was expected of it; unchanged while too few runs are known.

    A stage is judged by how long it will take by its progress, and so by the work that it will then have done and
    the CPU that it will have used; the expectation is that for the whole.
    """
    fitted = memory.fitted(key_of_row(row), row.app_start_ms)
    if fitted is None:
        return row
    expectation, elapsed_ms, cpu_ms = (_of_stage if row.HasField("stage") else _of_application)(row, fitted)
    told = row.stage if row.HasField("stage") else row.application
    columns = expected_columns(expectation, elapsed_ms, cpu_ms)
    if row.HasField("application"):
        columns |= driver_idle_columns(fitted, present(row.application))
    for name, value in columns.items():
        setattr(told, name, value)
    return row


def teach(taught: Baseline, memory: Memory) -> Baseline:
    """Add what a run taught, which is one sample, and give the new baseline to be written down."""
    key = key_of_baseline(taught)
    known = memory.recall(key)
    sample = sample_of(taught.samples[0])
    before = [each for each in map(sample_of, known.samples) if not _is_same(each, sample)] if known else []
    after = learn(before, sample)
    baseline = Baseline(
        cluster=key.cluster,
        tenant=key.tenant,
        job_key=taught.job_key,
        stage_fingerprint=taught.stage_fingerprint,
        stage_name=taught.stage_name,
        updated_ms=taught.updated_ms,
        samples=[message_of(sample) for sample in after],
    )
    if level_changed(before, after):
        baseline.level_changed_ms = taught.updated_ms
    elif known and known.HasField("level_changed_ms"):
        baseline.level_changed_ms = known.level_changed_ms
    memory.keep(key, baseline)
    return baseline


def _of_stage(row: LiveRow, fitted: Fit) -> tuple[Expectation, int | None, int | None]:
    stage, running = row.stage, row.stage.status == RUNNING
    elapsed_ms = stage.elapsed_ms if stage.HasField("elapsed_ms") else None
    judged_ms = stage.judged_ms if stage.HasField("judged_ms") else elapsed_ms
    share, ahead = 1.0, 1.0
    if elapsed_ms and judged_ms and judged_ms > elapsed_ms:
        share, ahead = share_of_whole(Columns(stage)), judged_ms / elapsed_ms
    work = work_of({name: getattr(stage, name) for name in _WORK if stage.HasField(name)})
    whole = Work(_scaled(work.read_bytes, share), _scaled(work.records, share), work.operator_rows)
    cpu_known = stage.HasField("finished_cpu_ms") or stage.HasField("running_cpu_ms")
    cpu_ms = int((stage.finished_cpu_ms + stage.running_cpu_ms) * ahead) if cpu_known else None
    return fitted.at(whole, running), judged_ms, cpu_ms


def _scaled(amount: int | None, share: float) -> int | None:
    return None if amount is None else int(amount / share)


def _of_application(row: LiveRow, fitted: Fit) -> tuple[Expectation, int | None, int | None]:
    told = present(row.application)
    expectation = fitted.at(work_of(told), told.get("status") == RUNNING)
    return expectation, told.get("elapsed_ms"), told.get("finished_cpu_ms")


def _is_same(known: Sample, taught: Sample) -> bool:
    """Whether a baseline that was seeded from the run's event log has this stage of it already."""
    return (known.run_key, known.learned_ms, known.wall_ms, known.num_tasks) == (
        taught.run_key, taught.learned_ms, taught.wall_ms, taught.num_tasks,
    )  # fmt: skip
