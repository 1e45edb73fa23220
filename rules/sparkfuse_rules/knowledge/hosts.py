"""Collect the recent problems of all applications by host, so that rules can distinguish a bad host from a bad job."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkfuse_rules.knowledge.pods import PLANNED

# A problem counts as recent for this time.
WINDOW_MS = 600_000
# The largest number of hosts that are stored for one application; further hosts add no evidence.
MOST_HOSTS = 1_000
MOST_IDS = 8
# With fewer applications, a rule about the host does not fire, so the probability is not computed.
MIN_COMPARED = 3
# The slowest task of a stage indicates a slow host only under these conditions. The task has less than twice the data
# of the median task. The time that the task loses is at least a quarter of the stage's time, as in the rule
# task_straggler. The task loses more time than a cold start on a busy machine does (up to 28 s measured). Applications
# that start on one host at the same time all have cold starts.
MAX_BYTES_RATIO = 2.0
MIN_LOST_SHARE = 0.25
MIN_LOST_MS = 30_000
MIN_SUCCEEDED = 3
# If a task has made no progress in a storage call for this long, it is waiting for storage, as in the rule task_stuck.
MIN_STALLED_MS = 60_000
SLOW_TASK, STORAGE_STALLED, STORAGE_ERROR = "slow_task", "storage_stalled", "storage_error"
_STORAGE_FAILURES = frozenset({"disk_full", "throttled"})
_STORAGE_ERROR = re.compile(
    r"Input/output error|Read-only file system|Stale file handle|DiskErrorException|BlockMissingException"
    r"|Could not obtain block"
)
_STORAGE_FRAME = re.compile(
    r"org\.apache\.hadoop\.(?:fs|hdfs)\.|FileDispatcherImpl|java\.io\.(?:FileInputStream|FileOutputStream"
    r"|RandomAccessFile|UnixFileSystem)\b|FileChannelImpl|com\.google\.cloud\.hadoop|UnixNativeDispatcher"
)
Columns = Mapping[str, Any]


@dataclass(frozen=True)
class HostProblem:
    """A problem on ``host``; ``failing``, ``slow`` and ``storage`` say in which counts of host_live it is included."""

    host: str
    failure: str
    failing: bool = False
    slow: bool = False
    storage: bool = False


@dataclass(frozen=True)
class HostObservations:
    """The recent problems of one application.

    ``ran`` is when a task last ran on each host. ``failing``, ``slow`` and ``storage`` map each host to the time and
    failure of its latest problem of that kind.
    """

    app_id: str
    ran: Mapping[str, int] = field(default_factory=dict)
    failing: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    slow: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    storage: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def problem_of_failure(failure: Columns) -> HostProblem | None:
    """Return the host problem that failed tasks indicate, from their columns of failure_live."""
    host, kind, word = failure.get("host"), failure.get("failure_kind"), failure.get("failure") or "unknown"
    error = kind != "benign" and _STORAGE_ERROR.search(failure.get("failure_reason") or "") is not None
    storage = error or word in _STORAGE_FAILURES
    failing = kind == "infrastructure" and word not in PLANNED
    if not host or not (failing or storage):
        return None
    return HostProblem(host, word if failing else STORAGE_ERROR, failing=failing, storage=storage)


def problem_of_loss(loss: Columns) -> HostProblem | None:
    """Return the host problem that a lost executor indicates, from its columns of executor_loss.

    An executor that exceeded its container's limit, was removed on request, or had to leave a host that works,
    indicates no problem of the host.
    """
    host = loss.get("host")
    if not host or loss.get("failure_kind") not in {"infrastructure", "unknown"} or loss.get("failure") in PLANNED:
        return None
    return HostProblem(host, loss.get("failure") or "unknown", failing=True)


def problem_of_stage(stage: Columns) -> HostProblem | None:
    """Return the host problem that the slowest task of a stage indicates, from the columns of stage_live."""
    host = stage.get("slowest_task_host")
    alike = (stage.get("slowest_task_bytes_ratio") or 1.0) < MAX_BYTES_RATIO
    lost_ms, share = stage.get("slowest_task_lost_ms") or 0, stage.get("slowest_task_lost_share") or 0.0
    enough = (stage.get("succeeded_tasks") or 0) >= MIN_SUCCEEDED
    if host and enough and alike and lost_ms >= MIN_LOST_MS and share >= MIN_LOST_SHARE:
        return HostProblem(host, SLOW_TASK, slow=True)
    return None


def problem_of_task(task: Columns) -> HostProblem | None:
    """Return the host problem that a running task without progress in a storage call indicates; else None.

    ``task`` has the columns of task_live.
    """
    host, stalled_ms = task.get("host"), task.get("stalled_ms") or 0
    if not host or task.get("activity") != "idle" or stalled_ms < MIN_STALLED_MS:
        return None
    if _STORAGE_FRAME.search(task.get("stack") or "") is None:
        return None
    return HostProblem(host, STORAGE_STALLED, storage=True)


def observe(
    before: HostObservations, at_ms: int, ran: Iterable[str], problems: Iterable[HostProblem]
) -> HostObservations:
    """Add the hosts where tasks ran and the problems, all observed at ``at_ms``; drop old observations."""
    new = list(problems)
    hosts = dict.fromkeys([*ran, *(problem.host for problem in new)], at_ms)
    by_kind = {name: {each.host: (at_ms, each.failure) for each in new if getattr(each, name)}
            for name in ("failing", "slow", "storage")}  # fmt: skip
    return recent_only(
        HostObservations(
            before.app_id,
            _newest({**before.ran, **hosts}),
            _newest({**before.failing, **by_kind["failing"]}),
            _newest({**before.slow, **by_kind["slow"]}),
            _newest({**before.storage, **by_kind["storage"]}),
        ),
        at_ms,
    )


def recent_only(observations: HostObservations, now_ms: int) -> HostObservations:
    """Return the observations of the last ten minutes."""
    since = now_ms - WINDOW_MS
    if min(_times(observations), default=now_ms) > since:
        return observations

    def recent(problems: Mapping[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
        return {host: problem for host, problem in problems.items() if problem[0] > since}

    ran = {host: at_ms for host, at_ms in observations.ran.items() if at_ms > since}
    return HostObservations(
        observations.app_id,
        ran,
        recent(observations.failing),
        recent(observations.slow),
        recent(observations.storage),
    )


def _times(observations: HostObservations) -> Iterator[int]:
    yield from observations.ran.values()
    for problems in (observations.failing, observations.slow, observations.storage):
        for at_ms, _ in problems.values():
            yield at_ms


class HostIndex:
    """The applications of a cluster, indexed by the hosts on which they recently ran tasks or had problems.

    The index is built once per window, so that each application is read once, and not once per host.
    """

    def __init__(self, applications: Iterable[HostObservations]) -> None:
        self.ran: Counter[str] = Counter()
        self.with_problems: dict[str, list[HostObservations]] = defaultdict(list)
        self.applications_with_problems = 0
        self.failing_or_slow: Counter[str] = Counter()
        for each in applications:
            self.ran.update(each.ran.keys())
            self.failing_or_slow.update({*each.failing, *each.slow})
            hosts = {*each.failing, *each.slow, *each.storage}
            self.applications_with_problems += bool(hosts)
            for host in hosts:
                self.with_problems[host].append(each)

    def chance_hosts(self, host: str) -> float | None:
        """Return how many hosts would by chance have as large a share of failing and slow applications as ``host``.

        If the problems were equally likely on all hosts, their number on one host would follow the hypergeometric
        distribution (Fisher 1935); the result is its tail times the number of hosts. An application counts once for
        each host on which it ran. The result is None if fewer than three applications have problems on the host, or if
        applications ran on no other host.
        """
        here, problems_here = self.ran[host], self.failing_or_slow[host]
        runs, problems = self.ran.total(), self.failing_or_slow.total()
        if problems_here < MIN_COMPARED or runs <= here:
            return None
        chance = math.fsum(
            math.exp(_log_choose(here, k) + _log_choose(runs - here, problems - k) - _log_choose(runs, problems))
            for k in range(max(problems_here, problems - (runs - here)), min(here, problems) + 1)
        )
        return min(1.0, chance) * len(self.ran)


def host_columns(host: str, index: HostIndex) -> dict[str, Any]:
    """Return the columns of host_live from the recent problems of all applications of its cluster."""
    here = index.with_problems.get(host, [])
    only_here = sum({*each.failing, *each.slow, *each.storage} == {host} for each in here)
    failures = Counter(failure for each in here for failure in _failures(each, host))
    columns: dict[str, Any] = {
        "host": host,
        "applications": index.ran[host],
        "failing_applications": sum(host in each.failing for each in here),
        # An application that is both failing and slow is counted once, as failing.
        "slow_applications": sum(host in each.slow and host not in each.failing for each in here),
        "storage_applications": sum(host in each.storage for each in here),
        "elsewhere_applications": index.applications_with_problems - only_here,
    }
    chance_hosts = index.chance_hosts(host)
    if chance_hosts is not None:
        columns["chance_hosts"] = chance_hosts
    if here:
        columns["failure"] = min(failures, key=lambda failure: (-failures[failure], failure))
        columns["application_ids"] = ", ".join(sorted({each.app_id for each in here})[:MOST_IDS])
    return columns


def _log_choose(total: int, chosen: int) -> float:
    return math.lgamma(total + 1) - math.lgamma(chosen + 1) - math.lgamma(total - chosen + 1)


def _failures(observations: HostObservations, host: str) -> set[str]:
    kinds = (observations.failing, observations.storage, observations.slow)
    return {problems[host][1] for problems in kinds if host in problems}


def _newest(by_host: dict[str, Any]) -> dict[str, Any]:
    """Limit the number of hosts by dropping the hosts that were added first."""
    return dict(list(by_host.items())[-MOST_HOSTS:]) if len(by_host) > MOST_HOSTS else by_host
