"""Tests the catalog that is compiled for offline analyses."""

from sparkfuse_rules import compiled
from sparkfuse_rules.compiled import compile_offline, rules_offline
from sparkfuse_rules.generate import main


def test_generated_files_are_up_to_date():
    """The checked-in files equal the output of the generator."""
    assert main(["--check"]) == 0


def test_generated_rules_equal_compiled_ones():
    """Loading the generated file gives the same rules as compiling the catalog."""
    assert rules_offline() == compile_offline()


def test_changed_catalog_is_compiled_at_run_time(monkeypatch):
    """If the hash of the rule files differs, the generated file is not used."""
    monkeypatch.setattr(compiled, "source_hash", lambda: "something else")
    monkeypatch.setattr(compiled, "compile_offline", lambda config_file: ())

    assert rules_offline() == ()


def test_overrides_apply_offline(tmp_path):
    """In an offline analysis, a team's value of a param is used in the condition and in the description of a rule."""
    config = tmp_path / "sparkfuse.yaml"
    config.write_text("rules: {stage_spill: {params: {min_elapsed_ms: 77777}}, stage_skew: {enabled: false}}")
    rules = {rule.id: rule for rule in rules_offline(config)}

    assert "77777" in rules["stage_spill"].severity_sql
    assert "stage_skew" not in rules


def test_undecidable_rule_names_missing_columns():
    """For a rule that event logs cannot decide, the columns that event logs lack are named."""
    undecidable = {rule.id: rule.undecidable for rule in rules_offline()}

    assert undecidable["task_stuck"] == ("stalled_ms", "activity")
    assert undecidable["stage_runaway_spill"] == (
        "running_tasks", "running_since_progress_min_ms", "running_spilled_since_progress_max_bytes",
        "running_since_spill_ms",
    )  # fmt: skip
    assert undecidable["stage_skew"] == ()
