"""What applications meet on the hosts that they share: the base of rules that tell a host's trouble from a job's."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

# How long something counts as lately.
WINDOW_MS = 600_000
# What an application may meet on; more hosts than this are a fleet of their own, and the rest adds no evidence.
MOST_HOSTS = 1_000
MOST_IDS = 8
# A slowest task tells of its host only with the data of its siblings, for a share of the stage as task_straggler has
# it, and beyond what a cold start costs on a busy machine (28 s were measured): applications that start side by side on
# one host are cold together.
MAX_BYTES_RATIO = 2.0
MIN_LOST_SHARE = 0.25
MIN_LOST_MS = 30_000
MIN_SUCCEEDED = 3
# A task that stands still for so long in a call to storage driver_idle for that storage (as task_stuck has it).
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
    """What was met on ``host``, in one word; ``failing``, ``slow`` and ``storage`` say which counts it belongs to."""

    host: str
    failure: str
    failing: bool = False
    slow: bool = False
    storage: bool = False


@dataclass(frozen=True)
class HostObservations:
    """What one application met lately: hosts with when its tasks ran there last, and with when and what it met."""

    app_id: str
    ran: Mapping[str, int] = field(default_factory=dict)
    failing: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    slow: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    storage: Mapping[str, tuple[int, str]] = field(default_factory=dict)


def problem_of_failure(failure: Columns) -> HostProblem | None:
    """The trouble that failed tasks tell of, by their columns of failure_live."""
    host, kind, word = failure.get("host"), failure.get("failure_kind"), failure.get("failure") or "unknown"
    error = kind != "benign" and _STORAGE_ERROR.search(failure.get("failure_reason") or "") is not None
    storage = error or word in _STORAGE_FAILURES
    failing = kind == "infrastructure"
    if not host or not (failing or storage):
        return None
    return HostProblem(host, word if failing else STORAGE_ERROR, failing=failing, storage=storage)


def problem_of_loss(loss: Columns) -> HostProblem | None:
    """The trouble that a lost executor tells of, by its columns of executor_loss.

    One that asked for more than its own container allows, or was asked to leave, says nothing of its host.
    """
    host = loss.get("host")
    if not host or loss.get("failure_kind") not in {"infrastructure", "unknown"}:
        return None
    return HostProblem(host, loss.get("failure") or "unknown", failing=True)


def problem_of_stage(stage: Columns) -> HostProblem | None:
    """The trouble that a stage's slowest task tells of, by its columns of stage_live."""
    host = stage.get("slowest_task_host")
    alike = (stage.get("slowest_task_bytes_ratio") or 1.0) < MAX_BYTES_RATIO
    lost_ms, share = stage.get("slowest_task_lost_ms") or 0, stage.get("slowest_task_lost_share") or 0.0
    enough = (stage.get("succeeded_tasks") or 0) >= MIN_SUCCEEDED
    if host and enough and alike and lost_ms >= MIN_LOST_MS and share >= MIN_LOST_SHARE:
        return HostProblem(host, SLOW_TASK, slow=True)
    return None


def problem_of_task(task: Columns) -> HostProblem | None:
    """The trouble that a running task tells of, by its columns of task_live: it stands still in a call to storage."""
    host, stalled_ms = task.get("host"), task.get("stalled_ms") or 0
    if not host or task.get("activity") != "idle" or stalled_ms < MIN_STALLED_MS:
        return None
    if _STORAGE_FRAME.search(task.get("stack") or "") is None:
        return None
    return HostProblem(host, STORAGE_STALLED, storage=True)


def observe(
    before: HostObservations, at_ms: int, ran: Iterable[str], troubles: Iterable[HostProblem]
) -> HostObservations:
    """What the application met until ``at_ms``, without what is no longer lately."""
    found = list(troubles)
    places = dict.fromkeys([*ran, *(trouble.host for trouble in found)], at_ms)
    said = {name: {each.host: (at_ms, each.failure) for each in found if getattr(each, name)}
            for name in ("failing", "slow", "storage")}  # fmt: skip
    return recent_only(
        HostObservations(
            before.app_id,
            _newest({**before.ran, **places}),
            _newest({**before.failing, **said["failing"]}),
            _newest({**before.slow, **said["slow"]}),
            _newest({**before.storage, **said["storage"]}),
        ),
        at_ms,
    )


def recent_only(known: HostObservations, now_ms: int) -> HostObservations:
    """What of it is not older than ten minutes."""
    since = now_ms - WINDOW_MS
    if min(_times(known), default=now_ms) > since:
        return known

    def kept(told: Mapping[str, tuple[int, str]]) -> dict[str, tuple[int, str]]:
        return {host: said for host, said in told.items() if said[0] > since}

    ran = {host: at_ms for host, at_ms in known.ran.items() if at_ms > since}
    return HostObservations(known.app_id, ran, kept(known.failing), kept(known.slow), kept(known.storage))


def _times(known: HostObservations) -> Iterator[int]:
    yield from known.ran.values()
    for told in (known.failing, known.slow, known.storage):
        for at_ms, _ in told.values():
            yield at_ms


class HostIndex:
    """All applications of a cluster, by the hosts that they ran on and met something on lately.

    Made once for all hosts that a window has news of: each application is looked at once, not once for each host.
    """

    def __init__(self, applications: Iterable[HostObservations]) -> None:
        self.ran: Counter[str] = Counter()
        self.suffering: dict[str, list[HostObservations]] = defaultdict(list)
        self.sufferers = 0
        for each in applications:
            self.ran.update(each.ran.keys())
            hosts = {*each.failing, *each.slow, *each.storage}
            self.sufferers += bool(hosts)
            for host in hosts:
                self.suffering[host].append(each)


def host_columns(host: str, neighbours: HostIndex) -> dict[str, Any]:
    """The columns of host_live, from what all applications of its cluster met lately."""
    here = neighbours.suffering.get(host, [])
    only_here = sum({*each.failing, *each.slow, *each.storage} == {host} for each in here)
    words = Counter(word for each in here for word in _words(each, host))
    columns: dict[str, Any] = {
        "host": host,
        "applications": neighbours.ran[host],
        "failing_applications": sum(host in each.failing for each in here),
        # One that fails there and is slow too suffers once.
        "slow_applications": sum(host in each.slow and host not in each.failing for each in here),
        "storage_applications": sum(host in each.storage for each in here),
        "elsewhere_applications": neighbours.sufferers - only_here,
    }
    if here:
        columns["failure"] = min(words, key=lambda word: (-words[word], word))
        columns["application_ids"] = ", ".join(sorted({each.app_id for each in here})[:MOST_IDS])
    return columns


def _words(known: HostObservations, host: str) -> set[str]:
    return {told[host][1] for told in (known.failing, known.storage, known.slow) if host in told}


def _newest(told: dict[str, Any]) -> dict[str, Any]:
    """At most so many hosts; those that were told last stay."""
    return dict(list(told.items())[-MOST_HOSTS:]) if len(told) > MOST_HOSTS else told
