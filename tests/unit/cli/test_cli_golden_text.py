"""Compares what `sparkfuse analyze` and `sparkfuse compare` print on a terminal of 80 columns with golden files.

``SPARKFUSE_WRITE_GOLDEN=1 pytest tests/unit/cli/test_cli_golden_text.py`` writes the golden files again; review the
differences.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
DETECTION = "tests/logs/detection"
COMPARE = "tests/integration/native_analytics/compare/logs"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("analyze_failed_query", ["analyze", f"{DETECTION}/user-error.zstd"]),
        ("analyze_skewed_join", ["analyze", f"{DETECTION}/skewed.zstd"]),
        ("analyze_spill", ["analyze", f"{DETECTION}/spills.zstd"]),
        (
            "analyze_slow_with_history",
            ["analyze", f"{DETECTION}/slow-join.zstd", "--history"]
            + [f"{DETECTION}/history-{number}.zstd" for number in range(1, 7)],
        ),
        ("compare_slower_code", ["compare", f"{COMPARE}/usual.zstd", f"{COMPARE}/slower_code.zstd"]),
        ("compare_other_join", ["compare", f"{COMPARE}/usual.zstd", f"{COMPARE}/other_join.zstd"]),
    ],
)
def test_output_matches_golden_file(name: str, arguments: list[str]):
    """The output equals the golden file, so a change of a message, number or layout is visible."""
    done = subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "80"},
    )
    actual = "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        path.write_text(actual)

    assert actual == path.read_text()
    assert max(map(len, actual.splitlines())) <= 80
    assert "NativeMethodAccessorImpl" not in actual
