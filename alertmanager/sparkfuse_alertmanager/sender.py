"""The sender: findings from Kafka to every Alertmanager peer, effectively once for people.

It keeps no state. Detection says each firing finding again every minute and a resolved one for five, Alertmanager
merges alerts of the same labels, and offsets are committed only after a peer has taken the batch; so a crash at any
point repeats a post, which nobody sees, and loses nothing.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from prometheus_client import start_http_server
from tenacity import Retrying, retry_if_exception_type, stop_after_delay, stop_when_event_set, wait_random_exponential
from tenacity.nap import sleep_using_event

from sparkfuse_alertmanager.alert import Alert, FindingRefused, alert_of, expired
from sparkfuse_alertmanager.inbox import BrokerMissing, Inbox, LettersKept, Record
from sparkfuse_alertmanager.metrics import Metrics
from sparkfuse_alertmanager.peers import NobodyAccepted, Peers, Refusal
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.settings import SettingError, Settings
from sparkfuse_contracts.wire import RecordError, from_json

log = logging.getLogger(__name__)
TAKE_SECONDS = 0.5
# A batch is tried this long, then taken from Kafka anew: newer findings replace older ones, and what is told too late
# is passed over, so that a long absence of Alertmanager ends with what is true then.
TRY_SECONDS = 30.0
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.2, 5.0


@dataclass(frozen=True)
class Batch:
    """What to tell of some records: the last word on each finding, and the records that are none."""

    alerts: tuple[Alert, ...]
    records: dict[str, Record]
    evidence_ms: tuple[int, ...]
    refused: tuple[tuple[Record, str], ...]
    replaced: int
    expired: int


def sort_out(records: Iterable[Record], now_ms: int, dashboard_url: str) -> Batch:
    """Make alerts of records: a later record of a finding replaces an earlier one, and old ones are passed over."""
    latest: dict[str, tuple[Record, Finding, Alert]] = {}
    refused: list[tuple[Record, str]] = []
    replaced = 0
    for record in records:
        try:
            finding = from_json(Finding, record.value)
            alert = alert_of(finding, now_ms, dashboard_url)
        except (RecordError, FindingRefused) as error:
            refused.append((record, str(error)))
            continue
        replaced += alert.finding_id in latest
        latest[alert.finding_id] = (record, finding, alert)
    told = [entry for entry in latest.values() if not expired(entry[1], now_ms)]
    return Batch(
        alerts=tuple(alert for _, _, alert in told),
        records={alert.finding_id: record for record, _, alert in told},
        evidence_ms=tuple(finding.evidence_ms for _, finding, _ in told if _measures_delay(finding)),
        refused=tuple(refused),
        replaced=replaced,
        expired=len(latest) - len(told),
    )


class Sender:
    """Takes findings and tells them until it is stopped."""

    def __init__(self, inbox: Inbox, peers: Peers, metrics: Metrics, stop: threading.Event, dashboard_url: str) -> None:
        self._inbox = inbox
        self._peers = peers
        self._metrics = metrics
        self._stop = stop
        self._dashboard_url = dashboard_url
        self._retrying = Retrying(
            retry=retry_if_exception_type((NobodyAccepted, LettersKept)),
            wait=wait_random_exponential(multiplier=FIRST_WAIT_SECONDS, max=LONGEST_WAIT_SECONDS),
            stop=stop_after_delay(TRY_SECONDS) | stop_when_event_set(stop),
            sleep=sleep_using_event(stop),
            reraise=True,
        )

    def run(self, clock: Callable[[], int]) -> None:
        """Tell findings until the stop is asked for; ``clock`` gives milliseconds since 1970-01-01 UTC."""
        while not self._stop.is_set():
            records = self._inbox.take(TAKE_SECONDS)
            if records:
                self._deal_with(records, clock)

    def _deal_with(self, records: Sequence[Record], clock: Callable[[], int]) -> None:
        try:
            batch = self._retrying(self._tell, records, clock)
        except (NobodyAccepted, LettersKept) as error:
            log.warning("%d findings wait: %s", len(records), error)
            self._inbox.again()
            return
        self._inbox.done()
        self._metrics.outcome("replaced", batch.replaced)
        self._metrics.outcome("expired", batch.expired)

    def _tell(self, records: Sequence[Record], clock: Callable[[], int]) -> Batch:
        now_ms = clock()
        batch = sort_out(records, now_ms, self._dashboard_url)
        refusals = self._peers.tell(batch.alerts, now_ms) if batch.alerts else []
        refused = [*batch.refused, *_records_of(refusals, batch)]
        if refused:
            self._inbox.set_aside(refused)
        self._metrics.outcome("sent", len(batch.alerts) - len(refusals))
        self._metrics.outcome("refused", len(refused))
        for evidence_ms in batch.evidence_ms:
            self._metrics.delay((clock() - evidence_ms) / 1000)
        return batch


def _measures_delay(finding: Finding) -> bool:
    return finding.state == "firing" and finding.HasField("evidence_ms")


def _records_of(refusals: Iterable[Refusal], batch: Batch) -> list[tuple[Record, str]]:
    return [(batch.records[refusal.finding_id], refusal.reason) for refusal in refusals]


def main() -> int:
    """Run until SIGTERM or Ctrl-C. Gives the exit code: 2 for settings, 3 for a broker or a port that is missing."""
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
    except BrokerMissing as error:
        print(error, file=sys.stderr)
        return 3


def _serve(settings: Settings, stop: threading.Event) -> int:
    metrics = Metrics()
    inbox = Inbox(settings, metrics)
    peers = Peers(settings.alertmanager_urls, metrics)
    try:
        if settings.metrics_port and not _metrics_served(settings.metrics_port, settings.metrics_address):
            return 3
        log.info("telling the findings of %s to %s", inbox.topic, ", ".join(peers.names))
        Sender(inbox, peers, metrics, stop, settings.dashboard_url).run(lambda: time.time_ns() // 1_000_000)
    finally:
        inbox.close()
        peers.close()
    return 0


def _metrics_served(port: int, address: str) -> bool:
    try:
        start_http_server(port, addr=address)
    except OSError as error:
        print(f"SPARKFUSE_METRICS_PORT={port} cannot be used: {error.strerror}", file=sys.stderr)
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
