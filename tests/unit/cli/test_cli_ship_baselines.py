"""What ended logs teach: each run once, in the order in which runs ended, whoever told of it first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
from confluent_kafka import KafkaError, KafkaException

from sparkfuse.shipping.backfill import logs_behind
from sparkfuse.shipping.baselines import Lessons
from sparkfuse.shipping.history import Made
from sparkfuse.shipping.learning import LearningHistories
from sparkfuse_contracts.generated.baseline_pb2 import Baseline, BaselineSample
from sparkfuse_contracts.settings import Settings
from sparkfuse_kernel.event_logs.log import UnreadableLogError
from sparkfuse_stream_jobs.detect import baselines as detect
from sparkfuse_stream_jobs.detect.learning import taught_by
from sparkfuse_stream_jobs.detect.memory import HeldShelf
from tests.waiting import wait_for


def lesson(run: str, learned_ms: int, wall_ms: int = 1000, cpu_ms: int = 500) -> Baseline:
    sample = BaselineSample(run_key=run, learned_ms=learned_ms, wall_ms=wall_ms, cpu_ms=cpu_ms, num_tasks=4)
    return Baseline(
        job_key="orders", stage_fingerprint="f", stage_name="collect", updated_ms=learned_ms, samples=[sample]
    )


def runs(baseline: Baseline | None) -> list[str]:
    return [sample.run_key for sample in baseline.samples] if baseline else []


def test_runs_are_learned_in_the_order_in_which_they_ended() -> None:
    """However logs were read, the baseline is that of the runs in their order."""
    found = taught_by(None, [lesson("c", 30), lesson("a", 10), lesson("b", 20)])

    assert runs(found) == ["a", "b", "c"]
    assert found is not None
    assert found.updated_ms == 30


def test_a_run_that_is_known_teaches_nothing() -> None:
    """Told again, by another backfill or after it was seen live, a run adds nothing."""
    known = taught_by(None, [lesson("a", 10), lesson("b", 20)])

    assert taught_by(known, [lesson("a", 10, wall_ms=999), lesson("b", 20)]) is None
    assert runs(taught_by(known, [lesson("b", 20), lesson("aa", 15)])) == ["a", "aa", "b"]


def test_only_the_newest_lessons_are_held() -> None:
    """A stage of ten thousand runs takes the memory of a hundred, and the newest fifty are kept."""
    lessons = Lessons()
    lessons.add(lesson(f"run-{number:04}", number).SerializeToString() for number in range(1000))
    ((_, held),) = lessons.take().items()

    assert len(held) <= 100
    assert runs(taught_by(None, held))[-1] == "run-0999"
    assert len(runs(taught_by(None, held))) == 50
    assert len(lessons) == 0


def test_detect_does_not_count_a_run_twice_that_its_seed_has() -> None:
    """Seeded with a run from its log, the live lesson of the same run takes the place of the seeded one."""
    seeded = taught_by(None, [lesson("a", 10), lesson("b", 20, cpu_ms=501)])
    memory = detect.Memory(HeldShelf[Baseline](), lambda _key: seeded)

    taught = detect.teach(lesson("b", 20, cpu_ms=500), memory)

    assert runs(taught) == ["a", "b"]
    assert taught.samples[1].cpu_ms == 500


def test_backfill_finds_files_folders_and_objects(tmp_path: Path) -> None:
    """A path may be a log, a folder of logs, or an object in a store; where there is none it says so."""
    (tmp_path / "app-1").write_bytes(b"x")
    (tmp_path / "app-2").write_bytes(b"x")
    fsspec.filesystem("memory").pipe_file("/found/app-3", b"x")

    def names(place: str) -> list[str]:
        return sorted(found.name.rpartition("/")[2] for _, found in logs_behind(place))

    assert names(str(tmp_path)) == ["app-1", "app-2"]
    assert names(f"file://{tmp_path}/app-2") == ["app-2"]
    assert names("memory://found") == names("memory://found/app-3") == ["app-3"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UnreadableLogError, match="there is no event log"):
        names(str(tmp_path / "empty"))
    with pytest.raises(UnreadableLogError, match="there is no such folder"):
        names(str(tmp_path / "nowhere"))


class InstantMakers:
    """Histories that are ready as soon as they are asked for."""

    def __init__(self) -> None:
        self.waiting: list[str] = []
        self.closed = False

    def ask(self, name: str, place: str) -> None:
        del place
        self.waiting.append(name)

    @property
    def open(self) -> int:
        return len(self.waiting)

    def ready(self) -> list[Made]:
        made = [Made(name, "app", (b"row",), (lesson(name, 1).SerializeToString(),)) for name in self.waiting]
        self.waiting = []
        return made

    def close(self) -> None:
        self.closed = True


def test_rows_come_only_after_their_lessons_were_taught(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the broker does not take baselines, no history is given out; then each is, once."""
    monkeypatch.setattr("sparkfuse.shipping.learning.RETRY_SECONDS", 0.01)
    answers, tries = threading.Event(), []

    def seeding(_settings: Settings, group: Sequence[Made]) -> int:
        tries.append(len(group))
        if not answers.is_set():
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return len(group)

    makers = InstantMakers()
    histories = LearningHistories(makers, Settings.from_environment({}), threading.Event(), seeding)  # type: ignore[arg-type]
    try:
        histories.ask("one", "/one")
        assert list(histories.ready()) == []
        wait_for(lambda: len(tries) > 2, 20, "some tries")
        assert list(histories.ready()) == []
        assert histories.open == 1
        answers.set()
        found = wait_for(lambda: list(histories.ready()), 20, "the history")
    finally:
        histories.close()

    assert [replace(made, lessons=()) for made in found] == [Made("one", "app", (b"row",))]
    assert (histories.open, histories.learned, makers.closed) == (0, 1, True)


def test_what_cannot_be_taught_holds_up_no_rows(caplog: pytest.LogCaptureFixture) -> None:
    """Whatever goes wrong with lessons is told, their histories come without them, and the next are taught again."""

    def seeding(_settings: Settings, group: Sequence[Made]) -> int:
        if group[0].name == "bad":
            raise OSError("no space left on device")
        return len(group)

    makers = InstantMakers()
    histories = LearningHistories(makers, Settings.from_environment({}), threading.Event(), seeding)  # type: ignore[arg-type]
    found: list[Made] = []
    try:
        for name in ("bad", "good"):
            histories.ask(name, name)
            found += wait_for(lambda: list(histories.ready()), 20, "the history")
    finally:
        histories.close()

    assert [(made.name, made.rows, made.taught) for made in found] == [
        ("bad", (b"row",), False),
        ("good", (b"row",), True),
    ]
    assert (histories.open, histories.learned) == (0, 1)
    assert "baselines learn nothing of 1 logs" in caplog.text
    assert "no space left on device" in caplog.text
