"""The scripted applications of the tests on Flink clusters, and what both jobs write about them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.topics import topics
from sparkfuse_contracts.wire import from_json
from tests.integration.stream_jobs.recorded_stages import RecordedStages
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.scripted_failures import FailingApplication
from tests.integration.stream_jobs.scripted_orders import begin, continue_run, finish
from tests.integration.stream_jobs.windows_seen import Seen
from tests.kafka import settings_of
from tests.stage_cases import CASES, app_id

TEN_MINUTES_MS = 600_000
Key = tuple[str, str, str, str]


@dataclass(frozen=True)
class Recovery:
    """The newest checkpoint before the kill of a job manager, the restored one, and the jobs of the new job manager."""

    newest_before: int
    restored: int
    job: str
    jobs: set[str]


@dataclass
class Output:
    """The rows and findings of one run of both jobs, and what Flink reported about the run."""

    seen: Seen
    consumer: Consumer
    found: list[Finding] = field(default_factory=list)
    restarts: dict[str, int] = field(default_factory=dict)
    parallelism: dict[str, set[int]] = field(default_factory=dict)
    addresses: dict[str, set[str]] = field(default_factory=dict)
    metrics: list[str] = field(default_factory=list)
    home: Path | None = None
    recovered: dict[str, Recovery] = field(default_factory=dict)

    def findings(self) -> set[Key]:
        """Return rule, job, scope and severity of each finding that fired."""
        for message in self.consumer.consume(1000, timeout=0.3):
            if message.error() is None:
                self.found.append(from_json(Finding, message.value()))
        firing = [each for each in self.found if each.state == "firing"]
        return {(each.rule, each.job_key, each.scope, each.severity) for each in firing}

    def close(self) -> None:
        """Close both consumers."""
        self.seen.close()
        self.consumer.close()


def output_of(bootstrap: str, prefix: str) -> Output:
    """Create the topics of a prefix, and return readers of the rows and the findings."""
    ensure_topics(settings_of(bootstrap, prefix))
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": f"{prefix}.test"})
    count = topics()["findings"].partitions
    consumer.assign([TopicPartition(f"{prefix}.findings", number, 0) for number in range(count)])
    return Output(Seen(bootstrap, prefix), consumer)


class Applications:
    """The scripted applications, in three parts."""

    def __init__(self, bootstrap: str, prefix: str, seen: Seen) -> None:
        topic, self._seen = f"{prefix}.facts", seen
        start_ms = int(time.time() * 1000) - TEN_MINUTES_MS
        self._orders = ScriptedApplication(bootstrap, topic, "orders", start_ms)
        self._failing = FailingApplication(bootstrap, topic, seen)
        self._recorded = RecordedStages(bootstrap, topic)

    def begin(self) -> None:
        """Send the starts, and wait for their rows."""
        begin(self._orders, self._seen)
        self._failing.begin()
        # Both halves at once: between them the facts have gaps, and how long a gap lasts may change the findings.
        self._recorded.begin()
        self._recorded.end()

    def go_on(self) -> None:
        """Send the middle of the runs, and wait for its rows."""
        continue_run(self._orders, self._seen)
        self._failing.end()

    def finish(self) -> None:
        """Send the last facts."""
        finish(self._orders)

    def wait_until_ended(self) -> None:
        """Wait for the last row of each application."""
        self._seen.wait_for("orders", "application_ended", lambda row: True)
        self._seen.wait_for("orders", "stage_live", lambda row: row.stage.finished_tasks == 6)
        for case in CASES:
            self._seen.wait_for(app_id(case), "stage_live", lambda row, case=case: has_ended(row.stage, case))


def has_ended(stage: Any, case: Any) -> bool:
    """Return whether the row of a stage includes the end of the stage and the ends of all its tasks."""
    return bool(stage.HasField("completed_ms")) and stage.finished_tasks + stage.resubmitted_tasks == len(case["tasks"])


def sums(output: Output) -> dict[str, dict[str, float]]:
    """Return the sums over ended tasks in the last row of each stage."""
    found: dict[str, dict[str, float]] = {}
    for name in ("orders", "failures", *(app_id(case) for case in CASES)):
        stage = output.seen.of(name, "stage_live")[-1].stage
        fields = {each.name: value for each, value in stage.ListFields()}
        found[name] = {key: value for key, value in fields.items() if key.startswith("finished_")}
    return found
