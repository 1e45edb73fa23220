"""How remembered values become the bytes of Flink's state, so that a newer or an older job still reads them.

A field that the reading job does not know is left out, one that the writing job did not know has its default.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Generic, TypeVar

from google.protobuf.message import Message

from sparkfuse_rules.knowledge.hosts import HostProblem
from sparkfuse_stream_jobs.detect.host_news import HostNews
from sparkfuse_stream_jobs.detect.lifecycle import Holding, Unit

Value = TypeVar("Value")
MessageType = TypeVar("MessageType", bound=Message)


@dataclass(frozen=True)
class Codec(Generic[Value]):
    """Both ways between a value and its bytes."""

    encode: Callable[[Value], bytes]
    decode: Callable[[bytes], Value]


def record_codec(record_class: type[Value]) -> Codec[Value]:
    """For a dataclass of plain values."""
    known = frozenset(each.name for each in fields(record_class))  # type: ignore[arg-type]

    def decode(content: bytes) -> Value:
        return record_class(**_known(_plain(content), known))

    # asdict would copy all of it first, which costs ten times the pickling.
    return Codec(lambda value: pickle.dumps(vars(value)), decode)


def message_codec(message_class: type[MessageType]) -> Codec[MessageType]:
    """For a message of the contract."""
    return Codec(lambda message: message.SerializeToString(), message_class.FromString)


def number_codec() -> Codec[int]:
    """For a whole number."""
    return Codec(lambda value: str(value).encode(), int)


def unit_codec() -> Codec[Unit]:
    """For a unit with its holdings."""
    known = frozenset(each.name for each in fields(Holding))

    def decode(content: bytes) -> Unit:
        values = _plain(content)
        holdings = {rule: Holding(**_known(each, known)) for rule, each in values["holdings"].items()}
        return Unit(holdings, tuple(values.get("settled", ())))

    def encode(unit: Unit) -> bytes:
        holdings = {rule: vars(each) for rule, each in unit.holdings.items()}
        return pickle.dumps({"holdings": holdings, "settled": unit.settled})

    return Codec(encode, decode)


def news_codec() -> Codec[HostNews]:
    """For news of hosts, which travel from one step to the next and are not kept."""

    def decode(content: bytes) -> HostNews:
        values = _plain(content)
        troubles = tuple(HostProblem(**each) for each in values.pop("troubles"))
        return HostNews(**values, troubles=troubles)

    def encode(news: HostNews) -> bytes:
        return pickle.dumps({**vars(news), "troubles": [vars(each) for each in news.troubles]})

    return Codec(encode, decode)


def _plain(content: bytes) -> dict[str, Any]:
    # The bytes come from our own state, which nobody else writes.
    values: dict[str, Any] = pickle.loads(content)  # noqa: S301
    return values


def _known(values: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """What the record still has of the values: nearly always all of it."""
    return values if values.keys() <= known else {name: value for name, value in values.items() if name in known}
