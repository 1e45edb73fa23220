"""Adds expected values to each row of a stage or application, and learns from runs that succeeded.

The key of a baseline is one stage, or the whole application, of one job of one tenant. A stage or application is
compared only with runs that ended before it started. So its expected values do not depend on the time of their
computation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.generated.names_pb2 import DisplayName
from sparkfuse_rules.knowledge.baseline import Expectation, Fit, Sample, learn, level_changed
from sparkfuse_rules.knowledge.projection import RUNNING, share_of_whole
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of
from sparkfuse_rules.knowledge.training_samples import (
    APPLICATION,
    driver_idle_columns,
    expected_columns,
    usual_spill_columns,
)
from sparkfuse_rules.knowledge.work import Work, work_of
from sparkfuse_stream_jobs.detect.baseline_updates import DEFAULT, BaselineKey, key_of_baseline, merge_baselines
from sparkfuse_stream_jobs.detect.fit_cache import FitCache, KnownFit, fit_known
from sparkfuse_stream_jobs.detect.row_columns import Columns, present
from sparkfuse_stream_jobs.detect.state.values import MapState

_WORK = ("work_bytes", "work_records", "operator_rows_max")

PublishedUpdate = Callable[[BaselineKey], Baseline | None]
"""Returns the baseline that another process wrote since the last call with this key; None if there is none."""


@dataclass(frozen=True)
class JobBaselines:
    """The baselines of the current job by fingerprint, their published updates, and the cache of their fits.

    The cache contains the fits of all jobs, not only of the current job.
    """

    baselines: MapState[Baseline]
    published: PublishedUpdate
    fits: FitCache = field(default_factory=FitCache)

    def get(self, key: BaselineKey) -> Baseline | None:
        """Return the baseline, merged with baselines that a backfill or an earlier start of the job published."""
        self._merge_published(key)
        return self.baselines.get(key.stage_fingerprint)

    def fit(self, key: BaselineKey, started_ms: int) -> Fit | None:
        """Return the fit of the samples that were known at ``started_ms``; None for fewer than five runs."""
        self._merge_published(key)
        return self.fits.get(key, started_ms, lambda: self._compute_fit(key, started_ms))

    def put(self, key: BaselineKey, baseline: Baseline) -> None:
        """Replace the stored baseline of ``key``."""
        self.baselines.put(key.stage_fingerprint, baseline)
        self.fits.invalidate(key)

    def _merge_published(self, key: BaselineKey) -> None:
        if (update := self.published(key)) is None:
            return
        known = self.baselines.get(key.stage_fingerprint)
        if (merged := merge_baselines(known, update)) is not known:
            self.put(key, merged)

    def _compute_fit(self, key: BaselineKey, started_ms: int) -> KnownFit:
        baseline = self.baselines.get(key.stage_fingerprint)
        return fit_known([sample_of(each) for each in baseline.samples] if baseline else (), started_ms)


def job_of(message: LiveRow | Baseline | DisplayName) -> tuple[str, str, str]:
    """Return cluster, tenant and job of the message, with the defaults for an absent cluster or tenant."""
    return message.cluster or DEFAULT, message.tenant or DEFAULT, message.job_key


def key_of_row(row: LiveRow) -> BaselineKey:
    """Return the key of the row's baseline."""
    return key_of_run(row) if row.HasField("application") else BaselineKey(*job_of(row), row.stage.stage_fingerprint)


def key_of_run(row: LiveRow) -> BaselineKey:
    """Return the key of the baseline of the row's whole application."""
    return BaselineKey(*job_of(row), APPLICATION)


def started_ms(row: LiveRow) -> int:
    """Return when the stage of the row was submitted, or when the application started, in ms since epoch.

    Samples that were learned before are known to the row: in a long-lived application also those of earlier queries.
    """
    submitted = row.HasField("stage") and row.stage.HasField("submitted_ms")
    return max(row.app_start_ms, row.stage.submitted_ms) if submitted else row.app_start_ms


def add_expectations(row: LiveRow, known: JobBaselines) -> LiveRow:
    """Add the expected values to the row of a stage or application; return the row unchanged if too few runs are known.

    For a running stage, the baseline is compared with the duration, work and CPU time at its projected end.
    """
    fitted = known.fit(key_of_row(row), started_ms(row))
    if fitted is None:
        return row
    expectation, elapsed_ms, cpu_ms = (_of_stage if row.HasField("stage") else _of_application)(row, fitted)
    target = row.stage if row.HasField("stage") else row.application
    columns = expected_columns(expectation, elapsed_ms, cpu_ms) | usual_spill_columns(fitted)
    if row.HasField("application"):
        columns |= driver_idle_columns(fitted, present(row.application))
    for name, value in columns.items():
        setattr(target, name, value)
    return row


def learn_sample(update: Baseline, known: JobBaselines) -> Baseline:
    """Add the single sample of ``update`` to its baseline; return the new baseline, which must be published."""
    key = key_of_baseline(update)
    baseline = known.get(key)
    sample = sample_of(update.samples[0])
    before = [each for each in map(sample_of, baseline.samples) if not _is_same(each, sample)] if baseline else []
    after = learn(before, sample)
    updated = Baseline(
        cluster=key.cluster,
        tenant=key.tenant,
        job_key=update.job_key,
        stage_fingerprint=update.stage_fingerprint,
        stage_name=update.stage_name,
        updated_ms=update.updated_ms,
        samples=[message_of(sample) for sample in after],
        accepted_ms=baseline.accepted_ms if baseline and baseline.HasField("accepted_ms") else None,
    )
    if level_changed(before, after):
        updated.level_changed_ms = update.updated_ms
    elif baseline and baseline.HasField("level_changed_ms"):
        updated.level_changed_ms = baseline.level_changed_ms
    known.put(key, updated)
    return updated


def _of_stage(row: LiveRow, fitted: Fit) -> tuple[Expectation, int | None, int | None]:
    stage, running = row.stage, row.stage.status == RUNNING
    elapsed_ms = stage.elapsed_ms if stage.HasField("elapsed_ms") else None
    judged_ms = stage.judged_ms if stage.HasField("judged_ms") else elapsed_ms
    share, growth = 1.0, 1.0
    if elapsed_ms and judged_ms and judged_ms > elapsed_ms:
        share, growth = share_of_whole(Columns(stage)), judged_ms / elapsed_ms
    work = work_of({name: getattr(stage, name) for name in _WORK if stage.HasField(name)})
    whole = Work(_scaled(work.read_bytes, share), _scaled(work.records, share), work.operator_rows)
    cpu_known = stage.HasField("finished_cpu_ms") or stage.HasField("running_cpu_ms")
    cpu_ms = int((stage.finished_cpu_ms + stage.running_cpu_ms) * growth) if cpu_known else None
    return fitted.at(whole, running), judged_ms, cpu_ms


def _scaled(amount: int | None, share: float) -> int | None:
    return None if amount is None else int(amount / share)


def _of_application(row: LiveRow, fitted: Fit) -> tuple[Expectation, int | None, int | None]:
    columns = present(row.application)
    expectation = fitted.at(work_of(columns), columns.get("status") == RUNNING)
    return expectation, columns.get("elapsed_ms"), columns.get("finished_cpu_ms")


def _is_same(known: Sample, sample: Sample) -> bool:
    """Return whether both samples are of the same stage and run.

    A backfill may have added the run from its event log.
    """
    return (known.run_key, known.learned_ms, known.wall_ms, known.num_tasks) == (
        sample.run_key, sample.learned_ms, sample.wall_ms, sample.num_tasks,
    )  # fmt: skip
