"""The sender: read findings from Kafka and send them to every Alertmanager peer.

The sender has no state of its own. The detect job repeats a firing finding every minute, and a resolved one for five
minutes. Alertmanager merges alerts with the same labels. The sender commits offsets only after a peer accepted the
batch. So a crash at any point may repeat a post, but duplicates no notification and loses no finding. The topic
``feedback``, which the sender reads completely, decides which findings are demoted, and the topic ``pages`` which ones
page.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from tenacity import Retrying, retry_if_exception_type, stop_after_delay, stop_when_event_set, wait_random_exponential
from tenacity.nap import sleep_using_event

from sparkfuse_alertmanager.alert import CRITICAL, Alert, InvalidFindingError, alert_of, expired
from sparkfuse_alertmanager.feedback import FeedbackFollower
from sparkfuse_alertmanager.inbox import DeadLetterError, Inbox, Record
from sparkfuse_alertmanager.links import Links
from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_alertmanager.page_alerts import digests, held_back
from sparkfuse_alertmanager.page_budget import PageBudget
from sparkfuse_alertmanager.peers import NoPeerAcceptedError, Peers, RejectedAlert
from sparkfuse_contracts.canary import CANARY_JOB
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.kafka_access import KafkaUnavailableError
from sparkfuse_contracts.metrics_server import MetricsPortError, serve_metrics
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_contracts.wire import RecordError, from_json
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.runbooks import first_step

log = logging.getLogger(__name__)
POLL_SECONDS = 0.5
# The sender retries a batch for this time. After this time, it reads the batch from Kafka again, together with newer
# findings, which replace older findings. So after a long outage of Alertmanager, the sender sends the current state.
TRY_SECONDS = 30.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.2, 5.0


@dataclass(frozen=True)
class Batch:
    """The result of converting records: one alert for the latest state of each finding, and the invalid records.

    ``canary`` is the number of findings of the canary application, for which no alert is posted.
    """

    alerts: tuple[Alert, ...]
    records: dict[str, Record]
    evidence_ms: tuple[int, ...]
    invalid: tuple[tuple[Record, str], ...]
    replaced: int
    expired: int
    canary: int
    demoted: int
    critical: tuple[Finding, ...] = ()


def never_demoted(_finding: Finding, _now_ms: int) -> str:
    """Return that a finding is not demoted."""
    return ""


def make_batch(
    records: Iterable[Record],
    now_ms: int,
    links: Links,
    first_steps: Mapping[str, str] = MappingProxyType({}),
    demotion: Callable[[Finding, int], str] = never_demoted,
) -> Batch:
    """Convert records to alerts: the latest record of each finding is used, and expired findings are skipped.

    ``demotion`` returns why a finding is demoted to info, or an empty string. Only the alert is demoted: the finding in
    the topic keeps its severity, so the fuse acts as before.
    """
    latest: dict[str, tuple[Record, Finding, Alert]] = {}
    invalid: list[tuple[Record, str]] = []
    replaced = 0
    for record in records:
        try:
            finding = from_json(Finding, record.value)
            alert = alert_of(finding, now_ms, links, first_steps, demotion(finding, now_ms))
        except (RecordError, InvalidFindingError) as error:
            invalid.append((record, str(error)))
            continue
        replaced += alert.finding_id in latest
        latest[alert.finding_id] = (record, finding, alert)
    of_jobs = [entry for entry in latest.values() if entry[1].job_key != CANARY_JOB]
    current = [entry for entry in of_jobs if not expired(entry[1], now_ms)]
    return Batch(
        alerts=tuple(alert for _, _, alert in current),
        records={alert.finding_id: record for record, _, alert in current},
        evidence_ms=tuple(finding.evidence_ms for _, finding, _ in current if _measures_delay(finding)),
        invalid=tuple(invalid),
        replaced=replaced,
        expired=len(of_jobs) - len(current),
        canary=len(latest) - len(of_jobs),
        demoted=sum("demoted" in alert.annotations for _, _, alert in current),
        critical=tuple(finding for _, finding, alert in current if alert.labels["severity"] == CRITICAL),
    )


class Sender:
    """Reads findings and sends them until it is stopped."""

    def __init__(
        self,
        inbox: Inbox,
        peers: Peers,
        metrics: Metrics,
        stop: threading.Event,
        links: Links,
        feedback: FeedbackFollower,
        budget: PageBudget,
    ) -> None:
        self._inbox = inbox
        self._feedback = feedback
        self._budget = budget
        self._peers = peers
        self._metrics = metrics
        self._stop = stop
        self._links = links
        self._first_steps = {rule.id: first_step(rule.runbook) for rule in load_catalog().values()}
        self._retrying = Retrying(
            retry=retry_if_exception_type((NoPeerAcceptedError, DeadLetterError)),
            wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS),
            stop=stop_after_delay(TRY_SECONDS) | stop_when_event_set(stop),
            sleep=sleep_using_event(stop),
            reraise=True,
        )

    def run(self, clock: Callable[[], int]) -> None:
        """Send findings until the stop event is set; ``clock`` returns milliseconds since 1970-01-01 UTC."""
        while not self._stop.is_set():
            self._feedback.poll()
            records = self._inbox.poll(POLL_SECONDS)
            if records:
                self._process(records, clock)

    def _process(self, records: Sequence[Record], clock: Callable[[], int]) -> None:
        try:
            batch = self._retrying(self._send, records, clock)
        except (NoPeerAcceptedError, DeadLetterError) as error:
            log.warning("%d findings are waiting: %s", len(records), error)
            self._inbox.rewind()
            return
        self._inbox.commit()
        self._metrics.outcome("replaced", batch.replaced)
        self._metrics.outcome("expired", batch.expired)
        self._metrics.outcome("canary", batch.canary)
        self._metrics.demoted(batch.demoted)

    def _send(self, records: Sequence[Record], clock: Callable[[], int]) -> Batch:
        now_ms = clock()
        demotion = self._feedback.verdicts.demotion
        batch = make_batch(records, now_ms, self._links, self._first_steps, demotion)
        alerts = self._within_budget(batch, now_ms)
        rejected = self._peers.send(alerts, now_ms) if alerts else []
        invalid = [*batch.invalid, *_records_of(rejected, batch)]
        if invalid:
            self._inbox.write_dead_letters(invalid)
        self._metrics.outcome("sent", len(batch.alerts) - len(rejected))
        self._metrics.outcome("refused", len(invalid))
        for evidence_ms in batch.evidence_ms:
            self._metrics.delay((clock() - evidence_ms) / 1000)
        return batch

    def _within_budget(self, batch: Batch, now_ms: int) -> list[Alert]:
        """Return the alerts, those beyond the budget as warnings, with an alert for each team that lists them."""
        self._budget.decide(batch.critical)
        reasons = {each.finding_id: reason for each in batch.critical if (reason := self._budget.reason(each))}
        held = [each for each in batch.critical if each.finding_id in reasons and each.state == "firing"]
        return [*held_back(batch.alerts, reasons), *digests(held, self._budget.decisions, now_ms, self._links)]


def _measures_delay(finding: Finding) -> bool:
    return finding.state == "firing" and finding.HasField("evidence_ms")


def _records_of(rejected: Iterable[RejectedAlert], batch: Batch) -> list[tuple[Record, str]]:
    # An alert that lists findings has no record of its own.
    of_findings = (each for each in rejected if each.finding_id in batch.records)
    return [(batch.records[each.finding_id], each.reason) for each in of_findings]


def main() -> int:
    """Run until SIGTERM or Ctrl-C.

    Return 2 for an invalid setting, and 3 for an unavailable broker, topic or port.
    """
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s", stream=sys.stderr)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    try:
        settings = Settings.from_environment()
        return _serve(settings, stop)
    except SettingError as error:
        print(error, file=sys.stderr)
        return 2
    except (KafkaUnavailableError, MetricsPortError) as error:
        print(error, file=sys.stderr)
        return 3


def _serve(settings: Settings, stop: threading.Event) -> int:
    metrics = Metrics()
    inbox = Inbox(settings, metrics)
    peers = Peers(settings.alertmanager_urls, metrics)
    feedback = budget = None
    try:
        serve_metrics(settings)
        log.info("sending the findings of %s to %s", inbox.topic, ", ".join(peers.names))
        links = Links(settings.console_url, settings.dashboard_url)
        feedback = FeedbackFollower(settings)
        budget = PageBudget(settings, metrics)
        Sender(inbox, peers, metrics, stop, links, feedback, budget).run(lambda: time.time_ns() // 1_000_000)
    finally:
        for follower in (feedback, budget):
            if follower is not None:
                follower.close()
        inbox.close()
        peers.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
