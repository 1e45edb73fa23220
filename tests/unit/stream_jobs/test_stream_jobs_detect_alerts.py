"""Tests merging the findings of runs, and publishing the result as often as Alertmanager requires."""

from __future__ import annotations

from sparkfuse_contracts.generated.finding_pb2 import Finding, FindingRun
from sparkfuse_stream_jobs.detect import alerts
from sparkfuse_stream_jobs.detect.alerts import FindingGroup, PublishIntervals, merge, next_publication

NOW = 1_795_226_400_000
PACE = PublishIntervals()


def part(run: str, state: str = "firing", severity: str = "warning", at: int = NOW, task_id: int = 7) -> Finding:
    one = FindingRun(run_key=run, task_id=task_id, state=state, severity=severity, started_ms=NOW)
    finding = Finding(
        finding_id="f1", rule="task_stuck", severity=severity, state=state, started_ms=NOW, evidence_ms=at, runs=[one]
    )
    finding.description = f"observed at {at}"
    if state == "resolved":
        finding.resolved_ms = finding.runs[0].resolved_ms = at
    return finding


class PublishedFinding:
    """Publishes one finding over time, with a clock that the test advances, and stores the published records."""

    def __init__(self) -> None:
        self.group: FindingGroup | None = None
        self.checks: set[int] = set()
        self.published: list[tuple[int, str, dict[str, str]]] = []
        self.records: list[Finding] = []

    def receive(self, seconds: float, finding: Finding) -> None:
        self.pass_time(seconds - 0.001)
        now = NOW + round(seconds * 1000)
        self.group = merge(self.group, finding, now)
        self._publish(now)

    def pass_time(self, seconds: float) -> None:
        while due := sorted(at for at in self.checks if at <= NOW + round(seconds * 1000)):
            self.checks -= {due[0]}
            self._publish(due[0])

    def _publish(self, now: int) -> None:
        if self.group is None:
            return
        publication = next_publication(self.group, now, PACE)
        self.group = publication.group
        if publication.next_check_ms:
            self.checks.add(publication.next_check_ms)
        if publication.record:
            runs = {f"{run.run_key}/{run.task_id}": run.state for run in publication.record.runs}
            self.published.append(((now - NOW) // 1000, publication.record.state, runs))
            self.records.append(publication.record)

    def states(self) -> list[tuple[int, str]]:
        return [(second, state) for second, state, _ in self.published]


def test_firing_finding_is_published_every_minute():
    """A firing finding is published every minute with its newest evidence.

    Otherwise Alertmanager would end the alert.
    """
    published = PublishedFinding()
    for second in range(0, 130, 5):
        published.receive(second, part("a", at=NOW + second * 1000))
    published.pass_time(190)

    assert published.states() == [(0, "firing"), (60, "firing"), (120, "firing"), (180, "firing")]
    assert published.records[1].evidence_ms == NOW + 60_000
    assert {record.started_ms for record in published.records} == {NOW}


def test_resolved_finding_is_published_for_five_minutes():
    """A resolved finding is published for five minutes, and then its state is dropped.

    So a receiver that was down for a moment still gets the resolution.
    """
    published = PublishedFinding()
    published.receive(0, part("a"))
    published.receive(20, part("a", "resolved", at=NOW + 20_000))
    published.pass_time(3600)

    assert published.states() == [(0, "firing"), *((second, "resolved") for second in range(20, 320, 60))]
    assert published.records[-1].resolved_ms == NOW + 20_000
    assert published.group is None


def test_finding_is_firing_for_at_least_15_seconds():
    """A finding is published as firing for at least 15 seconds.

    Alertmanager waits before it sends a notification, and sends none if the alert resolves during the wait.
    """
    published = PublishedFinding()
    published.receive(0, part("a"))
    published.receive(1, part("a", "resolved", at=NOW + 1_000))
    published.pass_time(16)

    assert published.states() == [(0, "firing"), (15, "resolved")]
    assert published.records[-1].resolved_ms == NOW + 1_000


def test_finding_resolves_when_its_last_run_resolves():
    """A finding that two runs of a job share resolves when the last of these runs resolves."""
    published = PublishedFinding()
    published.receive(0, part("a"))
    published.receive(20, part("b"))
    published.receive(40, part("a", "resolved", at=NOW + 40_000))
    published.receive(70, part("b", "resolved", at=NOW + 70_000))

    assert published.published == [
        (0, "firing", {"a/7": "firing"}),
        (20, "firing", {"a/7": "firing", "b/7": "firing"}),
        (40, "firing", {"a/7": "resolved", "b/7": "firing"}),
        (70, "resolved", {"b/7": "resolved"}),
    ]


def test_many_tasks_of_one_stage_share_one_record():
    """If a thousand tasks of a stage get stuck together, two records with a limited number of runs are published."""
    published = PublishedFinding()
    for task_id in range(1000):
        published.receive(task_id / 2000, part("a", task_id=task_id))
    published.pass_time(5)

    assert published.states() == [(0, "firing"), (1, "firing")]
    assert len(published.records[-1].runs) == alerts.MAX_RUNS


def test_higher_severity_is_published_at_once():
    """If the severity of a finding becomes critical, a record is published immediately, not at the next minute."""
    published = PublishedFinding()
    published.receive(0, part("a"))
    published.receive(0.2, part("b", severity="critical"))

    assert [record.severity for record in published.records] == ["warning", "critical"]


def test_resolution_of_an_unknown_run_is_ignored():
    """If a run was never published as firing, for example beyond the limit of runs, its resolution is not published."""
    published = PublishedFinding()
    published.receive(0, part("a", "resolved"))
    published.receive(1, part("a"))
    published.receive(30, part("b", "resolved"))

    assert published.published == [(1, "firing", {"a/7": "firing"})]


def test_next_run_reuses_the_finding_id():
    """In the next run, the finding has the same id and a new start time."""
    published = PublishedFinding()
    published.receive(0, part("a"))
    published.receive(20, part("a", "resolved", at=NOW + 20_000))
    later = part("b", at=NOW + 50_000)
    later.started_ms = later.runs[0].started_ms = NOW + 50_000
    published.receive(50, later)

    assert published.published[-1] == (50, "firing", {"b/7": "firing"})
    assert published.records[-1].started_ms == NOW + 50_000
    assert not published.records[-1].HasField("resolved_ms")
