"""Tests the actuator's configuration: by default nothing is stopped, and errors name key and value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from sparkfuse_native_analytics.fuse_actuator.__main__ import USAGE, main
from sparkfuse_native_analytics.fuse_actuator.actuator_settings import BACKENDS, read_actuator_settings
from sparkfuse_native_analytics.fuse_actuator.external_policies import read_external_policies
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.policies import policy_hash
from tests.unit.fuse_actuator.actuator_scene import policy_line

MINIMAL = {"cluster": "prod", "state_file": "state.json", "standalone": {"url": "http://127.0.0.1:8080"}}
EXAMPLE = Path(__file__).parents[3] / "deploy" / "actuator.yaml"


def write(folder, **changes):
    path = folder / "actuator.yaml"
    path.write_text(yaml.safe_dump({**MINIMAL, **changes}))
    return path


def test_nothing_is_stopped_by_default(tmp_path):
    """The default mode is shadow, and no job may be stopped."""
    settings, _ = read_actuator_settings(write(tmp_path), "standalone")

    assert settings.mode == "shadow"
    assert settings.jobs == ()
    assert settings.state_file == tmp_path / "state.json"
    assert {policy.rule for policy in read_external_policies(settings.policies).values()} == {
        "application_stalled", "application_zombie", "zombie_task",
    }  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
def test_example_is_valid_for_each_backend(tmp_path, backend):
    """The example file configures each backend if the token and certificate files exist."""
    text = EXAMPLE.read_text()
    for number, file in enumerate(re.findall(r"(?:token_file|ca_file): (\S+)", text)):
        (tmp_path / str(number)).touch()
        text = text.replace(file, str(tmp_path / str(number)), 1)
    path = tmp_path / "actuator.yaml"
    path.write_text(text)
    settings, manager = read_actuator_settings(path, backend)

    assert type(manager).__name__.lower() == backend
    assert (settings.mode, settings.jobs) == ("shadow", ())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "on"}, "mode"),
        ({"jobs": "nightly_*"}, "jobs: must be a list"),
        ({"job": ["x"]}, "'job'"),
        ({"budget": {"job_per_hour": -1}}, "budget.job_per_hour: must be a whole number"),
        ({"wait": "soon"}, "wait: must be a duration"),
        ({"standalone": {"url": "spark://master:7077"}}, "standalone.url: must be an address"),
        ({"standalone": {"url": "https://user@master"}}, "standalone.url: must be an address"),
        ({"standalone": {"url": "http://127.0.0.1", "token_file": "absent"}}, "token_file: .*absent is no file"),
        ({"standalone": {"url": "http://master:8080", "token_file": "actuator.yaml"}}, "without TLS"),
    ],
)
def test_invalid_value_is_named(tmp_path, changes, message):
    """An invalid value is reported with its key; a URL without TLS is invalid if a token is set."""
    with pytest.raises(RuleError, match=message):
        read_actuator_settings(write(tmp_path, **changes), "standalone")


def test_backend_without_its_section_does_not_start(tmp_path, capsys):
    """With an invalid configuration, the process ends with code 2 and prints one sentence."""
    assert main(["--backend", "yarn", "--config", str(write(tmp_path))]) == USAGE
    assert "key 'yarn' is missing" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        ("}", ""),
        ('"actions": ["external_stop"], ', ""),
        ('"operator": ">="', '"operator": "like"'),
    ],
    ids=["no JSON", "no actions", "unknown operator"],
)
def test_line_that_is_no_policy_prevents_the_start(tmp_path, change):
    """A policy that cannot be evaluated raises an error when it is read; its conditions are not dropped silently."""
    path = tmp_path / "policies.jsonl"
    path.write_text(policy_line().replace(*change))

    with pytest.raises(RuleError, match="line 1 is not a policy"):
        read_external_policies(path)


def test_only_policies_with_an_external_stop_are_accepted(tmp_path):
    """The actuator ignores a policy for hooks or without conditions; all other policies are found by their hash."""
    path, conditions = (
        tmp_path / "policies.jsonl",
        '[{"column": "outlived_ms", "operator": ">=", "threshold": 1800000.0}]',
    )
    lines = [
        policy_line(),
        policy_line().replace("external_stop", "cancel_stage"),
        policy_line().replace(conditions, "[]"),
    ]
    path.write_text("\n".join(lines))

    assert set(read_external_policies(path)) == {policy_hash(policy_line())}
