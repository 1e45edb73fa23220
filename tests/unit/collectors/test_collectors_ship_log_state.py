"""The states of a followed log and the transitions between them."""

from __future__ import annotations

import pytest

from sparkfuse_collectors.ship.log_state import STORED_NAMES, LogEvent, LogState, next_state, restored_state


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([LogEvent.ENDED], LogState.SHIPPED, id="live log ends"),
        pytest.param([LogEvent.PLUGIN_FOUND, LogEvent.ENDED], LogState.HISTORY_DUE, id="watched log ends"),
        pytest.param([LogEvent.FOUND_ENDED, LogEvent.HISTORY_SENT], LogState.RECORDED, id="only history"),
        pytest.param([LogEvent.ENDED, LogEvent.GREW], LogState.LIVE, id="shipped log grows"),
        pytest.param(
            [LogEvent.FOUND_ENDED, LogEvent.HISTORY_SENT, LogEvent.GREW], LogState.WATCHED, id="recorded log grows"
        ),
        pytest.param([LogEvent.REFUSED, LogEvent.FILE_REPLACED], LogState.LIVE, id="quarantined log is replaced"),
        pytest.param([LogEvent.PLUGIN_FOUND, LogEvent.RESET], LogState.LIVE, id="another application"),
    ],
)
def test_transitions(events: list[LogEvent], expected: LogState) -> None:
    """Each sequence of events leads from a live log to the expected state."""
    state = LogState.LIVE
    for event in events:
        state = next_state(state, event)

    assert state is expected


def test_impossible_transition_is_an_error() -> None:
    """The history of a live log cannot be sent."""
    with pytest.raises(ValueError, match="LIVE cannot be HISTORY_SENT"):
        next_state(LogState.LIVE, LogEvent.HISTORY_SENT)


@pytest.mark.parametrize("name", STORED_NAMES)
@pytest.mark.parametrize("has_sent_facts", [False, True])
def test_stored_state_survives_a_restart(name: str, *, has_sent_facts: bool) -> None:
    """A restored state is stored under the same name."""
    assert restored_state(name, has_sent_facts=has_sent_facts).stored_name == name


def test_unknown_stored_state_is_live() -> None:
    """A position without a state belongs to a log that was read."""
    assert restored_state("", has_sent_facts=True) is LogState.LIVE
