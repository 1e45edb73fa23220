"""Tests the fingerprints of the stages of one run."""

from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY, CompleteRun, StartedStageOfRun, fingerprint_in_run


def run(offset: int, *, joined: str = "Join", plan: tuple[str, ...] = ()) -> CompleteRun:
    """Return two scans and a join, with stage ids from ``offset`` on."""
    scan, other, join = offset, offset + 1, offset + 2
    stages = {
        scan: StartedStageOfRun("scan at a.py:1", ("Scan orders",)),
        other: StartedStageOfRun("scan at a.py:2", ("Scan customers",)),
        join: StartedStageOfRun("count at a.py:3", (joined,), (scan, other), 4),
    }
    return CompleteRun(stages, {4: plan})


def test_fingerprint_ignores_stage_ids():
    """A stage has the same fingerprint in two runs; with another join or plan it has another fingerprint."""
    first = fingerprint_in_run(2, None, run(0))

    assert first == fingerprint_in_run(12, None, run(10))
    assert first != fingerprint_in_run(2, None, run(0, joined="CartesianProduct"))
    assert first != fingerprint_in_run(2, None, run(0, plan=("SortMergeJoin",)))


def test_fingerprints_of_parents_are_stored():
    """The first call computes the fingerprints of all ancestors and stores them for later calls."""
    known = run(0)
    fingerprint_in_run(2, None, known)

    assert all(stage.fingerprint for stage in known.stages.values())


def test_stage_without_start_uses_its_name():
    """A stage without a start event has a fingerprint of its name.

    A prefix marks this fingerprint, so that it never equals a complete fingerprint.
    """
    assert fingerprint_in_run(7, None, CompleteRun({})).startswith(NAME_ONLY)
    assert fingerprint_in_run(7, "a at b.py:1", CompleteRun({})) == fingerprint_in_run(
        8, "a at b.py:9", CompleteRun({})
    )


def test_circular_parents_do_not_loop():
    """Fingerprints are computed for any list of parents, even a circular one."""
    circle = {number: StartedStageOfRun("a", (), (number - 1, number, number + 1)) for number in range(1, 3000)}

    assert not fingerprint_in_run(2999, None, CompleteRun(circle)).startswith(NAME_ONLY)


def test_limits_of_the_plugin_apply_to_event_logs():
    """Scopes and plan nodes beyond the limits of the plugin are ignored."""
    plan = tuple(f"Project {letter}" for letter in "abcd" * 64)

    assert fingerprint_in_run(2, None, run(0, plan=plan)) == fingerprint_in_run(2, None, run(0, plan=(*plan, "Sort")))
    assert fingerprint_in_run(2, None, run(0, plan=plan)) != fingerprint_in_run(2, None, run(0, plan=plan[:-1]))
