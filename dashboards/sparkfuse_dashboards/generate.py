"""``python -m sparkfuse_dashboards.generate``: writes dashboards and rule pages, or compares them (--check)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse_dashboards.dashboard import to_json
from sparkfuse_dashboards.fleet import fleet
from sparkfuse_dashboards.rule_pages import pages
from sparkfuse_dashboards.running_job import running_job
from sparkfuse_rules.catalog import load_catalog

ROOT = Path(__file__).parents[2]
FOLDERS = ("dashboards/generated", "docs/rules")


def generated() -> Mapping[str, str]:
    """Return the content of every generated file by its path in the repository."""
    catalog = load_catalog()
    made = {
        "dashboards/generated/running_job.json": to_json(running_job()),
        "dashboards/generated/fleet.json": to_json(fleet(catalog)),
    }
    return made | {f"docs/rules/{name}": text for name, text in pages(catalog).items()}


def differences(made: Mapping[str, str], root: Path = ROOT) -> list[str]:
    """Return the files below ``root`` that are missing, superfluous or different from those in ``made``."""
    present = {
        str(path.relative_to(root)): path.read_text()
        for folder in FOLDERS
        for path in (root / folder).rglob("*")
        if path.is_file()
    }
    return [name for name in sorted(made.keys() | present.keys()) if made.get(name) != present.get(name)]


def write(made: Mapping[str, str], root: Path = ROOT) -> None:
    """Write the changed files below ``root`` and remove superfluous ones; an unchanged file keeps its time."""
    for name in differences(made, root):
        if name not in made:
            (root / name).unlink()
            continue
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(made[name])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them with ``--check``; return 0, or 1 if a file differs."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_dashboards.generate", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a file would change")
    if not parser.parse_args(arguments).check:
        write(generated())
        return 0
    found = differences(generated())
    for name in found:
        print(f"{name} is out of date; run `make generate`", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
