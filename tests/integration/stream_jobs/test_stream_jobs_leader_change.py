"""Tests both jobs while the leader of all partitions is killed, and the new leader's clock is ahead or behind."""

from __future__ import annotations

import re
import time
import urllib.request
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_stream_jobs.ticks import murmur2
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.scripted_application import EXECUTOR, ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.kafka_pair import KafkaPair, kafka_pair
from tests.waiting import wait_for

# On a busy machine the change of the leader takes longer than the test allows.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1_800)]
ROOT = Path(__file__).parents[3]
WINDOW_MS = 1_000
SKEW_MS = 30_000
# Longer than the rule task_stuck keeps firing without a row on which it matches.
AFTERWARDS_MS = 20_000
SEND_SECONDS = 0.5
STAGE: dict[str, Any] = {"stage_id": 0, "stage_attempt": 0}
STUCK_TASK = 1_000_000
PATIENCE_SECONDS = 300


class BusyApplication:
    """An application whose tasks end all the time, except for one task that is stuck from the beginning."""

    def __init__(self, bootstrap: str, prefix: str, partition: int) -> None:
        names = (f"app-{uuid.uuid4().hex[:12]}" for _ in range(10_000))
        self.app_id = next(name for name in names if murmur2(name.encode()) % 2 == partition)
        start_ms = time.time_ns() // 1_000_000
        self._facts = ScriptedApplication(bootstrap, f"{prefix}.facts", self.app_id, start_ms)
        self.ended_tasks = 0

    def start(self) -> None:
        """Send the starts of the application, its executor and its stage."""
        properties = {"spark.sparkfuse.job": self.app_id}
        self._facts.send_fact("application_started", lane="reserved", name="busy", properties=properties)
        self._facts.send_fact("executor_added", lane="reserved", executor_id="1", host="h1", cores=4)
        self._facts.send_fact("job_started", lane="reserved", job_id=0, stage_ids=[0])
        self._facts.send_fact("stage_started", lane="reserved", **STAGE, name="count", num_tasks=1_000_000)
        self._facts.send_fact("task_started", **STAGE, task_id=STUCK_TASK, launched_ms=self._facts.start_ms)
        self._facts.flush()

    def send(self) -> None:
        """Send the end of a task, and a progress report of the stuck task."""
        self._facts.send_fact("task_ended", **STAGE, task_id=self.ended_tasks, outcome="success", duration_ms=400)
        self.ended_tasks += 1
        stalled_ms = 70_000 + self.ended_tasks * int(SEND_SECONDS * 1_000)
        self._facts.send_fact(
            "task_progress", collector=EXECUTOR, **STAGE, task_id=STUCK_TASK, executor_id="1", host="h1",
            age_ms=stalled_ms, stalled_ms=stalled_ms, cpu_since_progress_ms=0, activity="idle",
        )  # fmt: skip
        self._facts.send_fact("executor_sample", collector=EXECUTOR, executor_id="1", host="h1", heap_used_bytes=1)
        self._facts.flush()

    def end(self) -> None:
        """Send the ends of the stage, the job and the application."""
        self._facts.send_fact("stage_ended", lane="reserved", **STAGE)
        self._facts.send_fact("job_ended", lane="reserved", job_id=0, succeeded=True)
        self._facts.send_fact("application_ended", lane="reserved", ended_ms=self._facts.start_ms + 1)
        self._facts.flush()


@dataclass
class Pipeline:
    """Both jobs, and the applications that they watch."""

    kafka: KafkaPair
    seen: Seen
    detect: DetectJob
    metrics_port: int
    apps: list[BusyApplication]
    _sent_at: float = 0.0

    def send(self) -> None:
        """Let each application send its facts, if it is time."""
        if time.monotonic() >= self._sent_at + SEND_SECONDS:
            for app in self.apps:
                app.send()
            self._sent_at = time.monotonic()

    def rows(self, app: BusyApplication, view: str) -> list[LiveRow]:
        """Return the rows of a view of the application so far."""
        self.seen.read()
        return self.seen.of(app.app_id, view)

    def newest_ms(self) -> int:
        """Return the end of the window that all applications have reached; 0 if one has no row."""
        return min((rows[-1].window_end_ms if (rows := self.rows(app, "app_live")) else 0) for app in self.apps)

    def states(self, app: BusyApplication) -> list[str]:
        """Return the states of the application's findings in their order."""
        return [each.state for each in self.detect.findings("task_stuck", app.app_id)]

    def late_facts(self) -> float:
        """Return how many inputs of windows Flink dropped because they were late."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as answer:
            found = re.findall(r"^\w+numLateRecordsDropped(?:{.*})? (\S+)$", answer.read().decode(), re.MULTILINE)
        return sum(float(each) for each in found)


@pytest.fixture(params=[SKEW_MS, -SKEW_MS], ids=["ahead", "behind"])
def pipeline(
    request: pytest.FixtureRequest, tmp_path: Path, start_job: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pipeline]:
    """Yield both jobs on two brokers; the clock of the second broker differs by the parameter."""
    prefix = f"test-{uuid.uuid4().hex[:10]}"
    windows_port, detect_port = free_ports(2)
    monkeypatch.setenv("SPARKFUSE_WINDOW_MS", str(WINDOW_MS))
    (tmp_path / "windows").mkdir()
    with kafka_pair(tmp_path / "kafka", ROOT / "build" / "kafka-libs", request.param) as kafka:
        kafka.create_topics(prefix)
        ensure_topics(settings_of(kafka.bootstrap, prefix))
        environment = {
            "SPARKFUSE_HOME": str(tmp_path / "windows"),
            "SPARKFUSE_KAFKA_BOOTSTRAP": kafka.bootstrap,
            "SPARKFUSE_TOPIC_PREFIX": prefix,
            "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
            "SPARKFUSE_METRICS_PORT": str(windows_port),
        }
        arguments = ["--resend-ms", "4000", "--min-firing-ms", "1000"]
        detect = DetectJob(kafka.bootstrap, prefix, tmp_path / "detect", arguments, detect_port)
        windows = start_job("sparkfuse_stream_jobs.windows", environment, tmp_path / "windows.log")
        seen = Seen(kafka.bootstrap, prefix)
        try:
            detect.start()
            windows.wait_until_running()
            apps = [BusyApplication(kafka.bootstrap, prefix, number % 2) for number in range(4)]
            yield Pipeline(kafka, seen, detect, windows_port, apps)
        finally:
            detect.close()
            windows.stop()
            seen.close()


def test_leader_with_another_clock_loses_no_fact(pipeline: Pipeline, request: pytest.FixtureRequest) -> None:
    """After the change of the leader, all facts are counted and nothing counts as silent.

    If the new clock is behind, each finding fires once and resolves once. If it is ahead, findings can resolve early
    and fire again, because event time skips windows (docs/architecture.md, "Clocks").
    """
    skew_ms = request.node.callspec.params["pipeline"]
    for app in pipeline.apps:
        app.start()

    def all_fire() -> bool:
        pipeline.send()
        return all("firing" in pipeline.states(app) for app in pipeline.apps)

    wait_for(all_fire, PATIENCE_SECONDS, "the findings about the stuck tasks")
    before_ms = pipeline.newest_ms()
    pipeline.kafka.kill_leader(pipeline.seen.prefix)

    def has_passed() -> bool:
        pipeline.send()
        return pipeline.newest_ms() >= before_ms + max(skew_ms, 0) + AFTERWARDS_MS

    wait_for(has_passed, PATIENCE_SECONDS, "rows by the clock of the new leader")
    states = [pipeline.states(app) for app in pipeline.apps]
    for app in pipeline.apps:
        app.end()
    ended = [
        pipeline.seen.wait_for(app.app_id, "app_live", lambda row: row.application.ended_ms > 0)
        for app in pipeline.apps
    ]
    wait_for(lambda: all("resolved" in pipeline.states(app) for app in pipeline.apps), PATIENCE_SECONDS, "the ends")
    rows = [row for app in pipeline.apps for row in pipeline.seen.of(app.app_id, "app_live")]
    window_ends = sorted({row.window_end_ms for row in rows})
    longest_gap_ms = max(later - earlier for earlier, later in pairwise(window_ends))
    started = [{each.started_ms for each in pipeline.detect.findings("task_stuck", a.app_id)} for a in pipeline.apps]

    # A jump of the clock shows that the new leader set the times.
    assert longest_gap_ms >= SKEW_MS - 5 * WINDOW_MS if skew_ms > 0 else longest_gap_ms < SKEW_MS
    assert pipeline.late_facts() == 0
    assert [row.application.finished_tasks for row in ended] == [app.ended_tasks for app in pipeline.apps]
    assert [row.completeness for row in ended] == [1.0] * len(pipeline.apps)
    if skew_ms < 0:
        assert [set(each) for each in states] == [{"firing"}] * len(pipeline.apps)
        assert [len(each) for each in started] == [1] * len(pipeline.apps)
    assert max(row.application.driver_silent_ms for row in rows) <= 5 * WINDOW_MS
    assert max(row.application.stalled_ms for row in rows) <= 5 * WINDOW_MS
