"""``python -m sparkfuse_rules.generate``: write the files that are generated from the rules, or compare them."""

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
from sparkfuse_rules.policies import policy_file
from sparkfuse_rules.prices import read_prices

ROOT = Path(__file__).parents[2]
PATH = ROOT / "rules" / "generated" / "offline.json"
INHIBITIONS = ROOT / "rules" / "generated" / "inhibitions.json"
POLICIES = ROOT / "rules" / "generated" / "fuse_policies.jsonl"
# Job code reads no YAML, because it uses only the standard library.
HOOK_PRICES = ROOT / "cli" / "sparkfuse" / "hook_prices.py"


def generated_files() -> dict[Path, str]:
    """Return the content of each generated file. Raises RuleError."""
    rules = json.dumps(as_data(compile_offline()), indent=1, ensure_ascii=False) + "\n"
    inhibitions = json.dumps(inhibition.as_data(inhibition.inhibitions(load_catalog().values())), indent=1) + "\n"
    return {
        PATH: rules,
        INHIBITIONS: inhibitions,
        POLICIES: policy_file(load_catalog().values()),
        HOOK_PRICES: _hook_prices(),
        documents.IDENTITY_PATH: documents.identity_page(),
        documents.FAILURES_PATH: documents.failures_page(),
        documents.FUSE_POLICIES_PATH: documents.fuse_policies_page(load_catalog().values()),
    }


def _hook_prices() -> str:
    prices = read_prices(None)
    assert prices is not None, "only a sparkfuse.yaml switches prices off"
    return (
        '"""The list price of a core-hour; generated from rules/prices.yaml by `make generate`."""\n\n'
        f'CORE_HOUR = {prices.core_hour}\nCURRENCY = "{prices.currency}"\n'
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them with the catalog; return 0, 1 if a file differs, or 2 for an invalid rule."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_rules.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    check = parser.parse_args(arguments).check
    try:
        files = generated_files()
    except RuleError as error:
        print(error, file=sys.stderr)
        return 2
    stale = {path: text for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text}
    for path, text in stale.items():
        if check:
            print(f"{path.relative_to(ROOT)} is out of date; run `make generate`", file=sys.stderr)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
