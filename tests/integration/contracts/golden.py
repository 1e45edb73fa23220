"""The golden rows: what each example becomes, checked in and read by people. A column that is left out is NULL.

``SPARKFUSE_WRITE_GOLDEN=1 pytest tests/integration/contracts`` writes them anew: look at what changed.
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
    """The rows by case of contracts/examples/golden/<kind>/<name>.json, into which the actual ones may be written."""
    path = _path(kind, name)
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(actual, indent=1, ensure_ascii=False) + "\n")
    rows: Rows = json.loads(path.read_text())
    return rows


def without_null(value: Any) -> Any:
    """The value with every NULL left out, at any depth; zeros, empty texts and empty lists stay."""
    if isinstance(value, dict):
        return {name: without_null(each) for name, each in value.items() if each is not None}
    return [without_null(each) for each in value] if isinstance(value, list) else value


def _path(kind: str, name: str) -> Path:
    return asset("sparkfuse_contracts", "examples").joinpath("golden", kind, f"{name}.json")
