"""Tests the allow-list of the Spark settings that may be recorded."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sparkfuse_contracts.configuration import allowed_configuration

JAVA = Path(__file__).parents[3] / "build/contracts/java/io/sparkfuse/contracts/SparkConfiguration.java"


@pytest.mark.parametrize(
    ("key", "passes"),
    [
        ("spark.executor.memory", True),
        ("spark.executor.memoryOverheadFactor", True),
        ("spark.sql.adaptive.enabled", True),
        ("spark.kubernetes.executor.request.cores", True),
        ("spark.executor.memoryFraction", False),
        ("spark.executorEnv.API_KEY", False),
        ("spark.hadoop.fs.s3a.access.key", False),
        ("spark.shuffle.service.access.key", False),
        ("spark.task.my.password", False),
        ("spark.dynamicAllocation.Token", False),
    ],
)
def test_only_listed_settings_without_secrets_are_allowed(key: str, passes: bool) -> None:
    """A setting is allowed if its name or a prefix is listed, but never if it has the name of a secret."""
    assert allowed_configuration().allows(key) is passes


def test_the_list_is_sorted_and_has_each_key_once() -> None:
    """The list is sorted and has no key that another key already covers."""
    keys = allowed_configuration().keys
    covered = [key for key in keys for each in keys if each != key and each[-1] == "*" and key.startswith(each[:-1])]

    assert list(keys) == sorted(set(keys))
    assert covered == []


def test_the_plugin_has_the_same_list() -> None:
    """The generated Java class has exactly the keys of contracts/spark_configuration.yaml."""
    assert tuple(re.findall(r'^    "(spark\.[^"]+)",$', JAVA.read_text(), re.MULTILINE)) == allowed_configuration().keys
