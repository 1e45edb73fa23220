from __future__ import annotations

from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "collectors/spark-plugin/src/main/java/io/sparkfuse/spark"


@pytest.mark.parametrize("package", ["transport", "safety", "settings"])
def test_a_jump_of_the_clock_delays_nothing_and_gives_nothing_up(package: str) -> None:
    """What waits, retries or gives up goes by the clock that cannot jump; the other one only dates facts."""
    files = list((SOURCES / package).glob("*.java"))

    assert files
    assert [file.name for file in files if "currentTimeMillis" in file.read_text()] == []
