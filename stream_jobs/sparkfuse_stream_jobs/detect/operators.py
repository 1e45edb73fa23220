"""Flink's side of the steps: their keys, their state and their timers; what they decide is in modules of their own."""

# Names, signatures and promises of the methods are Flink's.
# ruff: noqa: ARG002, D102

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from functools import partial
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
from sparkfuse_rules.knowledge.hosts import Met
from sparkfuse_rules.knowledge.losses import Losses
from sparkfuse_rules.owners import read_owners
from sparkfuse_stream_jobs.detect import alerts, baselines, hosts, identify, lifecycle, run_memory
from sparkfuse_stream_jobs.detect.codec import message_codec, news_codec, number_codec, record_codec, unit_codec
from sparkfuse_stream_jobs.detect.findings import Writer
from sparkfuse_stream_jobs.detect.flink_state import cell, shelf
from sparkfuse_stream_jobs.detect.host_news import HostNews
from sparkfuse_stream_jobs.detect.meters import meters
from sparkfuse_stream_jobs.detect.outlook import foresee
from sparkfuse_stream_jobs.detect.recent import Recent
from sparkfuse_stream_jobs.detect.rule_select import read_severities, rules_behind_end
from sparkfuse_stream_jobs.detect.samples import Key, key_of_baseline
from sparkfuse_stream_jobs.detect.seeds import Followed
from sparkfuse_stream_jobs.detect.teaching import Lesson

# How long state lives that nobody writes. A run that is silent for a week is over; a stage that learnt nothing for a
# quarter starts its history anew; a finding is told for five minutes after it resolved.
RUN_LIVES = timedelta(days=7)
BASELINE_LIVES = timedelta(days=92)
FINDING_LIVES = timedelta(days=7)
# A row that may be judged, one that is passed on as it is, a baseline, news of hosts.
ROW, PASSED, BASELINE, HOSTS = "row", "passed", "baseline", "hosts"
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
    """(LiveRow) by application attempt -> (whose memory, (kind, start of the application, LiveRow or what it says)).

    Whose memory is the stage or whole of a job for rows and baselines, the cluster for news of hosts.
    """

    def open(self, runtime_context: RuntimeContext) -> None:
        self._recent, self._meters = Recent(), meters()
        of, one = partial(shelf, runtime_context, self._recent), partial(cell, runtime_context, self._recent)
        self._memory = run_memory.Memory(
            last_seq=one("last_seq", number_codec(), RUN_LIVES),
            application=one("application", record_codec(run_memory.Application), RUN_LIVES),
            stages=of("stages", record_codec(run_memory.Stage), RUN_LIVES),
            plans=of("plans", record_codec(run_memory.Plan), RUN_LIVES),
            samples=of("samples", message_codec(Baseline), RUN_LIVES),
            jobs=of("jobs", record_codec(run_memory.Job), RUN_LIVES),
            executors=of("executors", record_codec(run_memory.Executor), RUN_LIVES),
            losses=one("losses", record_codec(Losses), RUN_LIVES),
            progress=one("progress", record_codec(run_memory.Progress), RUN_LIVES),
        )
        self._news = news_codec()

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        for found in usable(self._found(value[0])):
            if isinstance(found, identify.Refused):
                log.warning("%s", found.text)
            elif isinstance(found, Lesson):
                key = _memory_key(key_of_baseline(found.baseline))
                yield Row(key, Row(BASELINE, found.app_start_ms, found.baseline.SerializeToString()))
            elif isinstance(found, HostNews):
                yield Row(_BETWEEN.join((HOSTS, found.cluster)), Row(HOSTS, None, self._news.encode(found)))
            elif (kind := found.WhichOneof("row")) not in _TAKEN_IN:
                key = _memory_key(baselines.key_of_row(found))
                yield Row(key, Row(ROW if kind in _JUDGED else PASSED, None, found.SerializeToString()))

    def _found(self, content: bytes) -> Iterator[identify.Found]:
        row = parsed(LiveRow, content)
        self._meters.row(row)
        yield from identify.step(row, self._memory)


class AcrossRuns(KeyedProcessFunction):
    """(kind, start, content) by whose memory it is -> a row for the rules, or a baseline to be written down.

    What is known beyond one run: the baseline of a stage or job, the troubles of a cluster's hosts. One operator for
    both, because a step of its own for the hosts would look at every row to find the few that are news.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self, runtime_context: RuntimeContext) -> None:
        self._seeds, self._recent = Followed(self._settings), Recent()
        of, one = partial(shelf, runtime_context, self._recent), partial(cell, runtime_context, self._recent)
        self._memory = baselines.Memory(one("baseline", message_codec(Baseline), BASELINE_LIVES), self._seeds)
        self._hosts = hosts.Memory(
            met=of("met", record_codec(Met), RUN_LIVES), news=one("news", record_codec(hosts.News), RUN_LIVES)
        )
        self._news = news_codec()

    def close(self) -> None:
        self._seeds.close()

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        kind, app_start_ms, payload = value
        if kind == BASELINE:
            lesson = Lesson(Baseline.FromString(bytes(payload)), app_start_ms)
            yield from usable(_baseline_row(self._taught(each)) for each in [lesson])
        elif kind == HOSTS:
            for due in hosts.hear(self._news.decode(bytes(payload)), self._hosts):
                ctx.timer_service().register_event_time_timer(due.at_ms)
        else:
            yield _rule_row(payload if kind == PASSED else self._judged(LiveRow.FromString(payload)))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        for row in usable(hosts.wake(timestamp, self._hosts)):
            yield _rule_row(row.SerializeToString())

    def _taught(self, lesson: Lesson) -> Baseline:
        baseline = baselines.teach(lesson, self._memory)
        if baseline.HasField("level_changed_ms") and baseline.level_changed_ms == baseline.updated_ms:
            name = baseline.stage_name or baseline.stage_fingerprint
            log.info("%s of %s: three runs at a new level are taken for the usual now", name, baseline.job_key)
        return baseline

    def _judged(self, row: LiveRow) -> bytes:
        # A row of which nothing can be expected is still one that other rules may hold on.
        row = next(usable(baselines.judge(each, self._memory) for each in [row]), row)
        if row.HasField("application"):
            row = next(usable(foresee(each) for each in [row]), row)
        return row.SerializeToString()


class Lifecycle(KeyedProcessFunction):
    """(LiveRow, severities) by run -> (finding id, (Finding of that run))."""

    def __init__(self, catalog: Catalog, settings: Settings) -> None:
        writer = Writer.of(catalog, settings.runbook_url, read_owners(settings.config_file))
        self._lifecycle = lifecycle.Lifecycle(catalog, settings.window_ms, writer, rules_behind_end(catalog))

    def open(self, runtime_context: RuntimeContext) -> None:
        self._recent = Recent()
        one = partial(cell, runtime_context, self._recent)
        self._memory = lifecycle.Memory(
            ended_ms=one("ended_ms", number_codec(), RUN_LIVES),
            watched=one("watched", number_codec(), RUN_LIVES),
            units=shelf(runtime_context, self._recent, "units", unit_codec(), RUN_LIVES),
        )

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        row = LiveRow.FromString(value[0])
        found = self._lifecycle.step(row, read_severities(value[1]), self._memory)
        yield from self._answer(usable(found), ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        yield from self._answer(self._lifecycle.wake(timestamp, self._memory), ctx)

    @staticmethod
    def _answer(found: Iterable[Finding | lifecycle.Wake], ctx: Any) -> Iterator[Row]:
        for each in found:
            if isinstance(each, lifecycle.Wake):
                ctx.timer_service().register_event_time_timer(each.at_ms)
            else:
                yield Row(each.finding_id, Row(each.SerializeToString()))


class Alerts(KeyedProcessFunction):
    """(Finding of one run) by finding id -> (key, JSON) of the topic ``findings``."""

    def __init__(self, pace: alerts.Pace) -> None:
        self._pace = pace

    def open(self, runtime_context: RuntimeContext) -> None:
        self._meters, self._recent = meters(), Recent()
        self._alert = cell(runtime_context, self._recent, "alert", record_codec(alerts.Alert), FINDING_LIVES)

    def process_element(self, value: Row, ctx: KeyedProcessFunction.Context) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
        now_ms = _now_ms()
        known = self._alert.get()
        alert = alerts.merge(known, Finding.FromString(value[0]), now_ms)
        if alert is not None:
            yield from self._tell(alert, known, now_ms, ctx)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[Row]:
        self._recent.turn_to(ctx.get_current_key())
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


def _memory_key(key: Key) -> str:
    return _BETWEEN.join((key.cluster, key.tenant, key.job_key, key.stage_fingerprint))


def _rule_row(content: bytes) -> Row:
    return Row(ROW, None, None, content)


def _baseline_row(baseline: Baseline) -> Row:
    key = record_key("baselines", baseline)
    return Row(BASELINE, key.decode() if key else None, to_json(baseline).decode(), None)
