"""``python -m sparkfuse_rules.generate``: writes the compiled rules of the catalog, or compares them (--check)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sparkfuse_rules.compiled import as_data, compile_at_rest
from sparkfuse_rules.refusal import RuleRefused

PATH = Path(__file__).parents[1] / "generated" / "at_rest.json"


def made() -> str:
    """What the file must hold. Raises RuleRefused."""
    return json.dumps(as_data(compile_at_rest()), indent=1, ensure_ascii=False) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; returns 0, 1 for a difference, 2 for a refused rule."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_rules.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when something would change")
    check = parser.parse_args(arguments).check
    try:
        text = made()
    except RuleRefused as refused:
        print(refused, file=sys.stderr)
        return 2
    if PATH.exists() and PATH.read_text(encoding="utf-8") == text:
        return 0
    if check:
        print("rules/generated/at_rest.json is not what `make generate` makes", file=sys.stderr)
        return 1
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
