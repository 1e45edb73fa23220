"""Tests the rules on streaming queries with both Flink jobs, on the recorded facts of real queries.

For each rule, tests/logs/streaming_job.py runs one query that has the problem and one that only looks similar.
"""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterable
from typing import Any

import pytest

from sparkfuse_contracts.generated.fact_pb2 import Fact
from sparkfuse_contracts.generated.finding_pb2 import Finding
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.scripted_application import ScriptedApplication
from tests.integration.stream_jobs.windows_seen import Seen
from tests.logs.make_streaming import recorded
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
RULES = ("backlog_growing", "batch_behind", "state_growing", "watermark_stuck")
PART_MS = 15_000
"""The facts of this time are sent together, so that the rules are evaluated at many points of each query."""
SECONDS = 120


def test_rules_distinguish_queries_with_problems(
    kafka_bootstrap: str, prefix: str, seen: Seen, detect: DetectJob
) -> None:
    """Each rule fires for the query that has its problem, and for no similar query; at the end, all resolve."""
    facts = list(recorded())
    first_ms = min(fact.event_time_ms for fact in facts)
    # A second attempt uses the same Flink jobs. Names of jobs lose their digits and hexadecimal parts.
    job = "streams_" + "".join(chr(ord("g") + int(each, 16)) for each in uuid.uuid4().hex[:8])
    queries = Replay(ScriptedApplication(kafka_bootstrap, f"{prefix}.facts", job, first_ms), seen)
    queries.app.send_fact("application_started", lane="reserved", name=job)
    last = [fact for fact in facts if fact.WhichOneof("kind") == "streaming_ended" and not is_restarted(fact, facts)]
    before = [fact for fact in facts if fact not in last]
    for _, part in itertools.groupby(before, lambda fact: (fact.event_time_ms - first_ms) // PART_MS):
        queries.send(part)
        queries.wait_for_rows()
    for rule in RULES:
        detect.wait_for_finding(rule, job, lambda found: found.state == "firing", f"{rule} to fire")
    firing = {(found.rule, found.scope): found.severity for found in of_streaming(detect, job)}
    queries.send(last)
    for rule in RULES:
        detect.wait_for_finding(rule, job, lambda found: found.state == "resolved", f"{rule} to resolve")

    assert set(firing) == {(rule, f"streaming:{rule}") for rule in RULES}
    assert {firing[rule, f"streaming:{rule}"] for rule in RULES} == {"warning"}
    assert {(found.rule, found.scope) for found in of_streaming(detect, job)} == set(firing)
    # The loader of another test rejects facts without ids.
    assert [(each["component"], each["reason"]) for each in seen.dead if each["component"] != "loader"] == []


class Replay:
    """Sends recorded facts as facts of an application, and waits for the rows of the newest batches."""

    def __init__(self, app: ScriptedApplication, seen: Seen) -> None:
        self.app, self._seen = app, seen
        self._newest: dict[str, int] = {}
        self._ended: set[str] = set()

    def send(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            kind = fact.WhichOneof("kind")
            values = getattr(fact, kind)
            fields: dict[str, Any] = {name.name: value for name, value in values.ListFields()}
            if "sources" in fields:
                fields["sources"] = list(fields["sources"])
            self.app.send_fact(kind, lane=fact.lane, **fields)
            if kind == "streaming_ended":
                # Ends have their own lane, so the last batch can arrive after the end, and then it has no row.
                self._ended.add(values.run_id)
                self._newest.pop(values.run_id, None)
            elif "batch_id" in fields and values.run_id not in self._ended:
                self._newest[values.run_id] = values.batch_id
        self.app.flush()

    def wait_for_rows(self) -> None:
        missing: dict[str, tuple[int, int]] = {}

        def has_rows() -> bool:
            self._seen.read()
            rows = [row.streaming for row in self._seen.of(self.app.app_id, "streaming_live")]
            latest = {row.streaming_run_id: row.batch_id for row in rows}
            missing.clear()
            missing.update(
                {
                    run: (latest.get(run, -1), batch)
                    for run, batch in self._newest.items()
                    if latest.get(run, -1) < batch
                }
            )
            return not missing

        try:
            wait_for(has_rows, SECONDS, "rows of the newest batches")
        except TimeoutError as error:
            raise AssertionError(f"newest row and newest batch of each run: {missing}") from error


def is_restarted(ended: Fact, facts: list[Fact]) -> bool:
    """Return whether the query was started again after this end."""
    query = ended.streaming_ended.query_id
    started = [fact.event_time_ms for fact in facts if fact.streaming_started.query_id == query]
    return any(at_ms > ended.event_time_ms for at_ms in started)


def of_streaming(detect: DetectJob, job: str) -> list[Finding]:
    """Return all records of findings about streaming queries of a job."""
    found = detect.new_findings(0)
    return [each for each in found if each.job_key == job and each.scope.startswith("streaming:")]
