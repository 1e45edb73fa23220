"""``python -m sparkfuse_alertmanager.generate``: write the rules' inhibitions to alertmanager.yml, or check them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse_alertmanager.inhibition import inhibit_rules
from sparkfuse_rules.catalog_inhibitions import catalog_inhibitions

PATH = Path(__file__).parents[1] / "alertmanager.yml"
BEGIN = "  # Begin of the generated part: the key `inhibits` of rules/catalog, written by `make generate`.\n"
END = "  # End of the generated part.\n"


def with_inhibitions(configuration: str) -> str:
    """Return the configuration with the inhibitions of the catalog between its two marker lines."""
    before, _, rest = configuration.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(_written(rule) for rule in inhibit_rules(catalog_inhibitions())) + END + after


def _written(rule: Mapping[str, Sequence[str]]) -> str:
    matchers = {name: ", ".join(f"'{matcher}'" for matcher in rule[name]) for name in rule if name != "equal"}
    return (
        f"  - source_matchers: [{matchers['source_matchers']}]\n"
        f"    target_matchers: [{matchers['target_matchers']}]\n"
        f"    equal: [{', '.join(rule['equal'])}]\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or compare it with the catalog; return 0, or 1 if they differ."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_alertmanager.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the file would change")
    configuration = PATH.read_text(encoding="utf-8")
    expected = with_inhibitions(configuration)
    if expected == configuration:
        return 0
    if parser.parse_args(arguments).check:
        print("alertmanager/alertmanager.yml is out of date; run `make generate`", file=sys.stderr)
        return 1
    PATH.write_text(expected, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
