"""`sparkfuse collector off|on`: switch the plugin of one running application off and on, by a signed signal."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home, ask
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_contracts.settings import Settings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError

    from sparkfuse_contracts.generated.receipt_pb2 import Receipt
    from sparkfuse_contracts.generated.signal_pb2 import Signal

SIGNAL_LIFE_MS = 60_000
ANSWER_SECONDS = 10.0
RULE = "collector_switch"
# The default of spark.sparkfuse.cluster.
DEFAULT_CLUSTER = "default"

commands = typer.Typer(help="Switch the plugin of one running application off and on.", no_args_is_help=True)
Key = Annotated[
    Path | None,
    typer.Option("--key", help="Private key that signs the signal (default: the key of the stack in --home)."),
]
Started = Annotated[
    int | None,
    typer.Option("--started-ms", help="Start time of the application in ms since 1970, if no store is available."),
]
Attempt = Annotated[
    int, typer.Option("--attempt", min=0, help="Attempt of the application; only used with --started-ms.")
]
Cluster = Annotated[
    str, typer.Option("--cluster", help="Value of spark.sparkfuse.cluster; only used with --started-ms.")
]
Wait = Annotated[float, typer.Option("--wait", min=0, help="Seconds to wait for the answer of the application.")]


@dataclass(frozen=True)
class Target:
    """One run of one application."""

    app_id: str
    attempt: int
    started_ms: int
    cluster: str


@commands.command()
def off(
    app_id: str, home: Home = DEFAULT_HOME, key: Key = None, started_ms: Started = None, attempt: Attempt = 0,
    cluster: Cluster = DEFAULT_CLUSTER, wait: Wait = ANSWER_SECONDS, as_json: Json = False,
) -> None:  # fmt: skip
    """Make the plugin ignore everything but the end of the application."""
    _switch("collector_off", _target(app_id, home, started_ms, attempt, cluster), home, key, wait, as_json)


@commands.command()
def on(
    app_id: str, home: Home = DEFAULT_HOME, key: Key = None, started_ms: Started = None, attempt: Attempt = 0,
    cluster: Cluster = DEFAULT_CLUSTER, wait: Wait = ANSWER_SECONDS, as_json: Json = False,
) -> None:  # fmt: skip
    """Make the plugin collect again."""
    _switch("collector_on", _target(app_id, home, started_ms, attempt, cluster), home, key, wait, as_json)


def make_switch(action: str, target: Target, now_ms: int) -> Signal:
    """Return the signal; it stops nothing, so it has neither stage nor policy, and its generation is the time."""
    from sparkfuse_contracts.generated.signal_pb2 import Signal

    return Signal(
        signal_id=uuid.uuid4().hex,
        cluster=target.cluster,
        app_id=target.app_id,
        app_attempt=target.attempt,
        app_start_ms=target.started_ms,
        generation=now_ms,
        rule=RULE,
        action=action,
        evidence="requested on the command line",
        issued_ms=now_ms,
        expires_ms=now_ms + SIGNAL_LIFE_MS,
    )


def _target(app_id: str, home: Path, started_ms: int | None, attempt: int, cluster: str) -> Target:
    """Return the run that the options name; without them, the newest run with this id in the store.

    Raises:
        StartError: the store does not answer or has no such run.
    """
    if started_ms is not None:
        return Target(app_id, attempt, started_ms, cluster)
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.run(client, app_id))
    if found is None:
        raise StartError(f"the store has no application {app_id!r}; use --started-ms and --attempt", USAGE)
    return Target(app_id, found.run.app_attempt, found.run.app_start_ms, found.run.cluster or DEFAULT_CLUSTER)


def _switch(action: str, target: Target, home: Path, key: Path | None, wait: float, as_json: bool) -> None:
    from sparkfuse_contracts.wire import to_json
    from sparkfuse_native_analytics.fuse_controller.keys import SWITCH, KeyUnusableError, load_private_key
    from sparkfuse_native_analytics.fuse_controller.signing import sign

    settings = settings_of_stack(home)
    key_file = _key_file(key, home)
    try:
        private = load_private_key(key_file)
    except KeyUnusableError as error:
        raise StartError(str(error), USAGE) from error
    signal = make_switch(action, target, time.time_ns() // 1_000_000)
    answer = _send(settings, signal, to_json(sign(signal, "signals", SWITCH, private)), wait)
    outcome = answer.outcome if answer else "unanswered"
    if as_json:
        print_json({"signal_id": signal.signal_id, "outcome": outcome, "reason": answer.reason if answer else ""})
    elif answer:
        typer.echo(f"{target.app_id}: {outcome}, {answer.reason}")
    if answer is None:
        raise StartError(
            f"{target.app_id} did not answer within {wait:g} s; check that it runs, and that its "
            f"spark.sparkfuse.fuse.publicKeys has a valid entry of purpose {SWITCH} with the public key of {key_file}"
        )
    if outcome != "ended":
        raise typer.Exit(1)


def _key_file(key: Path | None, home: Path) -> Path:
    from sparkfuse_native_analytics.fuse_controller.keys import SWITCH, private_key_file

    return key or private_key_file(home / "keys", SWITCH)


def _send(settings: Settings, signal: Signal, signed: bytes, wait: float) -> Receipt | None:
    """Send the signal and return its receipt; None if none arrived in time."""
    from confluent_kafka import Consumer, KafkaException, TopicPartition

    from sparkfuse_contracts.kafka_clients import client_configuration
    from sparkfuse_contracts.topics import topic_name
    from sparkfuse_native_analytics.topic_records import TopicError, append

    errors: list[KafkaError] = []
    topic = topic_name("receipts", settings.topic_prefix)
    consumer = Consumer(client_configuration(settings, {
        "group.id": f"{settings.topic_prefix}.operator",  # the client requires a group; no offset is ever committed
        "enable.auto.commit": False, "log_level": 0, "error_cb": errors.append,
    }))  # fmt: skip
    try:
        places = [TopicPartition(topic, number) for number in consumer.list_topics(topic, 10).topics[topic].partitions]
        for place in places:
            place.offset = consumer.get_watermark_offsets(place, 10)[1]
        consumer.assign(places)
        append(settings, "signals", signal.app_id, signed)
        return _receipt(consumer, signal.signal_id, wait)
    except (KafkaException, TopicError) as error:
        raise StartError(f"Kafka at {settings.kafka_bootstrap} cannot be used: {error}", MISSING) from error
    finally:
        consumer.close()


def _receipt(consumer: Consumer, signal_id: str, wait: float) -> Receipt | None:
    """Return the application's receipt about the outcome; skip the receipt that only confirms the signal's arrival."""
    from sparkfuse_contracts.generated.receipt_pb2 import Receipt
    from sparkfuse_contracts.wire import from_json

    until = time.monotonic() + wait
    while time.monotonic() < until:
        for message in consumer.consume(100, 0.2):
            if message.error() is None and signal_id.encode() in message.value():
                receipt = from_json(Receipt, message.value())
                if receipt.outcome != "received":
                    return receipt
    return None
