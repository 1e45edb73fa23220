from __future__ import annotations

import os
from datetime import datetime

import pytest

from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.fuse_controller.controller_policy import PolicyReloader
from sparkfuse_native_analytics.fuse_controller.fuse import Times
from sparkfuse_native_analytics.fuse_controller.protected import Protected
from sparkfuse_native_analytics.fuse_controller.safeguards import (
    Arming,
    BigPicture,
    Budget,
    Hold,
    Safeguards,
    read_safeguards,
)
from sparkfuse_native_analytics.fuse_controller.working_hours import WorkingHours
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.errors import RuleError

WHOLE = """
fuse:
  budget: {job_per_hour: 1, tenant_per_hour: 2, global_per_hour: 3, team_per_hour: 4, rule_per_hour: 5}
  cool_down: 5m
  quiet: 30s
  big_picture: {share: 0.2, applications: 5}
  arming: {probes: 50, replayed: 25}
holds:
  - {reason: release, rule: stage_*, job: "nightly_*", app: app-1, until: 2026-11-30}
  - {reason: for ever}
  - {reason: exact, until: "2026-11-30T06:00:00+01:00"}
"""


def hours(text: str) -> str:
    """Return a file with working hours; keys of ``text`` replace the valid keys."""
    valid = {"from": "9:00", "to": "17:00", "outside": "{global_per_hour: 0}"}
    missing = ", ".join(f"{key}: {value}" for key, value in valid.items() if f"{key}:" not in text)
    return f"fuse: {{working_hours: {{{text}{', ' if missing else ''}{missing}}}}}"


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
        Arming(50, 25),
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
        ("fuse: {arming: {probes: 9, replayed: 5}}", ["fuse.arming.replayed", "at most half of probes"]),
        ("fuse: {arming: {replayed: -1}}", ["fuse.arming.replayed", "whole number"]),
        ("fuse: {protected: {job: x}}", ["fuse.protected: must be a list"]),
        ("fuse: {protected: [{reason: x}]}", ["fuse.protected[0]", "at least one of job, team"]),
        ("fuse: {protected: [{job: x}]}", ["fuse.protected[0].reason"]),
        ("fuse: {protected: [{reason: x, jobs: y}]}", ["'job'"]),
        ("fuse: {working_hours: {zone: UTC, from: 9:00, to: 17:00}}", ["working_hours.outside"]),
        (hours("zone: Mars/Olympus"), ["working_hours.zone", "'Mars/Olympus'"]),
        (hours("zone: UTC, days: [monday]"), ["working_hours.days", "'monday'"]),
        (hours("zone: UTC, from: 25:00"), ["working_hours.from", "24:00"]),
        (hours("zone: UTC, from: 17:00, to: 9:00"), ["`from` must be before `to`"]),
        (hours("zone: UTC, outside: {global: 0}"), ["'global_per_hour'"]),
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
    """If the mode requires a signing key, a missing key prevents the start of the controller."""
    path = written("rules: {stage_runaway_spill: {fuse: {mode: act}}}")

    with pytest.raises(RuleError, match="SPARKFUSE_SIGNING_KEY"):
        PolicyReloader(settings_of(path))


def test_mode_of_rule_overrides_default(written):
    """sparkfuse.yaml can set the mode of one rule."""
    file = PolicyReloader(settings_of(written("rules: {stage_runaway_spill: {fuse: {mode: off}}}")))
    watched = {variant.rule.id for variant in file.policy.watched()}

    assert {rule.id for rule in load_catalog().with_fuse()} - watched == {"stage_runaway_spill"}


def test_changed_file_is_reloaded(written):
    """A hold that is added to sparkfuse.yaml applies immediately."""
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
    """If sparkfuse.yaml is invalid or missing, every rule is in shadow mode until the file is valid again."""
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


def test_protected_jobs_and_working_hours_are_read(written):
    """`outside` replaces only the budgets that it names; YAML reads a time without quotes as minutes."""
    safeguards = read_safeguards(
        written("""
fuse:
  budget: {job_per_hour: 2}
  protected:
    - {reason: payroll, job: "billing_*", user: svc-prod}
  working_hours: {zone: Europe/Berlin, days: [mon, sun], from: "08:30", to: 17:00, outside: {global_per_hour: 0}}
""")
    )

    assert safeguards.protected == (Protected("payroll", job="billing_*", user="svc-prod"),)
    assert safeguards.working_hours == WorkingHours("Europe/Berlin", frozenset({0, 6}), 8 * 60 + 30, 17 * 60)
    assert safeguards.budget_outside == Budget(job_per_hour=2, global_per_hour=0)


@pytest.mark.parametrize(
    ("moment", "within"),
    [
        pytest.param("2026-11-27T07:59:59+00:00", False, id="a second before, winter time"),
        pytest.param("2026-11-27T08:00:00+00:00", True, id="the first second"),
        pytest.param("2026-11-27T15:59:59+00:00", True, id="the last second"),
        pytest.param("2026-11-27T16:00:00+00:00", False, id="the end is excluded"),
        pytest.param("2026-11-28T09:00:00+00:00", False, id="Saturday"),
        pytest.param("2026-07-17T07:00:00+00:00", True, id="summer time begins an hour earlier"),
        pytest.param("2026-11-29T23:30:00+00:00", False, id="Monday in Berlin, but before the hours"),
    ],
)
def test_working_hours_follow_the_time_zone(moment, within):
    """Days and times are local to the time zone, including its daylight saving time."""
    berlin = WorkingHours("Europe/Berlin", frozenset(range(5)), 9 * 60, 17 * 60)

    assert berlin.contain(int(datetime.fromisoformat(moment).timestamp() * 1000)) is within
