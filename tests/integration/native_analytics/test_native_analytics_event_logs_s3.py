"""Tests that an event log in an object store gives the same analysis as on a local disk."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from sparkfuse.stack.layout import free_ports
from tests.waiting import wait_for

REAL = Path(__file__).parents[2] / "logs" / "real"
BUCKET = "spark-history"
FOLDERS = ("queries-35", "failures-4-snappy", "rolling-35")
SPARKFUSE = Path(sys.executable).with_name("sparkfuse")
FOUND_NOTHING, FOUND_SOMETHING, NO_INPUT = 0, 1, 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Return an environment in which s3:// addresses a local object store with real logs."""
    (port,) = free_ports(1)
    endpoint = f"http://127.0.0.1:{port}"
    environment = {
        "AWS_ENDPOINT_URL": endpoint, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "key-must-stay-secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }  # fmt: skip
    command = [sys.executable, "-m", "moto.server", "--host", "127.0.0.1", "--port", str(port)]
    with (tmp_path_factory.mktemp("s3") / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        wait_for(lambda: server.poll() is not None or _answers(endpoint), 60, "the object store")
        requests.put(f"{endpoint}/{BUCKET}", timeout=30).raise_for_status()
        for folder in FOLDERS:
            for file in (path for path in (REAL / folder).rglob("*") if path.is_file()):
                kept = requests.put(f"{endpoint}/{BUCKET}/{file.relative_to(REAL)}", data=file.read_bytes(), timeout=30)
                kept.raise_for_status()
        yield environment
    finally:
        server.terminate()
        server.wait(timeout=30)


def _answers(endpoint: str) -> bool:
    try:
        return requests.get(endpoint, timeout=5).status_code < 500
    except requests.ConnectionError:
        return False


def analyze(path: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run ``sparkfuse analyze --json`` as a user does."""
    return subprocess.run(
        [SPARKFUSE, "analyze", path, "--json"],
        env={"HOME": "/nonexistent", **environment}, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS)
def test_log_in_s3_gives_the_local_analysis(store: dict[str, str], folder: str) -> None:
    """Logs of two codecs and a rolling log of several files give the same analysis in the object store as on disk."""
    (log,) = (REAL / folder).iterdir()
    here = analyze(str(log), {})
    there = analyze(f"s3://{BUCKET}/{folder}/{log.name}", store)

    assert here.returncode in {FOUND_NOTHING, FOUND_SOMETHING}, here.stderr
    assert there.returncode == here.returncode, there.stderr
    assert json.loads(there.stdout.replace(f"s3://{BUCKET}/", f"{REAL}/")) == json.loads(here.stdout)


def test_missing_log_is_reported_without_the_key(store: dict[str, str]) -> None:
    """If a log is missing or the object store does not answer, the error contains no credentials."""
    missing = analyze(f"s3://{BUCKET}/nowhere", store)
    gone = analyze(f"s3://{BUCKET}/queries-35", {**store, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"})

    assert missing.returncode == gone.returncode == NO_INPUT
    assert missing.stderr == f"sparkfuse: s3://{BUCKET}/nowhere: there is no such file or folder\n"
    assert re.match(rf"sparkfuse: s3://{BUCKET}/queries-35: .+", gone.stderr), gone.stderr
    assert "Traceback" not in gone.stderr
    assert "key-must-stay-secret" not in missing.stderr + gone.stderr
