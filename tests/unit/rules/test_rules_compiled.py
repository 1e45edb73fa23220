from sparkfuse_rules import compiled
from sparkfuse_rules.compiled import compile_offline, rules_offline
from sparkfuse_rules.generate import main


def test_the_checkout_holds_what_the_generator_makes():
    """`make check` compares the same way."""
    assert main(["--check"]) == 0


def test_ready_made_rules_are_the_compiled_ones():
    """Whoever takes the short way gets the same rules."""
    assert rules_offline() == compile_offline()


def test_a_changed_catalog_is_compiled_anew(monkeypatch):
    """A rule file that was edited a moment ago is what is asked, not what was generated before."""
    monkeypatch.setattr(compiled, "source_hash", lambda: "something else")
    monkeypatch.setattr(compiled, "compile_offline", lambda config_file: "compiled now")

    assert rules_offline() == "compiled now"


def test_overrides_hold_offline_too(tmp_path):
    """A team's own number stands in the condition and in the description."""
    config = tmp_path / "sparkfuse.yaml"
    config.write_text("rules: {stage_spill: {params: {min_elapsed_ms: 77777}}, stage_skew: {enabled: false}}")
    rules = {rule.id: rule for rule in rules_offline(config)}

    assert "77777" in rules["stage_spill"].severity_sql
    assert "stage_skew" not in rules


def test_what_needs_live_evidence_says_so():
    """A rule that no event log can answer names the columns that it lacks."""
    undecidable = {rule.id: rule.undecidable for rule in rules_offline()}

    assert undecidable["task_stuck"] == ("stalled_ms", "activity")
    assert undecidable["stage_runaway_spill"] == ("running_tasks", "since_finish_ms")
    assert undecidable["stage_skew"] == ()
