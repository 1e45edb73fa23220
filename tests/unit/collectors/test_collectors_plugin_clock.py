from __future__ import annotations

from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "collectors/spark-plugin/src/main/java/io/sparkfuse/spark"


@pytest.mark.parametrize("package", ["transport", "safety", "settings"])
def test_waiting_code_uses_the_monotonic_clock(package: str) -> None:
    """Code that waits, retries or gives up uses the monotonic clock; the system time is only for timestamps."""
    files = list((SOURCES / package).glob("*.java"))

    assert files
    assert [file.name for file in files if "currentTimeMillis" in file.read_text()] == []
