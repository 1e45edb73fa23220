from sparkfuse_rules.knowledge.stage_graph import NAME_ONLY, CompleteRun, StartedStageOfRun, fingerprint_in_run


def run(offset: int, *, joined: str = "Join", plan: tuple[str, ...] = ()) -> CompleteRun:
    """Two scans and a join, with stage ids that begin at ``offset``."""
    scan, other, join = offset, offset + 1, offset + 2
    stages = {
        scan: StartedStageOfRun("scan at a.py:1", ("Scan orders",)),
        other: StartedStageOfRun("scan at a.py:2", ("Scan customers",)),
        join: StartedStageOfRun("count at a.py:3", (joined,), (scan, other), 4),
    }
    return CompleteRun(stages, {4: plan})


def test_ids_do_not_matter_and_what_a_stage_does_matters():
    """The same stage in two runs has one fingerprint; another join or another plan is another stage."""
    first = fingerprint_in_run(2, None, run(0))

    assert first == fingerprint_in_run(12, None, run(10))
    assert first != fingerprint_in_run(2, None, run(0, joined="CartesianProduct"))
    assert first != fingerprint_in_run(2, None, run(0, plan=("SortMergeJoin",)))


def test_parents_are_part_of_it_and_are_kept():
    """The first question fingerprints all ancestors, each once."""
    known = run(0)
    fingerprint_in_run(2, None, known)

    assert all(stage.fingerprint for stage in known.stages.values())


def test_a_stage_without_a_start_is_known_by_name_only():
    """Half of a fingerprint is marked, so that it mixes with no history."""
    assert fingerprint_in_run(7, None, CompleteRun({})).startswith(NAME_ONLY)
    assert fingerprint_in_run(7, "a at b.py:1", CompleteRun({})) == fingerprint_in_run(
        8, "a at b.py:9", CompleteRun({})
    )


def test_parents_in_a_circle_end():
    """No list of parents, however wrong, runs for ever."""
    circle = {number: StartedStageOfRun("a", (), (number - 1, number, number + 1)) for number in range(1, 3000)}

    assert not fingerprint_in_run(2999, None, CompleteRun(circle)).startswith(NAME_ONLY)


def test_a_log_that_tells_more_than_the_plugin_gives_the_same_fingerprint():
    """The plugin caps long plans and lists of scopes; beyond the caps nothing counts."""
    plan = tuple(f"Project {letter}" for letter in "abcd" * 64)

    assert fingerprint_in_run(2, None, run(0, plan=plan)) == fingerprint_in_run(2, None, run(0, plan=(*plan, "Sort")))
    assert fingerprint_in_run(2, None, run(0, plan=plan)) != fingerprint_in_run(2, None, run(0, plan=plan[:-1]))
