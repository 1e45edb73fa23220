"""Tests the identity of applications: job key and run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.documents import identity_cases
from sparkfuse_rules.knowledge.identity import PROPERTY_KEYS, identify
from sparkfuse_rules.knowledge.naming import without_varying_parts

OPENLINEAGE = {"spark.openlineage.parentJobNamespace": "airflow", "spark.openlineage.parentJobName": "dag.load"}
OPERATOR = {
    "spark.kubernetes.namespace": "etl",
    "spark.kubernetes.driver.label.sparkoperator.k8s.io/app-name": "orders-1714521600123456789",
}


@pytest.mark.parametrize(
    ("properties", "name", "expected"),
    [
        pytest.param({"spark.sparkfuse.job": " orders "}, "x", "orders", id="own key"),
        pytest.param({"spark.sparkfuse.job": "orders", **OPENLINEAGE}, "x", "orders", id="own key before openlineage"),
        pytest.param(OPENLINEAGE, "x", "airflow/dag.load", id="openlineage parent"),
        pytest.param(
            {"spark.openlineage.rootParentJobNamespace": "airflow", "spark.openlineage.rootParentJobName": "dag"},
            "x",
            "airflow/dag",
            id="openlineage root parent",
        ),
        pytest.param({"spark.databricks.job.id": "42"}, "x", "databricks-job-42", id="databricks job id"),
        pytest.param(
            {"spark.databricks.clusterUsageTags.clusterName": "job-42-run-977-main"},
            "x",
            "databricks-job-42",
            id="databricks cluster of a job run",
        ),
        pytest.param(OPERATOR, "x", "etl/orders", id="spark operator without the start time"),
        pytest.param({}, "daily_sales_2024-05-01", "daily_sales", id="name"),
        pytest.param({"spark.sparkfuse.job": "  "}, "daily", "daily", id="empty key"),
        pytest.param({}, None, "unnamed", id="nothing set"),
        pytest.param({}, "2024-05-01", "unnamed", id="only a date"),
    ],
)
def test_first_source_that_is_set_applies(properties, name, expected):
    """The job key comes from the first source that is set, and always exists."""
    actual = identify(properties, name, "app-1", 0, 1000).job_key

    assert actual == expected


@pytest.mark.parametrize("case", identity_cases(), ids=lambda case: case["case"])
def test_properties_of_platforms_give_the_identity(case):
    """The settings of schedulers, platforms and shells give the identity that docs/identity.md describes."""
    actual = identify(case["properties"], case["name"], "app-1", 0, 1000, case["user"])

    assert (actual.job_key, actual.owner, actual.team) == (case["job_key"], case.get("owner"), case.get("team"))
    assert set(case["properties"]) <= set(PROPERTY_KEYS)


def test_user_distinguishes_jobs_with_default_names():
    """The user is part of the job key only for default names of shells and gateways."""
    shells = {identify({}, "PySparkShell", "app", 0, 0, user).job_key for user in ("alice", "bob", None)}
    named = {identify({}, "nightly_orders", "app", 0, 0, user).job_key for user in ("alice", "bob", None)}

    assert shells == {"alice/PySparkShell", "bob/PySparkShell", "PySparkShell"}
    assert named == {"nightly_orders"}


def test_run_key_distinguishes_runs_and_attempts():
    """Two attempts, or two applications with the same application id, are two runs of one job."""
    runs = [identify({}, "job", "local-1", attempt, start) for attempt, start in [(0, 5), (1, 5), (0, 6), (None, None)]]

    assert len({run.run_key for run in runs}) == 4
    assert len({run.job_key for run in runs}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("daily_sales_2024-05-01", "daily_sales_2025-12-31"),
        ("daily-20240501-load", "daily-20240502-load"),
        ("scheduled__2024-05-01T00:00:00+00:00", "scheduled__2024-05-02T06:30:00+00:00"),
        ("load 2024-05-01 10:22:33.123", "load 2024-05-01 23:59:59.000"),
        ("export 6f1c2c3e-1234-4abc-8def-1234567890ab", "export 00000000-1234-4abc-8def-1234567890ab"),
        ("build 3f2a9bc1d", "build 0a1b2c3d4"),
        ("etl (run 17)", "etl (run 18)"),
        ("job-1714521600000", "job-1714521700000"),
        ("nightly orders #42", "nightly orders #43"),
    ],
)
def test_varying_parts_are_removed(one, other):
    """Dates, times, ids, hashes and free-standing numbers in a name do not change the job key."""
    assert without_varying_parts(one) == without_varying_parts(other) != ""


@pytest.mark.parametrize("name", ["orders-v2", "tpc q66", "s3_sync", "facade", "my.app.Main", "defaced added"])
def test_words_keep_their_digits_and_letters(name):
    """A number within a word stays, and so does a word of the letters a to f, although the word could be a hash."""
    assert without_varying_parts(name) == name


@pytest.mark.parametrize(
    "name",
    ["etl_shard_07", "etl shard-7", "orders us-east-1", "sync_ap-southeast-2", "load us-gov-west-1", "curate step 2"],
)
def test_numbers_of_shards_and_regions_stay(name):
    """Shards, regions and steps run side by side, so they are different jobs."""
    assert without_varying_parts(name) == name


@given(st.text(max_size=80))
def test_removal_is_idempotent(name):
    """Removing the varying parts of a name a second time changes nothing."""
    once = without_varying_parts(name)

    assert without_varying_parts(once) == once


@given(st.dictionaries(st.sampled_from(PROPERTY_KEYS), st.text(max_size=300)), st.text(max_size=300))
def test_job_key_is_always_short_and_printable(properties, name):
    """For any name and any property, the job key is short enough for a label."""
    key = identify(properties, name, "app", 0, 0).job_key

    assert 0 < len(key) <= 200
    assert key.isprintable()
