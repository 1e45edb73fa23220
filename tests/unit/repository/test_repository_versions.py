"""Tests that all artifacts of a release have one version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
VERSION = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)[1]
PLACES = {
    "native_analytics/kernel/Cargo.toml": r'^version = "(.+)"$',
    "collectors/spark-plugin/pom.xml": r"^  <version>(.+)</version>$",
    "stream_jobs/flink-functions/pom.xml": r"^  <version>(.+)</version>$",
    "deploy/kubernetes/sparkfuse/Chart.yaml": r'^(?:version|appVersion): "?([^"\n]+)"?$',
    "deploy/kubernetes/sparkfuse/values.yaml": r"^  tag: (.+)$",
    "pyproject.toml": r'"sparkfuse-kernel==(.+)"',
    "docs/plugin.md": r"io\.sparkfuse:sparkfuse-spark-plugin:([\d.]+\d)",
    "docs/job-code.md": r"sparkfuse-([\d.]+\d)-py3-none-any\.whl",
    "docs/kubernetes.md": r"registry\.example/sparkfuse:(\S+)",
}


@pytest.mark.parametrize("place", PLACES)
def test_version_is_that_of_the_package(place: str) -> None:
    """Each file names the version of pyproject.toml, so the printed coordinates are those of the release."""
    found = re.findall(PLACES[place], (ROOT / place).read_text(), re.MULTILINE)

    assert found
    assert set(found) == {VERSION}
