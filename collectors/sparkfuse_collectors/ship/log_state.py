"""The states of a followed log, and the table of all transitions between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from types import MappingProxyType


class LogState(Enum):
    """The state of a followed log."""

    LIVE = auto()
    """The shipper sends the facts of the log."""
    WATCHED = auto()
    """The plugin sends the facts of the application; the shipper reads the log only to detect its end."""
    HISTORY_DUE = auto()
    """The log has ended, and its history has not been sent yet."""
    SHIPPED = auto()
    """All facts of the log were sent."""
    RECORDED = auto()
    """The history of the log was sent, but none of its facts."""
    QUARANTINED = auto()
    """The log cannot be read; a dead letter contains the reason."""

    @property
    def stored_name(self) -> str:
        """The name of the state in positions and metrics (position.proto)."""
        return _STORED_NAMES[self]


class LogEvent(Enum):
    """An event that changes the state of a log."""

    PLUGIN_FOUND = auto()
    """The configuration of the application contains the plugin."""
    ENDED = auto()
    """The last event of the log was read, or the log counts as abandoned."""
    FOUND_ENDED = auto()
    """The log had already ended when the shipper first saw it."""
    HISTORY_SENT = auto()
    """The rows of the log's history were sent."""
    GREW = auto()
    """The log contains new events although it counted as ended."""
    REFUSED = auto()
    """The content of the log cannot be translated."""
    FILE_REPLACED = auto()
    """Another file is at the path of the log."""
    RESET = auto()
    """The log is read from its beginning: it belongs to another application, or it was never read."""


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
"""The states of a log whose facts or history are not completely sent."""
FINISHED = frozenset({LogState.SHIPPED, LogState.RECORDED})
"""The states of a log that ended and was sent."""


def next_state(state: LogState, event: LogEvent) -> LogState:
    """Return the state after an event. Raises ValueError if the table has no such transition."""
    try:
        return TRANSITIONS[state, event]
    except KeyError:
        raise ValueError(f"the event {event.name} is not possible for a log in state {state.name}") from None


def restored_state(stored_name: str, *, has_sent_facts: bool) -> LogState:
    """Return the state of a log after a restart, from the name in its position."""
    if stored_name == "done":
        return LogState.SHIPPED if has_sent_facts else LogState.RECORDED
    by_name = {"watched": LogState.WATCHED, "quarantined": LogState.QUARANTINED}
    return by_name.get(stored_name, LogState.LIVE)
