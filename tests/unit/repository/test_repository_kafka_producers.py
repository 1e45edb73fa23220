"""Tests that every Kafka producer of the product uses the shared configuration."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[3]


def _producers(tree: ast.AST) -> list[ast.Call]:
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Producer"]


def test_producers_share_one_partitioner() -> None:
    """Each `Producer` is made from `producer_configuration`, which selects the partitioner of the Java client."""
    folders = ("alertmanager", "cli", "collectors", "native_analytics", "stream_jobs")
    files = [file for folder in folders for file in (ROOT / folder).glob("sparkfuse*/**/*.py")]
    found = {f"{file.relative_to(ROOT)}: {ast.unparse(call.args[0])[:23]}"
             for file in files for call in _producers(ast.parse(file.read_text()))}  # fmt: skip

    assert len(found) >= 9
    assert [each for each in found if not each.endswith(": producer_configuration(")] == []
