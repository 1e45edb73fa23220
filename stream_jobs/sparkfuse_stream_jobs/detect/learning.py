"""Baselines that were learned in two places: brought together, run by run, in the order in which the runs ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_rules.knowledge.baseline import Sample, learn, level_changed
from sparkfuse_rules.knowledge.sample_messages import message_of, sample_of
from sparkfuse_stream_jobs.detect.memory_key import key_of_baseline


def taught_by(known: Baseline | None, lessons: Sequence[Baseline]) -> Baseline | None:
    """The baseline with the samples of runs that it lacks, learned in the order in which they ended; None without."""
    runs = {sample.run_key for sample in known.samples} if known else set()
    fresh = [lesson for lesson in lessons if lesson.samples[0].run_key not in runs]
    if not fresh:
        return None
    samples = [sample_of(each) for each in known.samples] if known else []
    samples += [sample_of(lesson.samples[0]) for lesson in fresh]
    learned: tuple[Sample, ...] = ()
    changed_ms = known.level_changed_ms if known and known.HasField("level_changed_ms") else None
    for sample in sorted(samples, key=lambda each: (each.learned_ms, each.run_key)):
        before, learned = learned, learn(learned, replace(sample, abnormal=False))
        if level_changed(before, learned):
            changed_ms = max(changed_ms or 0, sample.learned_ms)
    newest = max(fresh, key=learned_ms)
    key = key_of_baseline(newest)
    return Baseline(
        cluster=key.cluster,
        tenant=key.tenant,
        job_key=newest.job_key,
        stage_fingerprint=newest.stage_fingerprint,
        stage_name=known.stage_name if known else newest.stage_name,
        updated_ms=max(newest.updated_ms, known.updated_ms if known else 0),
        level_changed_ms=changed_ms,
        samples=[message_of(sample) for sample in learned],
    )


def joined(known: Baseline | None, told: Baseline) -> Baseline:
    """What both know of one stage: a run that both have is as ``known`` has it."""
    if known is None:
        return told
    alone = Baseline()
    alone.CopyFrom(told)
    lessons = []
    for sample in told.samples:
        del alone.samples[:]
        alone.samples.append(sample)
        lessons.append(Baseline.FromString(alone.SerializeToString()))
    return taught_by(known, lessons) or known


def learned_ms(lesson: Baseline) -> int:
    """When the run of a lesson ended, which has one sample [ms since epoch]."""
    ended_ms: int = lesson.samples[0].learned_ms
    return ended_ms
