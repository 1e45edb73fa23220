from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sparkfuse_contracts.generated.audit_record_pb2 import AuditRecord
from sparkfuse_native_analytics.fuse_controller.act_registry import Act, ActRegistry
from sparkfuse_native_analytics.fuse_controller.audit_chain import ChainTip, chain_errors
from sparkfuse_native_analytics.fuse_controller.fuse import (
    Fuse,
    State,
    Times,
    advance,
    ask,
    blow,
    ready,
    refuse,
    settle,
)
from sparkfuse_native_analytics.fuse_controller.ladder import next_action
from sparkfuse_native_analytics.fuse_controller.safeguards import HOUR_MS, Budget
from sparkfuse_native_analytics.fuse_controller.scope import Run

RUN = Run("prod", "app-1", 0, 5)
TIMES = Times(cool_down_ms=100, quiet_ms=50, retry_ms=10)
CLOSED, OPEN, REFUSED, HALF_OPEN = State.CLOSED, State.OPEN, State.REFUSED, State.HALF_OPEN


@pytest.mark.parametrize(
    ("state", "matches", "after_ms", "expected", "may_blow"),
    [
        (CLOSED, False, 1_000, CLOSED, True),
        (CLOSED, True, 1_000, CLOSED, True),
        (OPEN, False, 99, OPEN, False),
        (OPEN, True, 99, OPEN, False),
        (OPEN, False, 100, HALF_OPEN, True),
        (OPEN, True, 100, HALF_OPEN, True),
        (REFUSED, True, 9, REFUSED, False),
        (REFUSED, False, 10, HALF_OPEN, True),
        (HALF_OPEN, False, 49, HALF_OPEN, True),
        (HALF_OPEN, False, 50, CLOSED, True),
        (HALF_OPEN, True, 50, HALF_OPEN, True),
    ],
)
def test_each_state_transition(state, matches, after_ms, expected, may_blow):
    """The state of a fuse, a match of its rule and the elapsed time determine the next state.

    State, match and time also determine whether the fuse may blow.
    """
    fuse = advance(Fuse(state, since_ms=0, matched_ms=0), matches, after_ms, TIMES)

    assert fuse.state is expected
    assert ready(fuse) is may_blow


def test_quiet_period_starts_at_last_match():
    """A half-open fuse closes when the quiet period after the last match ends.

    The quiet period does not start at the change of state.
    """
    fuse = advance(Fuse(HALF_OPEN, since_ms=0), True, 40, TIMES)

    assert advance(fuse, False, 60, TIMES).state is HALF_OPEN
    assert advance(fuse, False, 90, TIMES).state is CLOSED


def test_back_off_doubles_up_to_the_cool_down():
    """The time to half-open doubles with each refusal or unanswered question, and never exceeds the cool-down."""
    assert [TIMES.back_off_ms(refusals) for refusals in (1, 2, 3, 4, 5, 9_999)] == [10, 20, 40, 80, 100, 100]


def test_contradicted_refusal_restores_the_cool_down():
    """If another receipt contradicts a refusal, the fuse waits for the whole cool-down since the act."""
    refused = refuse(blow(Fuse(), 1_000), 1_005)
    asked = ask(advance(refused, True, 1_015, TIMES), 1_015, 1_014)
    settled = settle(asked, 1_000)

    assert (asked.state, asked.refusals, asked.evidence_ms) == (REFUSED, 2, 1_014)
    assert (settled.state, settled.refusals) == (OPEN, 0)
    assert advance(settled, True, 1_099, TIMES).state is OPEN
    assert advance(settled, True, 1_100, TIMES).state is HALF_OPEN


def test_quiet_period_forgets_refusals():
    """When the rule has not matched for the quiet period, the next match may blow the fuse immediately."""
    half_open = advance(refuse(blow(Fuse(), 0), 1), False, 11, TIMES)

    assert advance(half_open, False, 61, TIMES) == Fuse(CLOSED, since_ms=61)


class FuseMachine(RuleBasedStateMachine):
    """A state machine for Hypothesis that advances the time and blows the fuse in any order."""

    def __init__(self):
        super().__init__()
        self.fuse, self.now_ms, self.blown_ms, self.refused_ms = Fuse(), 0, [], []

    @rule(step_ms=st.integers(min_value=0, max_value=120), matches=st.booleans())
    def advance_time(self, step_ms, matches):
        """Advance the time, with or without a match."""
        self.now_ms += step_ms
        self.fuse = advance(self.fuse, matches, self.now_ms, TIMES)

    @precondition(lambda self: ready(self.fuse))
    @rule()
    def act(self):
        """Blow the fuse if it is ready."""
        self.fuse = blow(self.fuse, self.now_ms)
        self.blown_ms.append(self.now_ms)

    @precondition(lambda self: self.fuse.state is OPEN)
    @rule()
    def hook_refuses(self):
        """Let the hook refuse the last act."""
        self.fuse = refuse(self.fuse, self.now_ms)
        self.refused_ms.append(self.now_ms)

    @precondition(lambda self: self.refused_ms)
    @rule()
    def refusal_is_contradicted(self):
        """Let another receipt contradict the refusal of the last act."""
        self.fuse = settle(self.fuse, self.blown_ms[-1])
        self.refused_ms = [at_ms for at_ms in self.refused_ms if at_ms < self.blown_ms[-1]]

    @invariant()
    def two_acts_are_a_cool_down_apart(self):
        """Two consecutive acts are a cool-down apart, or a back-off after the refusal of the first one."""
        for earlier, later in zip(self.blown_ms, self.blown_ms[1:], strict=False):
            refused = [at_ms for at_ms in self.refused_ms if earlier <= at_ms <= later]

            assert later - earlier >= TIMES.cool_down_ms or (refused and later - refused[0] >= TIMES.retry_ms)


TestFuseMachine = FuseMachine.TestCase
TestFuseMachine.settings = settings(max_examples=50, stateful_step_count=30, deadline=None)


def act(number, at_ms, job="orders", tenant="", mode="act", step="sent", app="app-1", team="", rule_id="spill"):
    return AuditRecord(
        sequence=number, step=step, actor="controller", cluster="prod", app_id=app, app_attempt=0, app_start_ms=5,
        rule=rule_id, mode=mode, at_ms=at_ms, job_key=job, tenant=tenant, team=team, signal_id=f"signal-{number}",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("acts", "expected"),
    [
        pytest.param([], None, id="nothing spent"),
        pytest.param([act(1, 0), act(2, 0)], "job_per_hour", id="job"),
        pytest.param([act(1, 0, job="a"), act(2, 0, job="b"), act(3, 0, job="c")], "tenant_per_hour", id="tenant"),
        pytest.param(
            [act(n, 0, job=f"j{n}", tenant=f"t{n}", team="data") for n in range(3)], "team_per_hour", id="team"
        ),
        pytest.param([act(n, 0, job=f"j{n}", tenant=f"t{n}") for n in range(5)], "rule_per_hour", id="rule"),
        pytest.param(
            [act(n, 0, job=f"j{n}", tenant=f"t{n}", rule_id=f"r{n}") for n in range(6)], "global_per_hour", id="global"
        ),
        pytest.param([act(1, 0), act(1, 0)], None, id="the same act read twice"),
        pytest.param([act(1, 0, mode="shadow"), act(2, 0, mode="shadow")], None, id="acts of shadow mode"),
        pytest.param([act(1, 0, step="held"), act(2, 0, step="probed")], None, id="other steps"),
        pytest.param([act(1, -HOUR_MS), act(2, -HOUR_MS)], None, id="more than an hour ago"),
    ],
)
def test_budgets_cover_last_hour(acts, expected):
    """Acts of the last hour are counted by job, tenant, team and rule and in total.

    If the audit log is read again, each act is still counted once.
    """
    registry = ActRegistry()
    for each in acts:
        registry.record(each)
    planned = Act("", 1, "act", "", RUN, "spill", "orders", "", "data")
    limits = Budget(job_per_hour=2, tenant_per_hour=3, team_per_hour=3, rule_per_hour=5, global_per_hour=6)
    spent = registry.over_budget(planned, 1, limits)

    assert spent is None if expected is None else expected in spent


def test_restart_restores_open_fuse():
    """After a restart, the state of the fuse is restored from the audit log, so the controller does not act twice."""
    registry = ActRegistry()
    registry.record(act(1, 1_000))

    assert registry.advance(RUN, "spill", True, 1_050, TIMES).state is OPEN


def acts_of(*outcomes):
    return [Act(f"s-{n}", n, "act", action, RUN, "spill", "", "", "", (3, 0), outcome)
            for n, (action, outcome) in enumerate(outcomes)]  # fmt: skip


ALL = ("warn", "kill_task", "cancel_query", "cancel_stage", "cancel_jobs", "stop_application")


@pytest.mark.parametrize(
    ("actions", "acts", "expected"),
    [
        pytest.param(ALL, [], "warn", id="the narrowest first"),
        pytest.param(ALL, [("warn", "")], None, id="not verified yet"),
        pytest.param(ALL, [("warn", "unfreed")], "kill_task", id="wider after unfreed"),
        pytest.param(ALL, [("kill_task", "ended")], "kill_task", id="the same after ended"),
        pytest.param(ALL, [("kill_task", "refused")], "kill_task", id="the same after refused"),
        pytest.param(ALL, [("cancel_query", "unknown")], "cancel_query", id="never wider after unknown"),
        pytest.param(("warn", "cancel_stage"), [("kill_task", "unfreed")], "cancel_stage", id="the task has gone"),
        pytest.param(("warn", "cancel_stage"), [("cancel_stage", "unfreed")], None, id="nothing wider is allowed"),
        pytest.param((), [], None, id="no target"),
    ],
)
def test_ladder_advances_on_verified_outcomes(actions, acts, expected):
    """The next action is wider only if the last action has the verified outcome `unfreed`."""
    assert next_action(actions, acts_of(*acts)) == expected


@given(st.permutations(ALL), st.lists(st.sampled_from(["ended", "unfreed", "refused", "unknown", ""]), max_size=8))
def test_ladder_never_exceeds_the_policy(order, outcomes):
    """For any outcomes, the next action belongs to the policy and is at most one step wider than the last action."""
    allowed = sorted(order[:3], key=ALL.index)
    taken: list[Act] = []
    for number, outcome in enumerate(outcomes):
        action = next_action(allowed, taken)
        if action is None:
            break
        assert action in allowed
        if taken:
            assert allowed.index(action) - allowed.index(taken[-1].action) in (0, 1)
        taken.append(Act(f"s-{number}", number, "act", action, RUN, "spill", "", "", "", None, outcome))


def chain(*steps):
    tip, contents = ChainTip(), []
    for step in steps:
        content, tip = tip.append(AuditRecord(step=step, at_ms=1), epoch=1)
        contents.append(content)
    return contents


def test_audit_chain_is_valid():
    """Appended audit records form a valid chain, even if the check starts in the middle."""
    assert list(chain_errors(chain("a", "b", "c"))) == []
    assert list(chain_errors(chain("a", "b", "c")[1:])) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(lambda c: [c[0], c[2]], "record 3 follows record 1", id="a record is missing"),
        pytest.param(lambda c: [c[0], c[1].replace(b'"b"', b'"x"'), c[2]], "another hash", id="a record was changed"),
        pytest.param(lambda c: [c[1], c[0]], "record 1 follows record 2", id="the order was changed"),
        pytest.param(lambda c: [c[0], b"[]", c[1]], "not a AuditRecord", id="not a record"),
    ],
)
def test_broken_audit_chain_is_reported(change, message):
    """A missing, changed or invalid audit record is reported with its position in the chain."""
    assert any(message in error for error in chain_errors(change(chain("a", "b", "c"))))
