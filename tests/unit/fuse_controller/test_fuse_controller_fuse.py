from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sparkfuse_contracts.generated.action_pb2 import Action
from sparkfuse_native_analytics.fuse_controller.fuse import Fuse, State, Times, advance, blow, ready
from sparkfuse_native_analytics.fuse_controller.fuse_registry import FuseRegistry
from sparkfuse_native_analytics.fuse_controller.rule_match import Run
from sparkfuse_native_analytics.fuse_controller.safeguards import HOUR_MS, Budget

TIMES = Times(cool_down_ms=100, quiet_ms=50)
CLOSED, OPEN, HALF_OPEN = State.CLOSED, State.OPEN, State.HALF_OPEN


@pytest.mark.parametrize(
    ("state", "matches", "after_ms", "expected", "may_blow"),
    [
        (CLOSED, False, 1_000, CLOSED, True),
        (CLOSED, True, 1_000, CLOSED, True),
        (OPEN, False, 99, OPEN, False),
        (OPEN, True, 99, OPEN, False),
        (OPEN, False, 100, HALF_OPEN, True),
        (OPEN, True, 100, HALF_OPEN, True),
        (HALF_OPEN, False, 49, HALF_OPEN, True),
        (HALF_OPEN, False, 50, CLOSED, True),
        (HALF_OPEN, True, 50, HALF_OPEN, True),
    ],
)
def test_each_state_transition(state, matches, after_ms, expected, may_blow):
    """State, match and elapsed time determine the next state, and whether a match may open the fuse."""
    fuse = advance(Fuse(state, since_ms=0, matched_ms=0), matches, after_ms, TIMES)

    assert fuse.state is expected
    assert ready(fuse) is may_blow


def test_quiet_period_starts_at_last_match():
    """A half-open fuse closes a quiet period after the last match, not after the state change."""
    fuse = advance(Fuse(HALF_OPEN, since_ms=0), True, 40, TIMES)

    assert advance(fuse, False, 60, TIMES).state is HALF_OPEN
    assert advance(fuse, False, 90, TIMES).state is CLOSED


class FuseMachine(RuleBasedStateMachine):
    """Advances the time and opens the fuse in any order."""

    def __init__(self):
        super().__init__()
        self.fuse, self.now_ms, self.blown_ms = Fuse(), 0, []

    @rule(step_ms=st.integers(min_value=0, max_value=120), matches=st.booleans())
    def advance_time(self, step_ms, matches):
        """Advance the time, with or without a match."""
        self.now_ms += step_ms
        self.fuse = advance(self.fuse, matches, self.now_ms, TIMES)

    @precondition(lambda self: ready(self.fuse))
    @rule()
    def act(self):
        """Open the fuse if it is ready."""
        self.fuse = blow(self.fuse, self.now_ms)
        self.blown_ms.append(self.now_ms)

    @invariant()
    def two_acts_are_a_cool_down_apart(self):
        """Two acts are at least one cool-down apart, whatever happens between them."""
        pairs = zip(self.blown_ms, self.blown_ms[1:], strict=False)

        assert all(later - earlier >= TIMES.cool_down_ms for earlier, later in pairs)


TestFuseMachine = FuseMachine.TestCase
TestFuseMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


def act(number, at_ms, job="orders", tenant="", mode="act", outcome="would_act", app="app-1", generation=0):
    return Action(
        action_id=f"action-{number}", actor="controller", cluster="prod", app_id=app, app_attempt=0, app_start_ms=5,
        rule="stage_runaway_spill", mode=mode, outcome=outcome, at_ms=at_ms,
        observed={"job_key": job, "tenant": tenant, "generation": str(generation)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        pytest.param([], None, id="nothing spent"),
        pytest.param([act(1, 0), act(2, 0)], "job_per_hour", id="job"),
        pytest.param([act(1, 0, job="a"), act(2, 0, job="b"), act(3, 0, job="c")], "tenant_per_hour", id="tenant"),
        pytest.param([act(n, 0, job=f"j{n}", tenant=f"t{n}") for n in range(4)], "global_per_hour", id="global"),
        pytest.param([act(1, 0), act(1, 0)], None, id="the same act read twice"),
        pytest.param([act(1, 0, mode="shadow"), act(2, 0, mode="shadow")], None, id="acts of shadow mode"),
        pytest.param([act(1, 0, outcome="held"), act(2, 0, outcome="sent")], None, id="other outcomes"),
        pytest.param([act(1, -HOUR_MS), act(2, -HOUR_MS)], None, id="more than an hour ago"),
    ],
)
def test_budgets_cover_last_hour(acts, expected):
    """Acts count per job, per tenant and in total; reading the audit log again counts each act once."""
    fuses = FuseRegistry()
    for each in acts:
        fuses.record(each)
    spent = fuses.over_budget("orders", "", False, 1, Budget(job_per_hour=2, tenant_per_hour=3, global_per_hour=4))

    assert spent is None if expected is None else expected in spent


def test_restart_restores_open_fuse_and_generation():
    """State is rebuilt from the audit log, so a restarted controller does not act twice."""
    fuses = FuseRegistry()
    fuses.record(act(1, 1_000, generation=70_000))
    run = Run("prod", "app-1", 0, 5)

    assert fuses.advance(run, "stage_runaway_spill", True, 1_050, TIMES).state is OPEN
    assert fuses.next_generation("app-1", 2_000) == 70_001
    assert fuses.next_generation("app-2", 2_000) == 2_000
