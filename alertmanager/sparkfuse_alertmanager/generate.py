"""``python -m sparkfuse_alertmanager.generate``: writes the rules' inhibitions into the configuration, or compares."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse_alertmanager.causes import known
from sparkfuse_alertmanager.inhibition import inhibit_rules

PATH = Path(__file__).parents[1] / "alertmanager.yml"
BEGIN = "  # From here on: the key `inhibits` of rules/catalog, written by `make generate`.\n"
END = "  # End of what is generated.\n"


def made(configuration: str) -> str:
    """The configuration with the inhibitions of the catalog between its two marks."""
    before, _, rest = configuration.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + "".join(_written(rule) for rule in inhibit_rules(known())) + END + after


def _written(rule: Mapping[str, Sequence[str]]) -> str:
    matchers = {name: ", ".join(f"'{matcher}'" for matcher in rule[name]) for name in rule if name != "equal"}
    return (
        f"  - source_matchers: [{matchers['source_matchers']}]\n"
        f"    target_matchers: [{matchers['target_matchers']}]\n"
        f"    equal: [{', '.join(rule['equal'])}]\n"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; returns 0, or 1 for a difference."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_alertmanager.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when something would change")
    configuration = PATH.read_text(encoding="utf-8")
    wanted = made(configuration)
    if wanted == configuration:
        return 0
    if parser.parse_args(arguments).check:
        print("alertmanager/alertmanager.yml is not what `make generate` makes", file=sys.stderr)
        return 1
    PATH.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
