"""Tests loading and validating rule files and overrides."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import severity_sql
from sparkfuse_rules.conditions import signal_conditions
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.policies import policy_hash, policy_line
from sparkfuse_rules.rule import Condition

GOOD = {
    "summary": "Something is wrong",
    "view": "stage_live",
    "severity": "warning",
    "params": {"bar": {"default": 5000, "unit": "ms", "why": "because"}},
    "when": "elapsed_ms >= :bar",
    "for": "0s",
    "description": "took {elapsed_ms:duration}, beyond {bar:duration}",
    "runbook": "1. Look.",
    "fuse": "none",
    "cases": [{"name": "quiet", "given": {"elapsed_ms": 1}, "expect": "quiet"}],
}
UNIT = {"default": 5, "unit": "msec", "why": "because"}
FUSE = {"actions": ["cancel_stage"], "after": "30s", "needs": ["disk_spilled_bytes >= :bar"]}

FUSE_CASE = {"name": "spills", "counters": {"disk_spilled_bytes": 5000}, "act": True}


def case(given, expect="quiet"):
    return {"name": "a", "given": given, "expect": expect}


def fuse(**change):
    return {"fuse": {**FUSE, **change}}


@pytest.fixture
def folder(tmp_path: Path):
    def write(content, name="slow_thing.yaml"):
        text = content if isinstance(content, str) else yaml.safe_dump(content)
        (tmp_path / name).write_text(text)
        return tmp_path

    return write


def refusal(folder, overrides=None):
    with pytest.raises(RuleError) as caught:
        load_catalog(folder, overrides)
    return str(caught.value)


def test_valid_file_is_loaded(folder):
    """A rule's id is the name of its file, and the values of params are inserted in its description."""
    rule = load_catalog(folder(GOOD))["slow_thing"]

    assert rule.severity == {"warning": "TRUE"}
    assert rule.description == "took {elapsed_ms:duration}, beyond 5.0 s"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param({"sevirity": "x"}, ["slow_thing.yaml", "'sevirity'", "did you mean 'severity'"], id="key"),
        pytest.param({"when": "elapsed >= :bar"}, ["when", "column 'elapsed'", "'elapsed_ms'"], id="column"),
        pytest.param({"when": "elapsed_ms >= :bat"}, ["param 'bat'", "'bar'"], id="param"),
        pytest.param({"severity": {"warn": "TRUE"}}, ["severity", "'warn'", "'warning'"], id="severity"),
        pytest.param({"view": "stage_life"}, ["view 'stage_life'", "'stage_live'"], id="view"),
        pytest.param({"for": "five"}, ["for: must be a duration", "'five'"], id="duration"),
        pytest.param({"when": "elapsed_ms >="}, ["when: cannot be parsed"], id="syntax"),
        pytest.param({"when": "elapsed_ms"}, ["is a number, but a flag is required"], id="kind of the whole"),
        pytest.param({"when": "name > 5"}, ["name is a text, but a number"], id="kind of an operand"),
        pytest.param({"when": "ROUND(elapsed_ms) > 5"}, ["ROUND is not in the common subset"], id="function"),
        pytest.param({"when": "GREATEST(elapsed_ms, 1) > 5"}, ["GREATEST is not in the common"], id="greatest"),
        pytest.param({"when": "elapsed_ms > (SELECT 1)"}, ["is not in the common subset"], id="subquery"),
        pytest.param({"when": "SUM(elapsed_ms) > 5"}, ["SUM is not in the common subset"], id="aggregate"),
        pytest.param({"when": "s.elapsed_ms > 5"}, ["names a table"], id="table"),
        pytest.param({"when": "name LIKE 'a\\b'"}, ["backslash"], id="backslash"),
        pytest.param({"when": "CAST(name AS INT) > 5"}, ["CAST only to BIGINT"], id="cast"),
        pytest.param({"params": {"bar": 5000}}, ["params.bar: must be a mapping"], id="param without reason"),
        pytest.param({"params": {"bar": {"default": 5, "unit": "ms"}}}, ["'why' is missing"], id="no why"),
        pytest.param({"params": {"bar": UNIT}}, ["unit 'msec'", "'ms'"], id="unit"),
        pytest.param({"description": "{elapsed:bytes}"}, ["description", "'elapsed_ms'"], id="placeholder"),
        pytest.param({"description": "{elapsed_ms:>99999}"}, ["unknown format"], id="format"),
        pytest.param({"cases": []}, ["a rule needs cases"], id="no cases"),
        pytest.param({"cases": [case({"elapsd_ms": 1})]}, ["'elapsd_ms'"], id="case column"),
        pytest.param({"cases": [case({}, "loud")]}, ["'loud'"], id="case severity"),
        pytest.param({"cases": [case({"elapsed_ms": "x"})]}, ["number"], id="case type"),
        pytest.param({"fuse": {"actions": ["cancel_stage"]}}, ["'after' is missing"], id="fuse key"),
        pytest.param(fuse(actions=["cancel_stages"]), ["'cancel_stage'"], id="fuse action"),
        pytest.param(fuse(actions=[]), ["must list the actions"], id="no fuse action"),
        pytest.param(fuse(actions=["cancel_stage", "kill_task"]), ["must be in the order"], id="order of actions"),
        pytest.param(fuse(actions=["warn", "warn"]), ["without repetition"], id="action twice"),
        pytest.param(fuse(approval="yes"), ["fuse.approval: must be true or false"], id="approval"),
        pytest.param(fuse(severity="fatal"), ["fuse.severity"], id="severity of the fuse"),
        pytest.param(fuse(max_counter_age="soon"), ["must be a duration"], id="age of counters"),
        pytest.param(fuse(needs=["lost_ms > 5"]), ["counter of the hook"], id="not in the hook"),
        pytest.param(fuse(needs=["finished_tasks > running_tasks"]), ["threshold"], id="no number"),
        pytest.param(
            {"view": "executor_live", "when": "gc_share > :bar", "description": "x", "cases": [case({})], **fuse()},
            ["fuse.actions: cancel_stage has no target, because the rule is about one application"],
            id="action without a target",
        ),
        pytest.param(
            {"view": "host_live", "when": "applications > :bar", "description": "x", "cases": [case({})], **fuse()},
            ["fuse: a row of host_live does not belong to a single application"],
            id="fuse of a host",
        ),
        pytest.param(fuse(actions=["kill_task"]), ["kill_task has no target"], id="task of a stage"),
        pytest.param(fuse(needs=["task_age_ms > 5"]), ["counter of the hook"], id="counter of a narrower scope"),
        pytest.param(fuse(needs=["elapsed_ms > 1 / 0"]), ["divides by zero"], id="threshold"),
        pytest.param(fuse(when="elapsed > 1"), ["fuse.when", "'elapsed_ms'"], id="column of the fuse"),
        pytest.param(fuse(cases=[FUSE_CASE]), ["one in which the act would be wrong"], id="no wrong case"),
        pytest.param(
            fuse(cases=[FUSE_CASE, {**FUSE_CASE, "act": False}]), ["the case says act: false"], id="wrong case"
        ),
        pytest.param(
            fuse(cases=[FUSE_CASE, {**FUSE_CASE, "counters": {"spilled": 1}}]), ["counter of the hook"], id="case"
        ),
        pytest.param(fuse(needs=[]), ["must list the conditions that the hook checks"], id="no needs"),
    ],
)  # fmt: skip
def test_error_names_file_and_nearest_name(folder, change, expected):
    """An invalid rule is an error of one sentence that names the file, the key and a valid value."""
    message = refusal(folder({**GOOD, **change}))

    assert message.startswith("slow_thing.yaml")
    assert "\n" not in message
    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    "key", ["summary", "view", "severity", "when", "for", "description", "runbook", "fuse", "cases"]
)
def test_every_key_is_required(folder, key):
    """A rule without a runbook, cases or a description is rejected."""
    message = refusal(folder({name: value for name, value in GOOD.items() if name != key}))

    assert f"key {key!r} is missing" in message


@pytest.mark.parametrize("text", ["a: 1\na: 2\n", "- 1\n", "a: [\n", "\x00"])
def test_invalid_yaml_is_rejected(folder, text):
    """Invalid YAML is rejected, and so are duplicate keys.

    A YAML parser would silently use the last of the duplicate keys.
    """
    assert "slow_thing.yaml" in refusal(folder(text))


def test_overrides_change_params_and_severity(folder):
    """A team's params apply to the predicate, description and signal of a rule; "2e3" is a number."""
    overrides = {
        "slow_thing": {
            "params": {"bar": "2e3"},
            "severity": {"critical": "elapsed_ms > 9 * :bar"},
            "fuse": {"mode": "act"},
        }
    }
    rule = load_catalog(folder({**GOOD, "fuse": FUSE}), overrides)["slow_thing"]

    assert rule.params["bar"].value == 2000
    assert rule.params["bar"].default == 5000
    assert rule.severity == {"warning": "TRUE", "critical": "elapsed_ms > 9 * :bar"}
    assert rule.description.endswith("beyond 2.0 s")
    assert rule.fuse.mode == "act"
    assert signal_conditions(rule) == (Condition("disk_spilled_bytes", ">=", 2000.0),)


def test_overrides_are_read_from_sparkfuse_yaml(folder, tmp_path):
    """In sparkfuse.yaml, `false` as a severity's condition removes the severity; `enabled: false` removes the rule."""
    configuration = tmp_path / "conf" / "sparkfuse.yaml"
    configuration.parent.mkdir()
    folder({**GOOD, "severity": {"warning": True, "critical": "elapsed_ms > 9"}})
    configuration.write_text("rules: {slow_thing: {severity: {critical: false}}}\nholds: []\n")

    assert load_catalog(tmp_path, configuration)["slow_thing"].severity == {"warning": "TRUE"}
    configuration.write_text("rules: {slow_thing: {enabled: false}}\n")
    assert "slow_thing" not in load_catalog(tmp_path, configuration)


JOBS = """
rules: {slow_thing: {params: {bar: 7000}}}
jobs:
  - {job: "etl_*", rules: {slow_thing: {params: {bar: 9000}}}}
  - {job: "tests/*", rules: {slow_thing: {enabled: false}}}
  - {job: "etl_hourly?", rules: {slow_thing: {params: {bar: 1}}}}
"""


def test_job_overrides_apply_to_matching_jobs(folder, tmp_path):
    """The overrides for all jobs apply first, then those of the first pattern that matches the job."""
    (tmp_path / "conf").mkdir()
    configuration = tmp_path / "conf" / "sparkfuse.yaml"
    configuration.write_text(JOBS)
    folder(GOOD)
    rule = load_catalog(tmp_path, configuration)["slow_thing"]

    assert rule.for_job("nightly").params["bar"].value == 7000
    assert rule.for_job("etl_hourly1").params["bar"].value == 9000
    assert rule.for_job("tests/a b") is None
    assert "CASE WHEN" in severity_sql(rule, "flink")


def test_rule_may_be_enabled_for_some_jobs_only(folder, tmp_path):
    """A rule that is disabled for all jobs can be tried on the jobs of one team."""
    (tmp_path / "conf").mkdir()
    configuration = tmp_path / "conf" / "sparkfuse.yaml"
    configuration.write_text(
        "rules: {slow_thing: {enabled: false}}\njobs: [{job: 'a*', rules: {slow_thing: {enabled: true}}}]\n"
    )
    folder(GOOD)
    rule = load_catalog(tmp_path, configuration)["slow_thing"]

    assert (rule.for_job("b"), rule.for_job("ab").enabled) == (None, True)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("jobs: [{job: 'a*', rules: {slow_thin: {}}}]", ["jobs[0].rules.slow_thin", "'slow_thing'"]),
        ("jobs: [{job: 'a*', rules: {slow_thing: {params: {bart: 1}}}}]", ["jobs[0]", "'bar'"]),
        ("jobs: [{job: 'a[bc]', rules: {}}]", ["jobs[0].job", "* and ?"]),
        ("jobs: [{jobs: a, rules: {}}]", ["jobs[0]", "'job'"]),
        ("jobs: {a: 1}", ["jobs", "list"]),
    ],
)
def test_invalid_job_overrides_are_rejected(folder, tmp_path, text, expected):
    """The error for an invalid job override names its place in the file."""
    (tmp_path / "conf").mkdir()
    configuration = tmp_path / "conf" / "sparkfuse.yaml"
    configuration.write_text(text)
    message = refusal(folder(GOOD), configuration)

    for part in expected:
        assert part in message


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({"slow_thin": {}}, ["rules.slow_thin", "'slow_thing'"]),
        ({"slow_thing": {"param": {}}}, ["'params'"]),
        ({"slow_thing": {"params": {"bart": 1}}}, ["'bar'"]),
        ({"slow_thing": {"params": {"bar": "fast"}}}, ["must be a number", "'fast'"]),
        ({"slow_thing": {"severity": {"critical": "elapsd_ms > 1"}}}, ["'elapsed_ms'", "rules.slow_thing"]),
        ({"slow_thing": {"fuse": {"mode": "act"}}}, ["has no fuse"]),
    ],
)
def test_invalid_overrides_are_rejected(folder, overrides, expected):
    """An override without effect is an error."""
    message = refusal(folder(GOOD), overrides)

    for part in expected:
        assert part in message


def test_override_configures_the_fuse(folder):
    """sparkfuse.yaml can allow a query on a shared driver to be stopped, and change the minimum age."""
    fuse = {"mode": "act", "actions": ["cancel_query", "cancel_stage"], "after": "10m", "shared_driver": True}
    loaded = folder({**GOOD, "fuse": FUSE})
    before, after = (
        load_catalog(loaded)["slow_thing"],
        load_catalog(loaded, {"slow_thing": {"fuse": fuse}})["slow_thing"],
    )

    assert after.fuse.actions == ("cancel_query", "cancel_stage")
    assert (after.fuse.mode, after.fuse.after_ms, after.fuse.shared_driver) == ("act", 600_000, True)
    assert policy_hash(policy_line(after)) != policy_hash(policy_line(before))


@pytest.mark.parametrize(
    ("fuse", "expected"),
    [
        ({"mode": "active"}, ["rules.slow_thing.fuse.mode", "'act'"]),
        ({"modes": "act"}, ["'mode'"]),
        ({"actions": ["kill_task"]}, ["kill_task has no target"]),
        ({"actions": ["cancel_stage", "cancel_query"]}, ["order"]),
        ({"after": "soon"}, ["rules.slow_thing.fuse.after"]),
        ({"shared_driver": "yes"}, ["rules.slow_thing.fuse.shared_driver"]),
        ({"shared_driver": True}, ["only cancel_query is possible"]),
    ],
)
def test_invalid_override_of_the_fuse_is_rejected(folder, fuse, expected):
    """The error names the place in sparkfuse.yaml."""
    message = refusal(folder({**GOOD, "fuse": FUSE}), {"slow_thing": {"fuse": fuse}})

    for part in expected:
        assert part in message


CATALOG = load_catalog()


@pytest.mark.parametrize("rule", CATALOG.values(), ids=list(CATALOG))
def test_every_rule_is_complete(rule):
    """Each rule has a runbook, a reason for each param, and cases around its thresholds and for each severity."""
    names = [case.name for case in rule.cases]
    for kind in ("quiet", "just below", "exactly at", "far above"):
        assert any(name.startswith(kind) for name in names), f"{rule.file} has no case {kind!r}"
    empty = next(case for case in rule.cases if case.name == "empty evidence")

    assert empty.given == {}
    assert empty.expect == "quiet"
    assert {case.expect for case in rule.cases} == {"quiet", *rule.severity}
    assert rule.runbook.count("\n") >= 2
    assert "{" not in rule.summary
    assert all(param.why for param in rule.params.values())


@pytest.mark.parametrize("rule", load_catalog().with_fuse(), ids=lambda rule: rule.id)
def test_each_policy_states_what_it_excludes(rule):
    """Each policy names its exclusions, and has cases with and without an act."""
    assert rule.fuse.excludes
    assert {case.act for case in rule.fuse.cases} == {True, False}


def test_thresholds_of_needs_may_be_calculated(folder):
    """A condition of `needs` compares a counter of the policy's scope, or of a wider one, with numbers and params."""
    needs = ["elapsed_ms >= (:bar * 2) / 4", "application_core_ms < 7"]
    rule = load_catalog(folder({**GOOD, **fuse(needs=needs)}))["slow_thing"]

    assert signal_conditions(rule) == (
        Condition("elapsed_ms", ">=", 2500.0),
        Condition("application_core_ms", "<", 7.0),
    )
