"""The metrics of the sender, with the names of the contract."""

from __future__ import annotations

from prometheus_client import REGISTRY, CollectorRegistry, Counter, Gauge, Histogram

from sparkfuse_contracts import metric_names

COMPONENT, TOPIC = "sender", "findings"
# The outcomes of a finding. The series of each outcome exists from the start, so that its first increment is visible.
OUTCOMES = ("sent", "replaced", "expired", "refused", "canary")
PAGE_OUTCOMES = ("paged", "held_back")
# The buckets of the delay histogram. The target for the delay from the end of the window to the webhook is ten seconds.
DELAY_SECONDS = (0.25, 0.5, 1, 2, 5, 10, 30, 60, 120, 240)


class Metrics:
    """The counters, gauges and the delay histogram of one sender."""

    def __init__(self, registry: CollectorRegistry = REGISTRY) -> None:
        def counter(named: metric_names.Metric) -> Counter:
            return Counter(named.name, named.help, named.labels, registry=registry)

        self._records = counter(metric_names.RECORDS_READ).labels(COMPONENT, TOPIC)
        self._dead_letters = counter(metric_names.DEAD_LETTERS).labels(COMPONENT, TOPIC)
        self._kafka_errors = counter(metric_names.KAFKA_ERRORS).labels(COMPONENT)
        self._outcomes = counter(metric_names.ALERTS_SENT)
        self._requests = counter(metric_names.ALERTMANAGER_REQUESTS)
        demoted = metric_names.ALERTS_DEMOTED
        self._demoted = Counter(demoted.name, demoted.help, registry=registry)
        self._pages = counter(metric_names.PAGES)
        for outcome in PAGE_OUTCOMES:
            self._pages.labels(outcome)
        up, delay = metric_names.ALERTMANAGER_UP, metric_names.ALERT_DELAY
        self._up = Gauge(up.name, up.help, up.labels, registry=registry)
        self._delay = Histogram(delay.name, delay.help, buckets=DELAY_SECONDS, registry=registry)
        for outcome in OUTCOMES:
            self._outcomes.labels(outcome)

    def read(self, records: int) -> None:
        """Count records read from Kafka."""
        self._records.inc(records)

    def dead_letters(self, records: int) -> None:
        """Count records written to the dead letters."""
        self._dead_letters.inc(records)

    def kafka_error(self) -> None:
        """Count an error of the Kafka client."""
        self._kafka_errors.inc()

    def outcome(self, name: str, findings: int = 1) -> None:
        """Count findings with one outcome of OUTCOMES."""
        self._outcomes.labels(name).inc(findings)

    def demoted(self, findings: int) -> None:
        """Count findings that were sent as info because people judge too few findings of their rule as useful."""
        self._demoted.inc(findings)

    def page(self, outcome: str) -> None:
        """Count a critical finding with one outcome of PAGE_OUTCOMES, when it is decided."""
        self._pages.labels(outcome).inc()

    def requested(self, peer: str, code: str) -> None:
        """Count a request to a peer by its HTTP status, or as ``failed`` if the peer did not answer."""
        self._requests.labels(peer, code).inc()

    def peer_up(self, peer: str, *, up: bool) -> None:
        """Set whether a peer accepted the last alerts."""
        self._up.labels(peer).set(up)

    def delay(self, seconds: float) -> None:
        """Record the time from the end of the evidence's window until a peer accepted the alert, in seconds."""
        self._delay.observe(max(0.0, seconds))
