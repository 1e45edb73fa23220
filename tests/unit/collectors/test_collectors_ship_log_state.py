"""Tests the states of a followed log and the transitions between these states."""

from __future__ import annotations

import pytest

from sparkfuse_collectors.ship.log_state import (
    FINISHED,
    READING,
    STORED_NAMES,
    UNFINISHED,
    LogEvent,
    LogState,
    next_state,
    restored_state,
)

STATES = tuple(LogState)
L, W, D, S, R, Q = STATES
NEXT_STATES: dict[LogEvent, tuple[LogState | None, ...]] = {
    # One column for each state before the event, in the order of LogState; None marks an event that cannot occur.
    LogEvent.PLUGIN_FOUND: (W, None, None, None, None, None),
    LogEvent.ENDED: (S, D, None, None, None, None),
    LogEvent.FOUND_ENDED: (D, None, None, None, None, None),
    LogEvent.HISTORY_SENT: (None, None, R, None, None, None),
    LogEvent.GREW: (None, None, None, L, W, None),
    LogEvent.REFUSED: (Q, Q, Q, Q, Q, Q),
    LogEvent.FILE_REPLACED: (L, W, D, S, R, L),
    LogEvent.RESET: (L, L, L, L, L, L),
}
CELLS = [(state, event, NEXT_STATES[event][STATES.index(state)]) for event in LogEvent for state in LogState]


@pytest.mark.parametrize(
    ("state", "event", "expected"), [pytest.param(*cell, id=f"{cell[0].name}-{cell[1].name}") for cell in CELLS]
)
def test_every_event_in_every_state(state: LogState, event: LogEvent, expected: LogState | None) -> None:
    """Each event leads to the expected state, or raises an error if it cannot occur in the current state."""
    if expected is None:
        with pytest.raises(ValueError, match=f"{event.name} is not possible for a log in state {state.name}"):
            next_state(state, event)
    else:
        assert next_state(state, event) is expected


def test_states_are_read_due_finished_or_quarantined() -> None:
    """Each log state is in exactly one group: read, due, finished or quarantined.

    The group decides how the log is handled.
    """
    groups = (READING, {LogState.HISTORY_DUE}, FINISHED, {LogState.QUARANTINED})

    assert {state: sum(state in group for group in groups) for state in LogState} == dict.fromkeys(LogState, 1)
    assert READING | {LogState.HISTORY_DUE} == UNFINISHED


@pytest.mark.parametrize("name", STORED_NAMES)
@pytest.mark.parametrize("has_sent_facts", [False, True])
def test_stored_state_survives_a_restart(name: str, *, has_sent_facts: bool) -> None:
    """A stored log state is restored after a restart, and then stored under the same name."""
    assert restored_state(name, has_sent_facts=has_sent_facts).stored_name == name


def test_unknown_stored_state_is_live() -> None:
    """A stored position without a state belongs to a log that was being read, so its state is live."""
    assert restored_state("", has_sent_facts=True) is LogState.LIVE
