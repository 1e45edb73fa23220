"""One application as its log tells it: each event to the facts that the plugin makes of it, in their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkfuse_collectors.facts import cluster, sql, stages, streaming, tasks
from sparkfuse_collectors.facts.record import RESERVED, News
from sparkfuse_contracts.configuration import allowed_configuration
from sparkfuse_contracts.generated.fact_pb2 import ApplicationEnded, ApplicationStarted
from sparkfuse_rules.knowledge.identity import PROPERTY_KEYS, attempt_number
from sparkfuse_rules.knowledge.scrubbing import scrub, shortened

Event = Mapping[str, Any]
PLUGIN_PACKAGE = "io.sparkfuse."
TASK_EVENTS = ("TaskStart", "TaskEnd")
# What Spark writes before it is known which application it is.
HEADER = frozenset({
    "LogStart", "ResourceProfileAdded", "BlockManagerAdded", "EnvironmentUpdate", "ExecutorAdded", "ApplicationStart",
})  # fmt: skip
MOST_HELD = 10_000
MOST_CHARS = 512
MOST_SETTINGS = 300
MOST_NODE_EVENTS = 128
# The one setting that Spark writes into its log when nobody set it.
_ADDED_BY_SPARK = ("spark.scheduler.mode", "FIFO")
_NODE_EVENT = re.compile(r"(?:Executor|Node)(?:Excluded|Unexcluded|Blacklisted|Unblacklisted)(?:ForStage)?")


class LogRefused(ValueError):
    """A log tells of no application that facts could be made of; the text is one sentence."""


@dataclass(frozen=True)
class Identity:
    """Which run of which application: Spark's id, the number of the attempt (0 without), its start in ms."""

    app_id: str
    attempt: int
    start_ms: int


class ApplicationFacts:
    """Makes facts of the events of one log, fed in their order.

    ``identity`` is None while it is not known; until then facts are held back. ``watched`` says that the plugin was
    there, so that all of this was told already. ``ended_ms`` is set once the application ended.
    """

    def __init__(self) -> None:
        self.identity: Identity | None = None
        self.watched = False
        self.ended_ms: int | None = None
        self.last_ms = 0
        self._held: list[News] = []
        self._started: Event | None = None
        self._spark_version: str | None = None
        self._properties: Mapping[str, str] | None = None
        self._jobs: dict[int, dict[int, int | None]] = {}
        self._succeeded_jobs = self._failed_jobs = 0
        self._told_nodes: dict[str, None] = {}
        self._sql = sql.SqlBook()

    def feed(self, name: str, event: Event) -> list[News]:
        """The facts that this event makes certain, in the order of the log.

        Raises LogRefused when the log lost its start; KeyError, TypeError, ValueError or AttributeError for an event
        that is not what Spark writes, which then made nothing.
        """
        found = list(self._facts(name, event))
        for each in found:
            self.last_ms = max(self.last_ms, each.at_ms)
        if self.identity is not None:
            return found
        self._held += found
        return self._meet(name)

    def go_on_as(self, identity: Identity) -> None:
        """Go on in the middle of a log whose beginning is gone."""
        self.identity, self._held = identity, []

    def _facts(self, name: str, event: Event) -> Iterator[News]:
        simple = _SIMPLE.get(name)
        if simple is not None:
            yield simple(event)
            return
        method = _METHODS.get(name)
        if method is not None:
            yield from getattr(self, method)(event)
        elif _NODE_EVENT.fullmatch(name):
            yield from self._node_event(name, event)

    def _meet(self, name: str) -> list[News]:
        """Once the start and the configuration are known, or nothing more of them can come: all that was held."""
        if self._started is None:
            if name not in HEADER or len(self._held) > MOST_HELD:
                raise LogRefused("it does not begin with the start of an application")
            return []
        if self._properties is None and name in HEADER and len(self._held) <= MOST_HELD:
            return []
        started = self._started
        app_id = started.get("App ID") or (self._properties or {}).get("spark.app.id")
        if not app_id:
            raise LogRefused("its application has no id")
        self.identity = Identity(
            str(app_id), attempt_number(str(started.get("App Attempt ID") or "")), started["Timestamp"]
        )
        held, self._held = self._held, []
        return [self._application_started(started), *held]

    def _application_started(self, started: Event) -> News:
        properties = self._properties or {}
        message = ApplicationStarted(
            name=scrub(str(started.get("App Name"))),
            user_name=started.get("User"),
            spark_version=self._spark_version,
            master=scrub(properties.get("spark.master", "")),
            properties=identity_properties(properties),
            configuration=configuration(properties),
        )
        return News(RESERVED, started["Timestamp"], "application_started", "", message)

    def _log_start(self, event: Event) -> Iterator[News]:
        self._spark_version = event.get("Spark Version")
        yield from ()

    def _environment(self, event: Event) -> Iterator[News]:
        told = event.get("Spark Properties") or {}
        # Of Spark 1.x and others: a list of pairs.
        properties = dict(told)
        if self._properties is None:
            self._properties = properties
            self.watched = is_watched(properties)
        yield from ()

    def _application_start(self, event: Event) -> Iterator[News]:
        if self._started is None:  # of several starts in one log the first counts
            self._started = event
            self.last_ms = event["Timestamp"]
        yield from ()

    def _application_end(self, event: Event) -> Iterator[News]:
        ended_ms = event["Timestamp"]
        message = ApplicationEnded(
            ended_ms=ended_ms, succeeded_jobs=self._succeeded_jobs, failed_jobs=self._failed_jobs
        )
        yield News(RESERVED, ended_ms, "application_ended", "", message)
        self.ended_ms = ended_ms

    def _job_started(self, event: Event) -> Iterator[News]:
        yield stages.job_started(event)
        self._jobs[event["Job ID"]] = stages.depths(event)

    def _job_ended(self, event: Event) -> Iterator[News]:
        found = stages.job_ended(event)
        yield found
        self._jobs.pop(event["Job ID"], None)
        if found.message.succeeded:
            self._succeeded_jobs += 1
        else:
            self._failed_jobs += 1

    def _stage_started(self, event: Event) -> Iterator[News]:
        stage = event["Stage Info"]["Stage ID"]
        jobs = [job for job, its in self._jobs.items() if stage in its]
        first = min(jobs, default=None)
        found = stages.stage_started(event, first, None if first is None else self._jobs[first][stage])
        message = found.message
        execution = message.sql_execution_id if message.HasField("sql_execution_id") else None
        self._sql.stage_started((message.stage_id, message.stage_attempt), execution)
        yield found

    def _stage_ended(self, event: Event) -> Iterator[News]:
        found = stages.stage_ended(event)
        self._sql.stage_ended((found.message.stage_id, found.message.stage_attempt), event)
        yield found

    def _node_event(self, name: str, event: Event) -> Iterator[News]:
        """Spark posts some under the old name (blacklisted) and under the new one: each is told once."""
        found = cluster.node_event(name, event)
        if found.own not in self._told_nodes:
            self._told_nodes[found.own] = None
            if len(self._told_nodes) > MOST_NODE_EVENTS:
                del self._told_nodes[next(iter(self._told_nodes))]
            yield found

    def _resource_profile(self, event: Event) -> Iterator[News]:
        yield cluster.resource_profile_added(event, self.last_ms)

    def _sql_started(self, event: Event) -> Iterator[News]:
        yield from self._sql.started(event)

    def _sql_ended(self, event: Event) -> Iterator[News]:
        yield from self._sql.ended(event)

    def _sql_replanned(self, event: Event) -> Iterator[News]:
        yield from self._sql.replanned(event, self.last_ms)

    def _sql_expected(self, event: Event) -> Iterator[News]:
        self._sql.expected(event)
        yield from ()

    def _driver_updates(self, event: Event) -> Iterator[News]:
        self._sql.driver_updated(event)
        yield from ()

    def _query_ended(self, event: Event) -> Iterator[News]:
        yield streaming.query_ended(event, self.last_ms)


_SIMPLE: Mapping[str, Callable[[Event], News]] = {
    "TaskStart": tasks.task_started,
    "TaskEnd": tasks.task_ended,
    "ExecutorAdded": cluster.executor_added,
    "ExecutorRemoved": cluster.executor_removed,
    "BlockManagerAdded": cluster.block_manager_added,
    "BlockManagerRemoved": cluster.block_manager_removed,
    "StreamingQueryListener$QueryStartedEvent": streaming.query_started,
    "StreamingQueryListener$QueryProgressEvent": streaming.query_progressed,
    "StreamingQueryListener$QueryIdleEvent": streaming.query_idle,
}
_METHODS: Mapping[str, str] = {
    "LogStart": "_log_start",
    "EnvironmentUpdate": "_environment",
    "ApplicationStart": "_application_start",
    "ApplicationEnd": "_application_end",
    "JobStart": "_job_started",
    "JobEnd": "_job_ended",
    "StageSubmitted": "_stage_started",
    "StageCompleted": "_stage_ended",
    "ResourceProfileAdded": "_resource_profile",
    "SQLExecutionStart": "_sql_started",
    "SQLAdaptiveExecutionUpdate": "_sql_replanned",
    "SQLAdaptiveSQLMetricUpdates": "_sql_expected",
    "DriverAccumUpdates": "_driver_updates",
    "SQLExecutionEnd": "_sql_ended",
    "StreamingQueryListener$QueryTerminatedEvent": "_query_ended",
}
_NODE_EVENTS = tuple(
    f"{what}{how}{scope}"
    for what in ("Executor", "Node")
    for how in ("Excluded", "Unexcluded", "Blacklisted", "Unblacklisted")
    for scope in ("", "ForStage")
)
RARE_EVENTS = tuple(name for name in (*_SIMPLE, *_METHODS, *_NODE_EVENTS) if name not in TASK_EVENTS)
"""What must be read again to go on in the middle of a log."""
EVENTS = (*TASK_EVENTS, *RARE_EVENTS)
"""Names of all events that facts are made of, without package and ``SparkListener``."""


def is_watched(properties: Mapping[str, str]) -> bool:
    """Whether the plugin was there and switched on, by the application's configuration."""
    plugins = properties.get("spark.plugins", "").split(",")
    there = any(plugin.strip().startswith(PLUGIN_PACKAGE) for plugin in plugins)
    return there and properties.get("spark.sparkfuse.enabled", "true").strip().lower() != "false"


def identity_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What identity is made of, scrubbed and capped as the plugin does."""
    keys = ("spark.app.name", *PROPERTY_KEYS)
    return {key: scrub(shortened(properties[key], MOST_CHARS)) for key in keys if key in properties}


def configuration(properties: Mapping[str, str]) -> dict[str, str]:
    """The settings that explain how it ran: an allow-list, because anything else may be a secret."""
    allows = allowed_configuration().allows
    keys = sorted(key for key in properties if allows(key) and (key, properties[key]) != _ADDED_BY_SPARK)[
        :MOST_SETTINGS
    ]
    return {key: scrub(shortened(str(properties[key]), MOST_CHARS)) for key in keys}
