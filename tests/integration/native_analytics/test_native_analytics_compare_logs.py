"""Tests comparisons of two real runs: the only change is listed as the first cause, and the JSON matches its schema."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import jsonschema
import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics.compare import Comparison, Run, compare
from sparkfuse_native_analytics.compare.document import document
from sparkfuse_native_analytics.compare.run_from_log import read_run

LOGS = Path(__file__).parent / "compare" / "logs"
CHANGES = {
    "more_data": "volume",
    "fewer_cores": "capacity",
    "other_join": "plan",
    "skewed_key": "skew",
    "failing_tasks": "failures",
    "one_partition": "configuration",
    "slower_code": "cost",
}


@cache
def run(variant: str) -> Run:
    """Return the run of a variant of compare/job.py."""
    (log,) = find_logs(str(LOGS / f"{variant}.zstd")).logs
    return read_run(log)


def compared(variant: str) -> Comparison:
    """Return the comparison of the variant with the usual run."""
    return compare(run("usual"), run(variant))


@pytest.mark.parametrize(("variant", "cause"), CHANGES.items())
def test_changed_thing_is_the_first_cause(variant, cause) -> None:
    """The only change between two runs is listed as the first cause, for the run and the stage that differs most."""
    found = compared(variant)

    assert found.difference_ms > 0
    assert found.causes[0][0] == cause
    assert found.stages[0].parts[0].cause == cause


@pytest.mark.parametrize("variant", CHANGES)
def test_parts_of_real_runs_add_up(variant) -> None:
    """The parts of stages and the time outside stages add up to the difference, and so do the causes.

    If the runs are swapped, the causes are negated.
    """
    found, turned = compared(variant), compare(run(variant), run("usual"))

    stages_ms = sum(pair.difference_ms for pair in found.stages)
    outside_ms = sum(each.difference_ms for each in found.outside)
    assert stages_ms + outside_ms == found.difference_ms
    assert sum(value for _, value in found.causes) == found.difference_ms
    assert dict(found.causes) == {cause: -value for cause, value in turned.causes}


@pytest.mark.parametrize("variant", ["usual_again", *CHANGES])
def test_the_same_job_has_the_same_stages(variant) -> None:
    """The stages of two runs match even if data, cores, partitions or failures differ.

    Only with a different join do some stages have no match.
    """
    alone = [pair for pair in compared(variant).stages if pair.before is None or pair.after is None]

    assert bool(alone) == (variant == "other_join")


def test_changed_join_lists_plan_nodes() -> None:
    """If a sort-merge join replaces a broadcast join, the broadcast is listed as removed.

    The sort-merge join with its sorts and exchanges is listed as added.
    """
    found = compare(run("broadcast_query"), run("merge_query"))
    nodes = {node.name: (node.before, node.after) for node in found.plan}

    assert found.causes[0][0] == "plan"
    assert nodes["BroadcastHashJoin"] == (1, 0)
    assert nodes["SortMergeJoin"] == (0, 1)


def test_changed_properties_are_listed_with_their_values() -> None:
    """Only the changed property is listed, with both values: one partition instead of eight."""
    (changed,) = compared("one_partition").configuration

    assert (changed.key, changed.before, changed.after, changed.bears_on) == (
        "spark.default.parallelism", "8", "1", "partitions"
    )  # fmt: skip


@pytest.mark.parametrize("variant", ["usual_again", *CHANGES])
def test_comparison_matches_its_schema(variant) -> None:
    """The JSON matches contracts/documents/comparison.proto."""
    comparison = document(compared(variant), "before", "after")
    schema = json.loads(asset("sparkfuse_contracts", "generated", "json_schema", "comparison.json").read_text())
    jsonschema.validate(json.loads(json.dumps(comparison, allow_nan=False)), schema)

    assert set(comparison) == set(schema["properties"])
