"""The states of a followed log, and the table of all transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType


class LogState(Enum):
    """What the shipper does with a log."""

    LIVE = auto()
    """Its facts are sent."""
    WATCHED = auto()
    """The plugin sends its facts; the shipper reads it to learn when it ends."""
    HISTORY_DUE = auto()
    """It has ended, and its history was not sent yet."""
    SHIPPED = auto()
    """All its facts were sent."""
    RECORDED = auto()
    """Its history was sent, and none of its facts."""
    QUARANTINED = auto()
    """It cannot be read; its dead letter contains the reason."""

    @property
    def stored_name(self) -> str:
        """The name of the state in positions and metrics (position.proto)."""
        return _STORED_NAMES[self]


class LogEvent(Enum):
    """What changes the state of a log."""

    PLUGIN_FOUND = auto()
    """Its configuration contains the plugin."""
    ENDED = auto()
    """Its last event was read, or it counts as abandoned."""
    FOUND_ENDED = auto()
    """It had ended before the shipper saw it for the first time."""
    HISTORY_SENT = auto()
    """The rows of its history were sent."""
    GREW = auto()
    """It contains new events although it counted as ended."""
    REFUSED = auto()
    """Its content cannot be translated."""
    FILE_REPLACED = auto()
    """Another file has its path."""
    RESET = auto()
    """It is read from its beginning: it belongs to another application, or it was never read."""


_STORED_NAMES: Mapping[LogState, str] = MappingProxyType(
    {
        LogState.LIVE: "live",
        LogState.WATCHED: "watched",
        LogState.HISTORY_DUE: "watched",
        LogState.SHIPPED: "done",
        LogState.RECORDED: "done",
        LogState.QUARANTINED: "quarantined",
    }
)
STORED_NAMES = tuple(dict.fromkeys(_STORED_NAMES.values()))
"""Every name that a position may contain."""

TRANSITIONS: Mapping[tuple[LogState, LogEvent], LogState] = MappingProxyType(
    {
        (LogState.LIVE, LogEvent.PLUGIN_FOUND): LogState.WATCHED,
        (LogState.LIVE, LogEvent.ENDED): LogState.SHIPPED,
        (LogState.LIVE, LogEvent.FOUND_ENDED): LogState.HISTORY_DUE,
        (LogState.WATCHED, LogEvent.ENDED): LogState.HISTORY_DUE,
        (LogState.HISTORY_DUE, LogEvent.HISTORY_SENT): LogState.RECORDED,
        (LogState.SHIPPED, LogEvent.GREW): LogState.LIVE,
        (LogState.RECORDED, LogEvent.GREW): LogState.WATCHED,
        (LogState.QUARANTINED, LogEvent.FILE_REPLACED): LogState.LIVE,
        **{(state, LogEvent.FILE_REPLACED): state for state in LogState if state is not LogState.QUARANTINED},
        **{(state, LogEvent.REFUSED): LogState.QUARANTINED for state in LogState},
        **{(state, LogEvent.RESET): LogState.LIVE for state in LogState},
    }
)

READING = frozenset({LogState.LIVE, LogState.WATCHED})
"""The states in which new events are read."""
UNFINISHED = READING | {LogState.HISTORY_DUE}
"""The states in which something of the log is still to be sent."""
FINISHED = frozenset({LogState.SHIPPED, LogState.RECORDED})
"""The states of a log that ended and was sent."""


def next_state(state: LogState, event: LogEvent) -> LogState:
    """Return the state after an event. Raises ValueError if the table has no such transition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"a log that is {state.name} cannot be {event.name}") from None


def restored_state(stored_name: str, *, has_sent_facts: bool) -> LogState:
    """Return the state of a log after a restart, from the name in its position."""
    if stored_name == "done":
        return LogState.SHIPPED if has_sent_facts else LogState.RECORDED
    by_name = {"watched": LogState.WATCHED, "quarantined": LogState.QUARANTINED}
    return by_name.get(stored_name, LogState.LIVE)
