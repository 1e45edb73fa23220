"""Tests host rows: one for each host with a reported problem, over all applications of the host's cluster."""

from __future__ import annotations

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import HostProblem
from sparkfuse_stream_jobs.detect import hosts
from sparkfuse_stream_jobs.detect.host_observations import HostReport, merge_reports
from sparkfuse_stream_jobs.detect.operators.records import host_report_codec

T, W = 1_795_226_400_000, 5_000


class Cluster:
    """Runs the host step for one cluster; timers fire in the order of event time."""

    def __init__(self) -> None:
        self.state = hosts.in_memory_cluster_state()
        self.timers: set[int] = set()

    def report(self, app: str, at: int, *problems: HostProblem, ran: tuple[str, ...] = ()) -> None:
        report = HostReport("prod-eu", app, app, at, ran, problems)
        self.timers |= {each.at_ms for each in hosts.add_report(report, self.state)}

    def until(self, now_ms: int) -> list[LiveRow]:
        rows: list[LiveRow] = []
        for due in sorted(at for at in self.timers if at <= now_ms):
            self.timers -= {due}
            rows += hosts.due_rows(due, self.state)
        return rows


def node_lost(host: str) -> HostProblem:
    return HostProblem(host, "node_lost", failing=True)


def test_host_has_one_row_per_window_for_all_applications():
    """A host has one row per window; the row covers all applications on the host.

    The row also counts applications without problems, and applications with problems on other hosts.
    """
    cluster = Cluster()
    for app in ("a", "b", "c"):
        cluster.report(app, T, node_lost("h1"))
    cluster.report("d", T, ran=("h1", "h2"))
    cluster.report("e", T, HostProblem("h2", "slow_task", slow=True))
    first, second = cluster.until(T)

    assert (first.view, first.cluster, first.app_id, first.window_end_ms) == ("host_live", "prod-eu", "host/h1", T)
    assert (first.job_key, first.run_key, first.completeness) == ("host h1", "h1", 1.0)
    assert (first.host.applications, first.host.failing_applications, first.host.elsewhere_applications) == (4, 3, 1)
    assert (first.host.failure, first.host.application_ids) == ("node_lost", "a, b, c")
    assert (second.host.host, second.host.slow_applications, second.host.elsewhere_applications) == ("h2", 1, 3)


def test_observations_count_for_ten_minutes():
    """A row counts the problems of the last ten minutes: a problem of nine minutes ago, but not one of eleven."""
    cluster = Cluster()
    cluster.report("a", T, node_lost("h1"))
    cluster.report("b", T, ran=("h1",))
    rows = cluster.until(T + 100 * W)
    cluster.report("b", T + 108 * W, node_lost("h1"))
    [nine] = cluster.until(T + 108 * W)
    cluster.report("c", T + 132 * W, node_lost("h1"))
    [eleven] = cluster.until(T + 132 * W)

    assert len(rows) == 1
    assert nine.host.failing_applications == 2
    assert (eleven.host.failing_applications, eleven.host.applications) == (2, 2)


def test_state_is_emptied_by_a_timer():
    """If no further problems are reported, a timer empties the state after at most twelve minutes."""
    cluster = Cluster()
    for number in range(50):
        cluster.report(f"app-{number}", T, node_lost("h1"), ran=("h2",))
    rows = cluster.until(T + 12 * 60_000)

    assert len(rows) == 1
    assert not list(cluster.state.observations.items())
    assert cluster.state.due.value() is None
    assert not cluster.timers


def test_state_of_a_cluster_is_bounded(monkeypatch):
    """The state of a cluster is limited: applications beyond the limit are ignored until others expire."""
    monkeypatch.setattr(hosts, "MAX_APPLICATIONS", 10)
    monkeypatch.setattr(hosts, "MAX_ROWS", 3)
    cluster = Cluster()
    for number in range(30):
        cluster.report(f"app-{number:02}", T, node_lost(f"h{number}"))
    rows, kept = cluster.until(T), len(list(cluster.state.observations.items()))
    cluster.until(T + 12 * 60_000)
    cluster.report("app-99", T + 13 * 60_000, node_lost("h1"))

    assert (len(rows), kept) == (3, 10)
    assert len(cluster.until(T + 13 * 60_000)) == 1


def test_host_report_is_encoded_and_decoded():
    """A host report is unchanged after encoding to bytes and decoding."""
    report = HostReport(
        "prod-eu", "a@1", "a", T, ("h1",), (node_lost("h1"), HostProblem("h2", "disk_full", storage=True))
    )
    codec = host_report_codec()

    assert codec.decode(codec.encode(report)) == report


def test_merged_reports_have_the_same_effect():
    """Merged reports of one application and window have the same effect as the single reports.

    Merging reduces how often the next operator changes its current key.
    """
    slow = HostProblem("h2", "slow_task", slow=True)
    reports = [
        HostReport("c", "a@1", "a", T, problems=(node_lost("h1"),)),
        HostReport("c", "a@1", "a", T, problems=(slow,)),
        HostReport("c", "a@1", "a", T, ran=("h1", "h3")),
        HostReport("c", "a@1", "a", T + W, problems=(slow,)),
        HostReport("c", "b@1", "b", T, ran=("h2",)),
    ]
    merged = list(merge_reports(reports))
    one_by_one, at_once = hosts.in_memory_cluster_state(), hosts.in_memory_cluster_state()
    for state, several in ((one_by_one, reports), (at_once, merged)):
        for each in several:
            list(hosts.add_report(each, state))

    assert [(each.app_id, each.at_ms, each.ran, each.problems) for each in merged] == [
        ("a", T, ("h1", "h3"), (node_lost("h1"), slow)),
        ("a", T + W, (), (slow,)),
        ("b", T, ("h2",), ()),
    ]
    assert dict(one_by_one.observations.items()) == dict(at_once.observations.items())
    assert one_by_one.due.value() == at_once.due.value()
