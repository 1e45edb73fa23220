"""Merges baselines that were learned in different places, run by run, in the order in which the runs ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_rules.knowledge.baseline import Sample, accept, learn, level_changed
from sparkfuse_rules.knowledge.long_lived import application_run
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of

# The cluster and the tenant of a collector if its configuration sets none.
DEFAULT = "default"


@dataclass(frozen=True)
class BaselineKey:
    """The key of a baseline. ``stage_fingerprint`` is ``application`` for a whole application."""

    cluster: str
    tenant: str
    job_key: str
    stage_fingerprint: str


def key_of_baseline(baseline: Baseline) -> BaselineKey:
    """Return the key of a baseline; a baseline without cluster and tenant belongs to the default cluster and tenant."""
    return BaselineKey(
        baseline.cluster or DEFAULT, baseline.tenant or DEFAULT, baseline.job_key, baseline.stage_fingerprint
    )


def add_samples(known: Baseline | None, updates: Sequence[Baseline]) -> Baseline | None:
    """Add the samples of new runs to ``known`` and return the result; None if ``known`` contains all runs.

    Each update is a baseline with one sample. Samples are learned in the order in which their runs ended. An execution
    of a run that was learned as a whole is ignored, and so is the whole of a run whose executions were learned.
    """
    runs = {sample.run_key for sample in known.samples} if known else set()
    whole = {application_run(each) for each in runs}
    new = [update for update in updates if not _is_known(update.samples[0].run_key, runs, whole)]
    if not new:
        return None
    samples = [sample_of(each) for each in known.samples] if known else []
    samples += [sample_of(update.samples[0]) for update in new]
    learned: tuple[Sample, ...] = ()
    changed_ms = known.level_changed_ms if known and known.HasField("level_changed_ms") else None
    accepted_ms = known.accepted_ms if known and known.HasField("accepted_ms") else None
    ordered = sorted(samples, key=lambda each: (each.learned_ms, each.run_key))
    for place, sample in enumerate(ordered):
        before, learned = learned, learn(learned, replace(sample, abnormal=False, reference=False, level_ratio=None))
        if level_changed(before, learned):
            changed_ms = max(changed_ms or 0, sample.learned_ms)
        # The acceptance is repeated after the last run that had ended at that time.
        is_last = place + 1 == len(ordered) or ordered[place + 1].learned_ms > (accepted_ms or 0)
        if accepted_ms is not None and sample.learned_ms <= accepted_ms and is_last:
            learned = accept(learned, accepted_ms)
    newest = max(new, key=learned_ms)
    key = key_of_baseline(newest)
    return Baseline(
        cluster=key.cluster,
        tenant=key.tenant,
        job_key=newest.job_key,
        stage_fingerprint=newest.stage_fingerprint,
        stage_name=known.stage_name if known else newest.stage_name,
        updated_ms=max(newest.updated_ms, known.updated_ms if known else 0),
        level_changed_ms=changed_ms,
        accepted_ms=accepted_ms,
        samples=[message_of(sample) for sample in learned],
    )


def merge_baselines(known: Baseline | None, other: Baseline) -> Baseline:
    """Return a baseline with the runs of both baselines; if both contain a run, the sample of ``known`` is used.

    If a longer level was accepted in ``other`` only, it is accepted in the result.
    """
    if known is None:
        return other
    if other.accepted_ms > known.accepted_ms:
        known = with_accepted_level(known, other.accepted_ms)
    single = Baseline()
    single.CopyFrom(other)
    updates = []
    for sample in other.samples:
        del single.samples[:]
        single.samples.append(sample)
        updates.append(Baseline.FromString(single.SerializeToString()))
    return add_samples(known, updates) or known


def with_accepted_level(baseline: Baseline, accepted_ms: int) -> Baseline:
    """Return a copy of the baseline in which the longer level of the newest runs, if any, is the reference."""
    result = Baseline()
    result.CopyFrom(baseline)
    del result.samples[:]
    samples = accept([sample_of(each) for each in baseline.samples], accepted_ms)
    result.samples.extend(message_of(each) for each in samples)
    result.accepted_ms, result.updated_ms = accepted_ms, max(accepted_ms, baseline.updated_ms)
    return result


def _is_known(run_key: str, runs: Collection[str], whole: Collection[str]) -> bool:
    run = application_run(run_key)
    return run_key in runs or (run in runs if run != run_key else run in whole)


def learned_ms(update: Baseline) -> int:
    """Return when the run of a baseline with one sample ended, in ms since epoch."""
    ended_ms: int = update.samples[0].learned_ms
    return ended_ms
