"""The golden rows: the expected row of each example in Flink and in the store. An omitted column is NULL.

``SPARKFUSE_WRITE_GOLDEN=1 pytest tests/integration/contracts`` writes the golden rows; review the difference.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparkfuse_contracts.assets import asset

Rows = Mapping[str, Mapping[str, Any]]


def golden(kind: str, name: str, actual: Rows) -> Rows:
    """Return the rows of contracts/examples/golden/<kind>/<name>.json; SPARKFUSE_WRITE_GOLDEN writes them first."""
    path = _path(kind, name)
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(actual, indent=1, ensure_ascii=False) + "\n")
    rows: Rows = json.loads(path.read_text())
    return rows


def without_null(value: Any) -> Any:
    """Return the value without NULLs at any depth; zeros, empty strings and empty lists stay."""
    if isinstance(value, dict):
        return {name: without_null(each) for name, each in value.items() if each is not None}
    return [without_null(each) for each in value] if isinstance(value, list) else value


def _path(kind: str, name: str) -> Path:
    return asset("sparkfuse_contracts", "examples").joinpath("golden", kind, f"{name}.json")
