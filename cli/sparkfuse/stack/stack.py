"""The whole embedded stack, from the broker to the notifications."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Iterator, Mapping, Sequence

from sparkfuse.paths import FLINK_LIBRARIES, KAFKA_LIBRARIES, require
from sparkfuse.stack import outputs, services
from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout
from sparkfuse.stack.lock import only_one
from sparkfuse.stack.supervisor import Report, Supervisor
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.settings import Settings


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore a second Ctrl-C while processes are being stopped."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def running(
    layout: Layout,
    report: Report,
    webhook_url: str,
    more: Mapping[str, str] | None = None,
    ships: Sequence[str] = (),
    actuator: services.ExternalActuator | None = None,
) -> Iterator[Supervisor]:
    """Start all services, yield the supervisor, and stop all services when the block ends.

    Args:
        layout: files and ports.
        report: called for every start, restart and exit.
        webhook_url: address to which Alertmanager posts notifications.
        more: additional environment variables of our processes.
        ships: folders of event logs that a shipper follows.
        actuator: the external actuator to run, or None.

    Raises:
        StartError: a service cannot start; the services that had started are stopped.
    """
    with only_one(layout.home):
        shutil.rmtree(layout.requests, ignore_errors=True)
        supervisor = Supervisor(layout.logs, report, layout.requests)
        try:
            _start(layout, supervisor, webhook_url, more or {}, ships, actuator)
            layout.write_addresses()
            yield supervisor
        finally:
            with uninterrupted():
                layout.address_file.unlink(missing_ok=True)
                supervisor.stop()


def _start(
    layout: Layout,
    supervisor: Supervisor,
    webhook_url: str,
    more: Mapping[str, str],
    ships: Sequence[str],
    actuator: services.ExternalActuator | None,
) -> None:
    settings = Settings.from_environment({**os.environ, **layout.environment(), **more})
    signing = outputs.signing_keys(layout)
    first = [services.store(layout)] if layout.own_store else []
    last = services.components(layout, {"SPARKFUSE_FLINK_LIBS": str(require(FLINK_LIBRARIES)), **signing, **more})
    if layout.own_alertmanager:
        first.append(outputs.alertmanager(layout, webhook_url))
    if layout.own_kafka:
        first.insert(0, Broker(layout, KAFKA_LIBRARIES).service())
    supervisor.start(*first)
    ensure_topics(settings)
    supervisor.start(*last)
    supervisor.start(services.console(layout, more))
    if ships:  # the shipper starts after the services that receive its facts
        supervisor.start(services.shipper(layout, ships, more))
    if actuator:
        supervisor.start(services.external_actuator(layout, actuator, {**signing, **more}))
    supervisor.start(
        outputs.prometheus(layout, ships=bool(ships), actuator=actuator is not None)
    )  # Prometheus starts last, so that it does not alert about processes that are starting
