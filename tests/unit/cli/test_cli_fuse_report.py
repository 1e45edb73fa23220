"""Compares the text of `sparkfuse fuse report` with a golden file; SPARKFUSE_WRITE_GOLDEN=1 writes the file again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sparkfuse.commands import fuse_output
from sparkfuse_native_analytics.fuse_operator.rule_costs import RuleCosts
from sparkfuse_native_analytics.fuse_operator.state import RuleReport

GOLDEN = Path(__file__).parent / "golden" / "fuse_report.txt"
PROBED = {"healthy_runs": 312, "false_positives": 0, "true_positives": 4, "false_negatives": 1}


def test_report_matches_golden_file(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The report shows known costs with their currency; unknown costs are not shown as 0."""
    monkeypatch.setenv("COLUMNS", "200")
    known = RuleCosts("USD", 1234.5, 80.25, 2, 0.004)
    rows = [
        RuleReport("stage_runaway_spill", "f00d" * 16, **PROBED, acts=3, ended=2, unfreed=1,
                   median_seconds_saved=95.2, costs=known),
        RuleReport("task_stuck", "beef" * 16, **PROBED, acts=0, ended=0, unfreed=0, median_seconds_saved=None,
                   costs=RuleCosts()),
    ]  # fmt: skip

    fuse_output.print_report(rows)

    actual = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        GOLDEN.write_text(actual)
    assert actual == GOLDEN.read_text()
