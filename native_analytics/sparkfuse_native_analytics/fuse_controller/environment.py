"""The interface of the controller to the clock, Kafka and Alertmanager.

The simulation in the tests also implements it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sparkfuse_contracts.generated.signal_pb2 import Signal
from sparkfuse_contracts.generated.signed_message_pb2 import SignedMessage
from sparkfuse_native_analytics.fuse_controller.gates import Health
from sparkfuse_native_analytics.fuse_controller.silences import Silence


class Environment(Protocol):
    """The clock, Kafka and Alertmanager as the controller uses them."""

    def now_ms(self) -> int:
        """Return the time in ms since the epoch."""

    def refresh(self) -> None:
        """Read the records that have arrived, so that an act uses the latest rows."""

    def health(self) -> Health:
        """Return whether all partitions were read to their end, and how far the local clock differs from Kafka's."""

    def silences(self) -> Sequence[Silence]:
        """Return the active silences. Raises SilencesUnknownError."""

    def write(self, audit: Sequence[tuple[str, bytes]], signals: Sequence[tuple[Signal, SignedMessage]]) -> int | None:
        """Write audit records (key and content) and signals in one transaction; return the broker's time of the last.

        The result is None if the broker's time is not known.
        Raises OSError if nothing was written. Raises FencedError if another controller has taken over, or if it is
        unknown whether the transaction was committed; the process must then end.
        """


class FencedError(RuntimeError):
    """The process must end: another controller has taken over, or it is unknown whether the last step was written."""
