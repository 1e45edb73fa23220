from __future__ import annotations

import os

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.safeguards import (
    Arming,
    BigPicture,
    Budget,
    Hold,
    Safeguards,
    read_safeguards,
)
from sparkfuse_rules.errors import RuleError

WHOLE = """
fuse:
  budget: {job_per_hour: 1, tenant_per_hour: 2, global_per_hour: 3, team_per_hour: 4, rule_per_hour: 5}
  cool_down: 5m
  quiet: 30s
  big_picture: {share: 0.2, applications: 5}
  arming: {probes: 50}
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


def test_safeguards_are_read(written):
    """Budgets, times, big_picture and holds are read from sparkfuse.yaml; a date is the end of that day in UTC."""
    safeguards = read_safeguards(written(WHOLE))

    assert safeguards == Safeguards(
        Budget(1, 2, 4, 5, 3),
        Times(300_000, 30_000),
        BigPicture(0.2, 5),
        Arming(50),
        (
            Hold("release", "stage_*", "nightly_*", "app-1", 1796083199999),
            Hold("for ever"),
            Hold("exact", until_ms=1796014800000),
        ),
    )


def test_defaults_apply_without_a_file():
    """Without a sparkfuse.yaml, all safeguards have their defaults."""
    assert read_safeguards(None) == Safeguards()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fuses: {}", ["'fuses'", "'fuse'"]),
        ("fuse: {bugdet: {}}", ["'bugdet'", "'budget'"]),
        ("fuse: {budget: {job_per_hours: 1}}", ["'job_per_hour'"]),
        ("fuse: {budget: {job_per_hour: -1}}", ["whole number"]),
        ("fuse: {cool_down: 5}", ["duration"]),
        ("fuse: {big_picture: {share: 2}}", ["at most 1"]),
        ("fuse: {arming: {probes: many}}", ["fuse.arming.probes"]),
        ("holds: {a: 1}", ["must be a list"]),
        ("holds: [{job: x}]", ["holds[0].reason"]),
        ("holds: [{reason: x, jobs: y}]", ["'job'"]),
        ("holds: [{reason: x, until: soon}]", ["holds[0].until", "'soon'"]),
    ],
)
def test_invalid_key_is_reported_with_its_path(written, text, message):
    """A misspelled hold is an error, so that it is not ignored silently."""
    with pytest.raises(RuleError) as caught:
        read_safeguards(written(text))

    assert all(part in str(caught.value) for part in message), caught.value


def settings_of(path, mode="shadow"):
    return Settings.from_environment({"SPARKFUSE_CONFIG": str(path), "SPARKFUSE_FUSE_MODE": mode})


def test_signing_mode_without_key_is_rejected(written):
    """If the mode requires a signing key, a missing key raises an error at the start, not at the first act."""
    path = written("rules: {stage_runaway_spill: {fuse: {mode: act}}}")

    with pytest.raises(RuleError, match="SPARKFUSE_SIGNING_KEY"):
        PolicyReloader(settings_of(path))


def test_mode_of_rule_overrides_default(written):
    """sparkfuse.yaml can set the mode of one rule."""
    file = PolicyReloader(settings_of(written("rules: {stage_runaway_spill: {fuse: {mode: off}}}")))

    assert file.policy.watched() == []


def test_changed_file_is_reloaded(written):
    """If a hold is added to sparkfuse.yaml, it applies at once."""
    path = written("holds: []")
    file = PolicyReloader(settings_of(path))

    assert file.reload() is None
    written("holds: [{reason: release night}]")
    assert file.reload().safeguards.holds == (Hold("release night"),)
    os.utime(path)
    assert file.reload().safeguards.holds == (Hold("release night"),)
    assert file.reload() is None


@pytest.mark.parametrize("fault", ["typing error", "deleted"])
def test_broken_file_puts_every_rule_in_shadow_mode(written, tmp_path, fault):
    """If sparkfuse.yaml is invalid or missing, no rule is armed until the file is valid again."""
    key = tmp_path / "key.pem"
    key.touch()
    path = written("holds: [{reason: release night}]")
    environment = {
        "SPARKFUSE_CONFIG": str(path), "SPARKFUSE_FUSE_MODE": "act", "SPARKFUSE_SIGNING_KEY": str(key),
    }  # fmt: skip
    file = PolicyReloader(Settings.from_environment(environment))
    rule = file.policy.rules["stage_runaway_spill"].otherwise.rule
    assert file.policy.mode(rule) == "act"
    path.unlink() if fault == "deleted" else written("holds: [{reasons: typing error!}]")
    broken = file.reload()

    assert broken.mode(rule) == "shadow"
    assert broken.safeguards.holds == (Hold("release night"),)
    assert ("cannot be read" if fault == "deleted" else "'reason'") in broken.error
    written("holds: [{reason: release night}, {reason: more}]")
    assert file.reload().mode(rule) == "act"
