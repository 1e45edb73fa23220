"""Collects the output of the pipeline: notifications from the webhook, findings and steps of the fuse from Kafka."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

from confluent_kafka import Consumer

from sparkfuse_alertmanager.receiver import WEBHOOK, Delivery, Receiver
from sparkfuse_contracts.generated import audit_record_pb2, finding_pb2, receipt_pb2
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.topics import topic_name
from sparkfuse_contracts.wire import from_json

POLL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Page:
    """A notification that the webhook received about one finding.

    Attributes:
        rule: id of the rule; for an alert about the pipeline itself, the name of the alert.
        job: job key of the finding.
        severity: severity of the alert.
        status: firing or resolved.
        arrived_ms: time at which the webhook received the notification, by this machine's clock.
        text: description of the alert.
    """

    rule: str
    job: str
    severity: str
    status: str
    arrived_ms: int
    text: str


def pages(delivery: Delivery) -> list[Page]:
    """Return the notifications in one delivery that has Alertmanager's webhook format, version 4."""
    return [_page(alert, delivery.received_ms) for alert in delivery.payload.get("alerts", [])]


def _page(alert: dict[str, Any], arrived_ms: int) -> Page:
    labels, annotations = alert.get("labels", {}), alert.get("annotations", {})
    # Alerts about the pipeline can have the label `rule` too: the rule whose act they are about.
    rule = labels.get("rule") if labels.get("finding_id") else None
    return Page(
        rule=rule or labels.get("alertname", ""),
        job=labels.get("job_key", ""),
        severity=labels.get("severity", "") or annotations.get("severity", ""),
        status=alert.get("status", ""),
        arrived_ms=arrived_ms,
        text=annotations.get("description", ""),
    )


# The names of the steps that belong to an act: first the steps of the fuse controller, then the steps of the hook.
OF_CONTROLLER = ("held", "over_budget", "sent", "verified")
OF_HOOK = ("requested", "ended", "unfreed", "disagrees", "blind", "refused")
SHOWN_STEPS = (*OF_CONTROLLER, *OF_HOOK)


@dataclasses.dataclass(frozen=True)
class FuseStep:
    """One step of the fuse controller or of a hook."""

    actor: str
    step: str
    action: str
    reason: str
    app_id: str


class EventCollector:
    """Collects notifications, findings and steps of the fuse; call `poll` often.

    Args:
        receiver: the webhook.
        settings: the broker's address, and the prefix of the topics.
    """

    def __init__(self, receiver: Receiver, settings: Settings) -> None:
        prefix = settings.topic_prefix
        self._receiver = receiver
        self._last_delivery = -1
        self._findings_topic = topic_name("findings", prefix)
        self._audit_topic = topic_name("audit", prefix)
        self._receipts_topic = topic_name("receipts", prefix)
        own = {
            "group.id": f"{prefix}.reader.{uuid.uuid4()}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,
        }
        self._consumer = Consumer(client_configuration(settings, own))
        self._consumer.subscribe([self._findings_topic, self._audit_topic, self._receipts_topic])
        self.pages: list[Page] = []
        self.steps: list[FuseStep] = []
        self.evidence_ms: dict[tuple[str, str], int] = {}

    def poll(self) -> list[Page | FuseStep]:
        """Return the notifications and steps that arrived since the last call, oldest first within each source."""
        self._read_topics()
        new_pages = self._read_webhook()
        new_steps = self.steps[len(self.steps) - self._new_steps :] if self._new_steps else []
        self.pages.extend(new_pages)
        return [*new_pages, *new_steps]

    def _read_topics(self) -> None:
        self._new_steps = 0
        for message in self._consumer.consume(500, POLL_SECONDS):
            value = message.value()
            if message.error() or value is None:
                continue
            if message.topic() == self._findings_topic:
                self._record_finding(from_json(finding_pb2.Finding, value))
            else:
                self._record_step(message.topic() == self._audit_topic, value)

    def _record_step(self, is_audit: bool, value: bytes) -> None:
        """Store a step if the step belongs to an act; probes and scores of healthy stages are not shown."""
        if is_audit:
            record = from_json(audit_record_pb2.AuditRecord, value)
            step = FuseStep(record.actor, record.step, record.action, record.reason, record.app_id)
        else:
            receipt = from_json(receipt_pb2.Receipt, value)
            step = FuseStep("hook", receipt.outcome, receipt.action, receipt.reason, receipt.app_id)
        if step.step in SHOWN_STEPS:
            self.steps.append(step)
            self._new_steps += 1

    def _record_finding(self, finding: finding_pb2.Finding) -> None:
        if finding.state == "firing":
            self.evidence_ms.setdefault((finding.rule, finding.job_key), finding.evidence_ms)

    def _read_webhook(self) -> list[Page]:
        found: list[Page] = []
        for delivery in self._receiver.after(self._last_delivery):
            self._last_delivery = delivery.number
            if delivery.path == WEBHOOK:
                found += pages(delivery)
        return found

    def seconds_to_page(self, page: Page) -> float | None:
        """Return the seconds from the end of the evidence's window until the webhook received the notification.

        The result is None if the notification has no finding.
        """
        evidence = self.evidence_ms.get((page.rule, page.job))
        return None if evidence is None else (page.arrived_ms - evidence) / 1000

    def close(self) -> None:
        """Close the consumer."""
        self._consumer.close()
