"""Fixtures with real parts that tests of several components share."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from urllib.error import URLError

import pytest

from tests.waiting import wait_for

STORE_SECONDS = 180


@pytest.fixture(scope="session")
def store_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of an embedded store that all tests of the run share; each test must create its own database.

    The store is a separate process, because the engine allows only one data path per process.
    """
    folder = tmp_path_factory.mktemp("store")
    command = [sys.executable, "-m", "sparkfuse_native_analytics.store.server", "--path", str(folder), "--port", "0"]
    log = folder.parent / "store.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, stderr=output, stdout=output)
    try:
        url = wait_for(lambda: _address(log.read_text()), STORE_SECONDS, "the store's address in its log")
        wait_for(lambda: _answers(f"{url}/ping"), STORE_SECONDS, "the store's answer")
        yield url
    finally:
        process.terminate()
        process.wait(STORE_SECONDS)


def _address(log: str) -> str:
    _, found, rest = log.partition("serving at ")
    return rest.split()[0] if found and "\n" in rest else ""


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
