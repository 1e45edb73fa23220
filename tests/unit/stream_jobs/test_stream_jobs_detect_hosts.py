"""Hosts: one row for each host with news, over all applications of its cluster; what is old is let go."""

from __future__ import annotations

from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.knowledge.hosts import HostProblem
from sparkfuse_stream_jobs.detect import hosts, operator_records
from sparkfuse_stream_jobs.detect.host_observations import HostReport, merge_reports

T, W = 1_795_226_400_000, 5_000


class Cluster:
    """The hosts of one cluster; a moment passes as event time does."""

    def __init__(self) -> None:
        self.memory = hosts.in_memory_cluster_state()
        self.wakes: set[int] = set()

    def tell(self, app: str, at: int, *troubles: HostProblem, ran: tuple[str, ...] = ()) -> None:
        news = HostReport("prod-eu", app, app, at, ran, troubles)
        self.wakes |= {each.at_ms for each in hosts.add_report(news, self.memory)}

    def until(self, now_ms: int) -> list[LiveRow]:
        rows = []
        for due in sorted(at for at in self.wakes if at <= now_ms):
            self.wakes -= {due}
            rows += hosts.due_rows(due, self.memory)
        return rows


def node_lost(host: str) -> HostProblem:
    return HostProblem(host, "node_lost", failing=True)


def test_a_host_that_several_applications_meet_something_on_gets_one_row_a_window():
    """Who runs there without trouble counts, who suffers elsewhere too."""
    cluster = Cluster()
    for app in ("a", "b", "c"):
        cluster.tell(app, T, node_lost("h1"))
    cluster.tell("d", T, ran=("h1", "h2"))
    cluster.tell("e", T, HostProblem("h2", "slow_task", slow=True))
    first, second = cluster.until(T)

    assert (first.view, first.cluster, first.app_id, first.window_end_ms) == ("host_live", "prod-eu", "host/h1", T)
    assert (first.job_key, first.run_key, first.completeness) == ("host h1", "h1", 1.0)
    assert (first.host.applications, first.host.failing_applications, first.host.elsewhere_applications) == (4, 3, 1)
    assert (first.host.failure, first.host.application_ids) == ("node_lost", "a, b, c")
    assert (second.host.host, second.host.slow_applications, second.host.elsewhere_applications) == ("h2", 1, 3)


def test_no_news_no_row_and_news_of_one_window_slide_over_ten_minutes():
    """HostProblem of nine minutes ago still counts when somebody else meets it; that of eleven does not."""
    cluster = Cluster()
    cluster.tell("a", T, node_lost("h1"))
    cluster.tell("b", T, ran=("h1",))
    rows = cluster.until(T + 100 * W)
    cluster.tell("b", T + 108 * W, node_lost("h1"))
    [nine] = cluster.until(T + 108 * W)
    cluster.tell("c", T + 132 * W, node_lost("h1"))
    [eleven] = cluster.until(T + 132 * W)

    assert len(rows) == 1
    assert nine.host.failing_applications == 2
    assert (eleven.host.failing_applications, eleven.host.applications) == (2, 2)


def test_what_nobody_tells_again_is_let_go_by_a_timer():
    """Without a word of anybody the memory is empty within eleven minutes and a bit."""
    cluster = Cluster()
    for number in range(50):
        cluster.tell(f"app-{number}", T, node_lost("h1"), ran=("h2",))
    rows = cluster.until(T + 12 * 60_000)

    assert len(rows) == 1
    assert not list(cluster.memory.observations.items())
    assert cluster.memory.due.value() is None
    assert not cluster.wakes


def test_a_fleet_is_remembered_up_to_a_bound_that_frees_itself(monkeypatch):
    """The applications beyond it add nothing until others are forgotten."""
    monkeypatch.setattr(hosts, "MAX_APPLICATIONS", 10)
    monkeypatch.setattr(hosts, "MAX_ROWS", 3)
    cluster = Cluster()
    for number in range(30):
        cluster.tell(f"app-{number:02}", T, node_lost(f"h{number}"))
    rows, kept = cluster.until(T), len(list(cluster.memory.observations.items()))
    cluster.until(T + 12 * 60_000)
    cluster.tell("app-99", T + 13 * 60_000, node_lost("h1"))

    assert (len(rows), kept) == (3, 10)
    assert len(cluster.until(T + 13 * 60_000)) == 1


def test_news_travel_as_bytes():
    """From Identify to the step that keeps them."""
    news = HostReport(
        "prod-eu", "a@1", "a", T, ("h1",), (node_lost("h1"), HostProblem("h2", "disk_full", storage=True))
    )
    of_news = operator_records.host_report_codec()

    assert of_news.decode(of_news.encode(news)) == news


def test_what_an_application_tells_of_one_window_is_one_piece_of_news_and_means_the_same():
    """Twenty stages with a slow task each are no twenty turns to the cluster; another window is another piece."""
    slow = HostProblem("h2", "slow_task", slow=True)
    told = [
        HostReport("c", "a@1", "a", T, troubles=(node_lost("h1"),)),
        HostReport("c", "a@1", "a", T, troubles=(slow,)),
        HostReport("c", "a@1", "a", T, ran=("h1", "h3")),
        HostReport("c", "a@1", "a", T + W, troubles=(slow,)),
        HostReport("c", "b@1", "b", T, ran=("h2",)),
    ]
    joined = list(merge_reports(told))
    one_by_one, at_once = hosts.in_memory_cluster_state(), hosts.in_memory_cluster_state()
    for memory, news in ((one_by_one, told), (at_once, joined)):
        for each in news:
            list(hosts.add_report(each, memory))

    assert [(each.app_id, each.at_ms, each.ran, each.troubles) for each in joined] == [
        ("a", T, ("h1", "h3"), (node_lost("h1"), slow)),
        ("a", T + W, (), (slow,)),
        ("b", T, ("h2",), ()),
    ]
    assert dict(one_by_one.observations.items()) == dict(at_once.observations.items())
    assert one_by_one.due.value() == at_once.due.value()
