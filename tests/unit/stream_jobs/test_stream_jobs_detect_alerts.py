"""Alert: one finding over its runs, told often enough and not more."""

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
    finding.description = f"said at {at}"
    if state == "resolved":
        finding.resolved_ms = finding.runs[0].resolved_ms = at
    return finding


class Told:
    """An alert over time: what was said, when, by a clock that the test turns."""

    def __init__(self) -> None:
        self.alert: FindingGroup | None = None
        self.look_again: set[int] = set()
        self.said: list[tuple[int, str, dict[str, str]]] = []
        self.records: list[Finding] = []

    def hear(self, seconds: float, finding: Finding) -> None:
        self.pass_time(seconds - 0.001)
        now = NOW + round(seconds * 1000)
        self.alert = merge(self.alert, finding, now)
        self._tell(now)

    def pass_time(self, seconds: float) -> None:
        while due := sorted(at for at in self.look_again if at <= NOW + round(seconds * 1000)):
            self.look_again -= {due[0]}
            self._tell(due[0])

    def _tell(self, now: int) -> None:
        if self.alert is None:
            return
        telling = next_publication(self.alert, now, PACE)
        self.alert = telling.group
        if telling.next_check_ms:
            self.look_again.add(telling.next_check_ms)
        if telling.record:
            runs = {f"{run.run_key}/{run.task_id}": run.state for run in telling.record.runs}
            self.said.append(((now - NOW) // 1000, telling.record.state, runs))
            self.records.append(telling.record)

    def states(self) -> list[tuple[int, str]]:
        return [(second, state) for second, state, _ in self.said]


def test_it_is_told_at_once_then_each_minute_with_the_newest_evidence():
    """Alertmanager keeps nothing over a restart: what is not told again within minutes is gone."""
    told = Told()
    for second in range(0, 130, 5):
        told.hear(second, part("a", at=NOW + second * 1000))
    told.pass_time(190)

    assert told.states() == [(0, "firing"), (60, "firing"), (120, "firing"), (180, "firing")]
    assert told.records[1].evidence_ms == NOW + 60_000
    assert {record.started_ms for record in told.records} == {NOW}


def test_it_is_told_for_five_minutes_after_it_resolved_and_then_forgotten():
    """A receiver that was away for a moment still hears that it is over; the state does not grow."""
    told = Told()
    told.hear(0, part("a"))
    told.hear(20, part("a", "resolved", at=NOW + 20_000))
    told.pass_time(3600)

    assert told.states() == [(0, "firing"), *((second, "resolved") for second in range(20, 320, 60))]
    assert told.records[-1].resolved_ms == NOW + 20_000
    assert told.alert is None


def test_what_fires_is_told_long_enough_to_be_heard():
    """Alertmanager waits for company before it notifies: what resolves in that time nobody would ever hear of."""
    told = Told()
    told.hear(0, part("a"))
    told.hear(1, part("a", "resolved", at=NOW + 1_000))
    told.pass_time(16)

    assert told.states() == [(0, "firing"), (15, "resolved")]
    assert told.records[-1].resolved_ms == NOW + 1_000


def test_it_resolves_with_the_last_of_its_runs():
    """Two runs of one job are one alert; the end of the first takes only its own part."""
    told = Told()
    told.hear(0, part("a"))
    told.hear(20, part("b"))
    told.hear(40, part("a", "resolved", at=NOW + 40_000))
    told.hear(70, part("b", "resolved", at=NOW + 70_000))

    assert told.said == [
        (0, "firing", {"a/7": "firing"}),
        (20, "firing", {"a/7": "firing", "b/7": "firing"}),
        (40, "firing", {"a/7": "resolved", "b/7": "firing"}),
        (70, "resolved", {"b/7": "resolved"}),
    ]


def test_many_tasks_of_one_stage_are_one_word():
    """A thousand tasks that get stuck together are two records, and the record stays small."""
    told = Told()
    for task_id in range(1000):
        told.hear(task_id / 2000, part("a", task_id=task_id))
    told.pass_time(5)

    assert told.states() == [(0, "firing"), (1, "firing")]
    assert len(told.records[-1].runs) == alerts.MAX_RUNS


def test_a_higher_severity_is_told_at_once():
    """What becomes critical must not wait for the next minute."""
    told = Told()
    told.hear(0, part("a"))
    told.hear(0.2, part("b", severity="critical"))

    assert [record.severity for record in told.records] == ["warning", "critical"]


def test_a_run_that_resolved_unheard_is_not_told():
    """The end of a run that never fired here (it was one too many) is no news."""
    told = Told()
    told.hear(0, part("a", "resolved"))
    told.hear(1, part("a"))
    told.hear(30, part("b", "resolved"))

    assert told.said == [(1, "firing", {"a/7": "firing"})]


def test_the_next_run_of_the_job_is_the_same_finding_anew():
    """The alert's id stays; its start is that of the new spell."""
    told = Told()
    told.hear(0, part("a"))
    told.hear(20, part("a", "resolved", at=NOW + 20_000))
    later = part("b", at=NOW + 50_000)
    later.started_ms = later.runs[0].started_ms = NOW + 50_000
    told.hear(50, later)

    assert told.said[-1] == (50, "firing", {"b/7": "firing"})
    assert told.records[-1].started_ms == NOW + 50_000
    assert not told.records[-1].HasField("resolved_ms")
