from __future__ import annotations

import os

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.policy import BigPicture, Budget, Hold, Policy, read_policy
from sparkfuse_native_analytics.fuse_controller.policy_reload import PolicyFile
from sparkfuse_rules.errors import RuleError

WHOLE = """
fuse:
  budget: {job_per_hour: 1, tenant_per_hour: 2, global_per_hour: 3}
  cool_down: 5m
  quiet: 30s
  big_picture: {share: 0.2, applications: 5}
holds:
  - {reason: release, rule: stage_*, job: "nightly_*", app: app-1, until: 2026-11-30}
  - {reason: for ever}
  - {reason: exact, until: "2026-11-30T06:00:00+01:00"}
"""


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "sparkfuse.yaml"
        path.write_text(text)
        return path

    return write


def test_the_policy_is_read(written):
    """Budgets, times, the big picture and holds; a date ends with its day in UTC."""
    policy = read_policy(written(WHOLE))

    assert policy == Policy(
        Budget(1, 2, 3),
        Times(300_000, 30_000),
        BigPicture(0.2, 5),
        (
            Hold("release", "stage_*", "nightly_*", "app-1", 1796083199999),
            Hold("for ever"),
            Hold("exact", until_ms=1796014800000),
        ),
    )


def test_without_a_file_the_defaults_hold():
    """Nothing written is the default policy."""
    assert read_policy(None) == Policy()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fuses: {}", ["'fuses'", "'fuse'"]),
        ("fuse: {bugdet: {}}", ["'bugdet'", "'budget'"]),
        ("fuse: {budget: {job_per_hours: 1}}", ["'job_per_hour'"]),
        ("fuse: {budget: {job_per_hour: -1}}", ["whole number"]),
        ("fuse: {cool_down: 5}", ["duration"]),
        ("fuse: {big_picture: {share: 2}}", ["at most 1"]),
        ("holds: {a: 1}", ["must be a list"]),
        ("holds: [{job: x}]", ["holds[0].reason"]),
        ("holds: [{reason: x, jobs: y}]", ["'job'"]),
        ("holds: [{reason: x, until: soon}]", ["holds[0].until", "'soon'"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(written, text, said):
    """A hold that would not hold is an error, not silence."""
    with pytest.raises(RuleError) as caught:
        read_policy(written(text))

    assert all(part in str(caught.value) for part in said), caught.value


def settings_of(path, mode="shadow"):
    return Settings.from_environment({"SPARKFUSE_CONFIG": str(path), "SPARKFUSE_FUSE_MODE": mode})


def test_a_mode_that_signs_needs_a_key(written):
    """Found at the start, not at the first runaway."""
    path = written("rules: {stage_runaway_spill: {fuse: {mode: act}}}")

    with pytest.raises(RuleError, match="SPARKFUSE_SIGNING_KEY"):
        PolicyFile(settings_of(path))


def test_a_rule_has_its_own_mode_before_the_default(written):
    """sparkfuse.yaml promotes a rule by its name."""
    file = PolicyFile(settings_of(written("rules: {stage_runaway_spill: {fuse: {mode: off}}}")))

    assert file.orders.watched() == []


def test_a_changed_file_is_read_again_and_a_broken_one_changes_nothing(written):
    """A hold works at once; a typing error leaves the old orders."""
    path = written("holds: []")
    file = PolicyFile(settings_of(path))

    assert file.changed() is None
    written("holds: [{reason: release night}]")
    assert file.changed().policy.holds == (Hold("release night"),)
    written("holds: [{reasons: typing error!}]")
    assert file.changed() is None
    assert file.orders.policy.holds == (Hold("release night"),)
    os.utime(path)
    assert file.changed() is None
