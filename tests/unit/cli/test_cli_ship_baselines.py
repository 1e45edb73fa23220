"""Tests training samples from logs of ended runs: each run adds its samples once, in the order of the runs' ends."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest

from sparkfuse_collectors.ship.backfill import logs_at
from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_kernel.event_logs.log import UnreadableLogError
from sparkfuse_stream_jobs.detect import baselines as detect
from sparkfuse_stream_jobs.detect.baseline_backfill import newest_samples
from sparkfuse_stream_jobs.detect.baseline_updates import add_samples
from sparkfuse_stream_jobs.detect.state.values import InMemoryMapState


def sample(run: str, learned_ms: int, wall_ms: int = 1000, cpu_ms: int = 500) -> Baseline:
    measured = BaselineSample(run_key=run, learned_ms=learned_ms, wall_ms=wall_ms, cpu_ms=cpu_ms, num_tasks=4)
    return Baseline(
        job_key="orders", stage_fingerprint="f", stage_name="collect", updated_ms=learned_ms, samples=[measured]
    )


def runs(baseline: Baseline | None) -> list[str]:
    return [sample.run_key for sample in baseline.samples] if baseline else []


def test_samples_are_ordered_by_end_of_run() -> None:
    """Training samples are ordered by the end of their run; the order in which logs are read does not matter."""
    found = add_samples(None, [sample("c", 30), sample("a", 10), sample("b", 20)])

    assert runs(found) == ["a", "b", "c"]
    assert found is not None
    assert found.updated_ms == 30


def test_known_run_is_ignored() -> None:
    """A run that is already in the baseline, from a backfill or from live rows, adds nothing."""
    known = add_samples(None, [sample("a", 10), sample("b", 20)])

    assert add_samples(known, [sample("a", 10, wall_ms=999), sample("b", 20)]) is None
    assert runs(add_samples(known, [sample("b", 20), sample("aa", 15)])) == ["a", "aa", "b"]


def test_only_newest_samples_are_kept() -> None:
    """For a stage with a thousand runs, at most a hundred samples are in memory, and the newest fifty are kept."""
    ((_, group),) = newest_samples(
        sample(f"run-{number:04}", number).SerializeToString() for number in range(1000)
    ).items()

    assert len(group) <= 100
    assert runs(add_samples(None, group))[-1] == "run-0999"
    assert len(runs(add_samples(None, group))) == 50


def test_live_sample_replaces_backfilled_sample() -> None:
    """The live sample of a run replaces the sample that a backfill added for the same run."""
    backfilled = add_samples(None, [sample("a", 10), sample("b", 20, cpu_ms=501)])
    memory = detect.JobBaselines(InMemoryMapState[Baseline](), lambda _key: backfilled)

    updated = detect.learn_sample(sample("b", 20, cpu_ms=500), memory)

    assert runs(updated) == ["a", "b"]
    assert updated.samples[1].cpu_ms == 500


def test_backfill_finds_files_folders_and_objects(tmp_path: Path) -> None:
    """A backfill path may be a log, a folder of logs, or an object's URL; a path without a log is an error."""
    (tmp_path / "app-1").write_bytes(b"x")
    (tmp_path / "app-2").write_bytes(b"x")
    fsspec.filesystem("memory").pipe_file("/found/app-3", b"x")

    def names(place: str) -> list[str]:
        return sorted(found.name.rpartition("/")[2] for _, found in logs_at(place))

    assert names(str(tmp_path)) == ["app-1", "app-2"]
    assert names(f"file://{tmp_path}/app-2") == ["app-2"]
    assert names("memory://found") == names("memory://found/app-3") == ["app-3"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableLogError, match="contains no event log"):
        names(str(tmp_path / "empty"))
    with pytest.raises(UnreadableLogError, match="there is no such folder"):
        names(str(tmp_path / "nowhere"))
