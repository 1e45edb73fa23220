"""Tests facts of two Kafka clusters: the home cluster, and the source `eu`, whose broker is killed and restarted."""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts import metric_names
from sparkfuse_contracts.settings import Settings
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.source_cluster import Findings, SourceCluster, metric, running
from tests.integration.stream_jobs.windows_seen import Seen
from tests.waiting import wait_for

# Two brokers, four Flink jobs and an outage of 75 s take more than three minutes.
pytestmark = [pytest.mark.long, pytest.mark.timeout(1_200)]
WINDOW_MS = 1000
STALLED_MS = 15_000
# Longer than STALLED_MS, than the three windows after which a subject without rows resolves, and than the minute after
# which Flink's Kafka source fails.
OUTAGE_SECONDS = 75
ANSWER_SECONDS = 240
# From the window in which a condition becomes true to its finding, with room for a busy machine.
DELAY_SECONDS = 30
RULE = "application_stalled"
STAGE: dict[str, Any] = {"stage_id": 3, "stage_attempt": 0}
JOBS = ("sparkfuse_stream_jobs.windows", "sparkfuse_stream_jobs.detect")


@dataclass
class Fleet:
    """The running jobs of both clusters, and readers of what they write to the home cluster."""

    eu: SourceCluster
    home: str
    prefix: str
    ports: dict[str, int]
    seen: Seen
    findings: Findings

    def application(self, bootstrap: str, name: str) -> ScriptedApplication:
        """Start an application with the default cluster name that runs a job, and wait for its row."""
        start_ms = time.time_ns() // 1_000_000
        app = ScriptedApplication(bootstrap, f"{self.prefix}.facts", f"{self.prefix}-{name}", start_ms, "default")
        app.send_fact("application_started", lane="reserved", name=name)
        app.send_fact("job_started", lane="reserved", job_id=7, stage_ids=[3])
        app.send_fact("stage_started", lane="reserved", **STAGE, name="s", num_tasks=1_000, job_id=7)
        app.flush()
        self.seen.wait_for(app.app_id, "app_live", lambda row: row.application.running_jobs == 1)
        return app

    def up(self) -> float | None:
        """Return whether the cluster of the source accepts ticks."""
        return metric(self.ports["eu"], metric_names.SOURCE_UP.name)

    def delay(self) -> float:
        """Return the seconds since the last window that the windows job of the home cluster ended."""
        found = metric(self.ports[""], metric_names.WINDOW_DELAY.name)
        assert found is not None
        return found


@pytest.fixture
def fleet(kafka_bootstrap: str, tmp_path: Path, start_job: Any) -> Iterator[Fleet]:
    """Yield both jobs of the home cluster and of the source, with windows of a second and short limits of silence.

    The jobs of the source start while its broker is away.
    """
    prefix, home = f"test-{uuid.uuid4().hex[:10]}", tmp_path / "home"
    home.mkdir()
    rules = tmp_path / "sparkfuse.yaml"
    rules.write_text(f"rules: {{{RULE}: {{params: {{min_stalled_ms: {STALLED_MS}}}}}}}\n")
    eu = SourceCluster(tmp_path)
    shared = {
        "SPARKFUSE_HOME": str(home),
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": prefix,
        "SPARKFUSE_WINDOW_MS": str(WINDOW_MS),
        "SPARKFUSE_CONFIG": str(rules),
        "SPARKFUSE_SOURCES": f"eu={eu.config}",
    }
    settings = Settings.from_environment(shared)
    ports = dict(zip(("", "eu"), free_ports(2), strict=True))
    with running(eu):
        ensure_topics(settings)
        ensure_topics(settings.at_source("eu"))
        eu.kill()
        jobs = []
        for source, port in ports.items():
            for module in JOBS:
                own = {"SPARKFUSE_SOURCE": source, "SPARKFUSE_METRICS_PORT": str(port if module is JOBS[0] else 0)}
                jobs.append(start_job(module, {**shared, **own}, tmp_path / f"{module}-{source}.log"))
        seen, findings = Seen(kafka_bootstrap, prefix), Findings(kafka_bootstrap, prefix)
        fleet = Fleet(eu, kafka_bootstrap, prefix, ports, seen, findings)
        wait_for(lambda: fleet.up() == 0.0, ANSWER_SECONDS, "the job that waits for its cluster")
        eu.start()
        for job in jobs:
            job.wait_until_running()
        yield fleet
        seen.close()
        findings.close()
        for job in jobs:
            job.stop()


def ends_task(app: ScriptedApplication, task: int) -> None:
    """Report the end of one task, which is progress."""
    app.send_fact("task_ended", **STAGE, task_id=task, task_index=task, outcome="success", duration_ms=10)
    app.flush()


def while_progressing(app: ScriptedApplication, first: int, holds: Callable[[], Any]) -> tuple[int, Any]:
    """Wait for the condition while the application ends tasks from ``first`` on; return the next task, and the answer.

    A task ends at each check of the condition.
    """
    tasks = itertools.count(first)

    def answer() -> Any:
        ends_task(app, next(tasks))
        return holds()

    found = wait_for(answer, ANSWER_SECONDS, "the condition")
    return next(tasks), found


def test_source_that_is_away_stops_only_its_own_clock(fleet: Fleet) -> None:
    """While the broker of a source is away, the other cluster's findings arrive and the gap is reported.

    No application of the source counts as silent meanwhile, and no finding about one resolves. After the return of the
    broker, its facts are counted once, and an application that stays silent is reported.
    """
    found = fleet.findings
    steady, stuck = fleet.application(fleet.eu.bootstrap, "steady"), fleet.application(fleet.eu.bootstrap, "stuck")
    tasks, _ = while_progressing(steady, 0, lambda: "firing" in found.states(RULE, stuck.app_id))
    quiet = fleet.application(fleet.eu.bootstrap, "quiet")
    ends_task(steady, tasks)
    fleet.eu.kill()
    killed_at = time.monotonic()

    hung = fleet.application(fleet.home, "hung")
    wait_for(
        lambda: "firing" in found.states(RULE, hung.app_id), STALLED_MS / 1000 + DELAY_SECONDS, "the home's finding"
    )
    wait_for(lambda: fleet.up() == 0.0, DELAY_SECONDS, "the report of the gap")
    wait_for(lambda: time.monotonic() - killed_at > OUTAGE_SECONDS, OUTAGE_SECONDS, "a long outage")

    assert found.states(RULE, steady.app_id) == found.states(RULE, quiet.app_id) == []
    assert set(found.states(RULE, stuck.app_id)) == {"firing"}
    assert fleet.delay() < STALLED_MS / 1000

    fleet.eu.start()
    ends_task(steady, tasks + 1)
    wait_for(lambda: fleet.up() == 1.0, ANSWER_SECONDS, "ticks")
    tasks, fired = while_progressing(steady, tasks + 2, lambda: found.of(RULE, quiet.app_id))
    of_stuck = found.of(RULE, stuck.app_id)
    ends_task(stuck, 0)
    wait_for(lambda: "resolved" in found.states(RULE, stuck.app_id), ANSWER_SECONDS, "the end of the finding")
    steady.send_fact("application_ended", lane="reserved", ended_ms=steady.start_ms + 1000)
    steady.flush()
    fleet.seen.wait_for(steady.app_id, "application_ended", lambda row: True)
    row = fleet.seen.of(steady.app_id, "app_live")[-1]

    assert (fired[0].cluster, fired[0].state) == ("eu", "firing")
    assert STALLED_MS <= int(fired[0].runs[0].evidence["stalled_ms"]) < OUTAGE_SECONDS * 1000
    assert (row.source, row.application.finished_tasks, row.completeness) == ("eu", tasks, 1.0)
    assert found.states(RULE, steady.app_id) == []
    assert {(each.state, each.started_ms) for each in of_stuck} == {("firing", of_stuck[0].started_ms)}
    assert not fleet.seen.dead
