"""``python -m sparkfuse_rules.generate``: writes what follows from the rules' files, or compares it (--check)."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from sparkfuse_rules import documents, inhibition
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiled import as_data, compile_offline
from sparkfuse_rules.errors import RuleError

ROOT = Path(__file__).parents[2]
PATH = ROOT / "rules" / "generated" / "offline.json"
INHIBITIONS = ROOT / "rules" / "generated" / "inhibitions.json"


def made() -> dict[Path, str]:
    """What each file must hold. Raises RuleError."""
    rules = json.dumps(as_data(compile_offline()), indent=1, ensure_ascii=False) + "\n"
    silenced = json.dumps(inhibition.as_data(inhibition.inhibitions(load_catalog().values())), indent=1) + "\n"
    return {
        PATH: rules,
        INHIBITIONS: silenced,
        documents.IDENTITY_PATH: documents.identity_page(),
        documents.FAILURES_PATH: documents.failures_page(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; returns 0, 1 for a difference, 2 for a refused rule."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_rules.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when something would change")
    check = parser.parse_args(arguments).check
    try:
        files = made()
    except RuleError as refused:
        print(refused, file=sys.stderr)
        return 2
    stale = {path: text for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if check:
            print(f"{path.relative_to(ROOT)} is not what `make generate` makes", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
