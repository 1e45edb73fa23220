"""Fixtures: a console without a store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console_server import RunningConsole, serving

NO_STORE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def console() -> Iterator[RunningConsole]:
    """Return a console whose store does not answer."""
    with serving(NO_STORE, "https://spark.example:8443") as running:
        yield running
