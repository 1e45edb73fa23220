"""Flink's side of the steps: their keys, their state and their timers; what they decide is in modules of their own."""

# Names, signatures and promises of the methods are Flink's.
# ruff: noqa: ARG002, D102

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

from google.protobuf.message import DecodeError, Message
from pyflink.common import Row
from pyflink.datastream import KeyedProcessFunction, RuntimeContext

from sparkfuse_contracts.generated.baseline_pb2 import Baseline
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_rules.catalog import Catalog
from sparkfuse_rules.knowledge.executor_losses import ExecutorLosses
from sparkfuse_rules.knowledge.hosts import HostObservations
from sparkfuse_rules.owners import read_owners
from sparkfuse_stream_jobs.detect import alerts, baselines, hosts, identify, lifecycle, run_memory
from sparkfuse_stream_jobs.detect.codec import message_codec, news_codec, number_codec, record_codec, unit_codec
from sparkfuse_stream_jobs.detect.findings import Writer
from sparkfuse_stream_jobs.detect.flink_state import Kept, Turns
from sparkfuse_stream_jobs.detect.host_news import HostNews, together
from sparkfuse_stream_jobs.detect.meters import meters
from sparkfuse_stream_jobs.detect.outlook import foresee
from sparkfuse_stream_jobs.detect.parts import joined, parts
from sparkfuse_stream_jobs.detect.rule_select import read_severities, rules_behind_end
from sparkfuse_stream_jobs.detect.seeds import Followed

# How long state lives that nobody writes. A run that is silent for a week is over; a stage that learnt nothing for a
# quarter starts its history anew; a finding is told for five minutes after it resolved.
RUN_LIVES = timedelta(days=7)
BASELINE_LIVES = timedelta(days=92)
FINDING_LIVES = timedelta(days=7)
# A row that may be judged, one that is passed on as it is, a baseline, news of hosts: the first byte of each part of
# what goes from one step to the next.
ROW, PASSED, BASELINE, HOSTS = b"r", b"p", b"b", b"h"
# What AcrossRuns makes.
OF_ROWS, OF_BASELINE = "rows", "baseline"
# Kinds that are judged by what is known across runs, and kinds that tell Identify something and nobody behind it.
_JUDGED = frozenset({"stage", "application"})
_TAKEN_IN = frozenset({
    "application_started", "executor_added", "job_ended", "job_started", "sql_ended", "sql_started", "stage_started",
})  # fmt: skip
_BETWEEN = "\x1f"
Found = TypeVar("Found")
Parsed = TypeVar("Parsed", bound=Message)
log = logging.getLogger(__name__)


class Identify(KeyedProcessFunction):
    """Parts, each a LiveRow, by application attempt -> (whose memory, parts: kind and LiveRow or what it says).

    Whose memory is the job for rows and baselines, the cluster for news of hosts.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self._turns, self._meters, self._news = Turns(), meters(), news_codec()
        kept = Kept(runtime_context, self._turns, "run", RUN_LIVES)
        self._memory = run_memory.Memory(
            last_seq=kept.cell("last_seq", number_codec()),
            application=kept.cell("application", record_codec(run_memory.Application)),
            stages=kept.shelf("stages", record_codec(run_memory.Stage)),
            plans=kept.shelf("plans", record_codec(run_memory.Plan)),
            # Written at the end of each stage and read at that of the application.
            samples=kept.shelf("samples", message_codec(Baseline), held=False),
            jobs=kept.shelf("jobs", record_codec(run_memory.Job)),
            executors=kept.shelf("executors", record_codec(run_memory.Executor)),
            losses=kept.cell("losses", record_codec(ExecutorLosses)),
            progress=kept.cell("progress", record_codec(run_memory.Progress)),
        )

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        told: dict[str, list[bytes]] = {}
        news: list[HostNews] = []
        with self._turns.of(ctx.get_current_key()):
            for content in parts(value):
                for found in usable(self._found(content)):
                    if isinstance(found, HostNews):
                        news.append(found)
                    elif (said := self._said(found)) is not None:
                        told.setdefault(said[0], []).append(said[1])
        for each in together(news):
            told.setdefault(_BETWEEN.join(("hosts", each.cluster)), []).append(HOSTS + self._news.encode(each))
        for key, contents in told.items():
            yield Row(key, joined(contents))

    @staticmethod
    def _said(found: LiveRow | Baseline | identify.Refused) -> tuple[str, bytes] | None:
        """Whose memory it is for, and what goes there; None for what nobody behind it asks for."""
        if isinstance(found, LiveRow):
            if (kind := found.WhichOneof("row")) in _TAKEN_IN:
                return None
            return _memory_key(found), (ROW if kind in _JUDGED else PASSED) + found.SerializeToString()
        if isinstance(found, Baseline):
            return _memory_key(found), BASELINE + found.SerializeToString()
        log.warning("%s", found.text)
        return None

    def _found(self, content: bytes) -> Iterator[identify.Found]:
        row = parsed(LiveRow, content)
        self._meters.row(row)
        yield from identify.step(row, self._memory)


class AcrossRuns(KeyedProcessFunction):
    """Parts, each kind and content, by whose memory it is -> rows for the rules as parts, baselines to be written down.

    What is known beyond one run: the baselines of a job, the troubles of a cluster's hosts. One operator for
    both, because a step of its own for the hosts would look at every row to find the few that are news.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seeds, self._turns, self._news = Followed(self._settings), Turns(), news_codec()
        self._asked: set[tuple[str, int]] = set()
        of_job = Kept(runtime_context, self._turns, "job", BASELINE_LIVES)
        # Not held: what is asked for again and again are the lines that were fitted to them.
        learned = of_job.shelf("baselines", message_codec(Baseline), held=False)
        self._memory = baselines.Memory(learned, self._seeds)
        of_hosts = Kept(runtime_context, self._turns, "hosts", RUN_LIVES)
        self._hosts = hosts.Memory(
            met=of_hosts.shelf("met", record_codec(HostObservations)),
            news=of_hosts.cell("news", record_codec(hosts.News)),
        )

    def close(self) -> None:
        self._seeds.close()

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        rows: list[bytes] = []
        learned: dict[str, Baseline] = {}
        with self._turns.of(ctx.get_current_key()):
            for part in parts(value):
                kind, content = part[:1], part[1:]
                if kind == PASSED:
                    rows.append(content)
                elif kind == ROW:
                    rows.append(self._judged(LiveRow.FromString(content)))
                elif kind == BASELINE:
                    # A run may have taught of one stage several times: what is written is what it knows after all.
                    for baseline in usable(self._taught(each) for each in [Baseline.FromString(content)]):
                        learned[baseline.stage_fingerprint] = baseline
                else:
                    for due in hosts.hear(self._news.decode(content), self._hosts):
                        self._wake(due.at_ms, ctx)
        if rows:
            yield _rule_rows(rows)
        for baseline in learned.values():
            yield from usable(self._written(each) for each in [baseline])

    def _wake(self, at_ms: int, ctx: KeyedProcessFunction.Context) -> None:
        # All applications of a cluster ask for the same few moments, and each timer asked for is a way into the JVM.
        place = (self._turns.key, at_ms)
        if place not in self._asked:
            self._asked.add(place)
            ctx.timer_service().register_event_time_timer(at_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._turns.of(ctx.get_current_key()):
            key = self._turns.key
            self._asked = {(each, at_ms) for each, at_ms in self._asked if each != key or at_ms > timestamp}
            rows = [row.SerializeToString() for row in usable(hosts.wake(timestamp, self._hosts))]
        if rows:
            yield _rule_rows(rows)

    def _taught(self, lesson: Baseline) -> Baseline:
        baseline = baselines.teach(lesson, self._memory)
        if baseline.HasField("level_changed_ms") and baseline.level_changed_ms == baseline.updated_ms:
            name = baseline.stage_name or baseline.stage_fingerprint
            log.info("%s of %s: three runs at a new level are taken for the usual now", name, baseline.job_key)
        return baseline

    def _written(self, baseline: Baseline) -> Row:
        key, content = record_key("baselines", baseline), to_json(baseline)
        self._seeds.wrote(content)
        return Row(OF_BASELINE, key.decode() if key else None, content.decode(), None)

    def _judged(self, row: LiveRow) -> bytes:
        # A row of which nothing can be expected is still one that other rules may hold on.
        row = next(usable(baselines.judge(each, self._memory) for each in [row]), row)
        if row.HasField("application"):
            row = next(usable(foresee(each) for each in [row]), row)
        return row.SerializeToString()


class Lifecycle(KeyedProcessFunction):
    """Parts by run, each severities and LiveRow as parts -> (finding id, Finding of that run)."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        writer = Writer.of(catalog, settings.runbook_url, read_owners(settings.config_file))
        self._lifecycle = lifecycle.Lifecycle(catalog, settings.window_ms, writer, rules_behind_end(catalog))

    def open(self, runtime_context: RuntimeContext) -> None:
        self._turns = Turns()
        kept = Kept(runtime_context, self._turns, "findings", RUN_LIVES)
        self._memory = lifecycle.Memory(
            ended_ms=kept.cell("ended_ms", number_codec()),
            watched=kept.cell("watched", number_codec()),
            units=kept.shelf("units", unit_codec()),
            wake_ms=kept.cell("wake_ms", number_codec()),
        )

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        with self._turns.of(ctx.get_current_key()):
            for watched in parts(value):
                severities, content = parts(watched)
                row, holds = LiveRow.FromString(content), read_severities(severities.decode())
                yield from self._answer(usable(self._lifecycle.step(row, holds, self._memory)), ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._turns.of(ctx.get_current_key()):
            yield from self._answer(self._lifecycle.wake(timestamp, self._memory), ctx)

    @staticmethod
    def _answer(found: Iterable[Finding | lifecycle.Wake], ctx: Any) -> Iterator[Row]:
        for each in found:
            if isinstance(each, lifecycle.Wake):
                ctx.timer_service().register_event_time_timer(each.at_ms)
            else:
                yield Row(each.finding_id, each.SerializeToString())


class Alerts(KeyedProcessFunction):
    """Finding of one run by finding id -> (key, JSON) of the topic ``findings``."""

    def __init__(self, pace: alerts.Pace) -> None:
        self._pace = pace

    def open(self, runtime_context: RuntimeContext) -> None:
        self._meters, self._turns = meters(), Turns()
        kept = Kept(runtime_context, self._turns, "alert", FINDING_LIVES)
        self._alert = kept.cell("alert", record_codec(alerts.Alert))

    def process_element(self, value: bytes, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        now_ms = _now_ms()
        with self._turns.of(ctx.get_current_key()):
            known = self._alert.get()
            alert = alerts.merge(known, Finding.FromString(value), now_ms)
            if alert is not None:
                yield from self._tell(alert, known, now_ms, ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        with self._turns.of(ctx.get_current_key()):
            alert = self._alert.get()
            if alert is not None:
                yield from self._tell(alert, alert, _now_ms(), ctx)

    def _tell(self, alert: alerts.Alert, known: alerts.Alert | None, now_ms: int, ctx: Any) -> Iterator[Row]:
        telling = alerts.tell(alert, now_ms, self._pace)
        if telling.alert is None:
            self._alert.clear()
        elif telling.alert != known:
            self._alert.put(telling.alert)
        if telling.look_again_ms is not None:
            ctx.timer_service().register_processing_time_timer(telling.look_again_ms)
        if telling.record is not None:
            self._meters.told(telling.record, news=telling.alert is not None and telling.alert.said != alert.said)
            yield Row(telling.record.finding_id, to_json(telling.record).decode())


def usable(found: Iterator[Found]) -> Iterator[Found]:
    """What a step found, up to a value that it cannot work with: that row is counted, named once, and passed over.

    Without it one absurd number would end the job again and again. What is not the fault of a value is raised.
    """
    try:
        yield from found
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        meters().refused(f"{type(error).__name__}: {error}"[:200])


def parsed(message_class: type[Parsed], content: bytes) -> Parsed:
    """The message of ``content``. Raises ValueError for bytes that the gate took for one and Python does not."""
    try:
        return message_class.FromString(content)
    except DecodeError as error:
        raise ValueError(f"it is no {message_class.__name__}: {error}") from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _memory_key(told: LiveRow | Baseline) -> str:
    """The job, as the topic baselines tells jobs apart. All rows of a run go one way, so they keep their order."""
    return _BETWEEN.join(baselines.key_of_job(told))


def _rule_rows(rows: list[bytes]) -> Row:
    return Row(OF_ROWS, None, None, joined(rows))
