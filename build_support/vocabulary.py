"""Report words that docs/glossary.md replaces, in all text files of the repository.

The list is in vocabulary.tsv beside this file. Exit code 1 if a word is found.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = Path(__file__).with_name("vocabulary.tsv")
ENDINGS = ("Makefile", ".java", ".md", ".proto", ".py", ".pyi", ".rs", ".sh", ".sql", ".tmpl", ".toml", ".yaml", ".yml")
# Text that we did not write, the list itself, and pages that quote what they replace.
SKIPPED = re.compile(r"^(dashboards/vendor|build_support/vocabulary|tests/logs/[a-z]+/)|/generated/|^CHANGELOG\.md$")
ALLOWED = re.compile(r"Circuit_?Breaker|circuit[ -]breaker", re.IGNORECASE)


def read_words() -> list[tuple[re.Pattern[str], str]]:
    """Return each expression with the text that says what to write instead."""
    lines = [line.split("\t") for line in WORDS.read_text().splitlines() if line and not line.startswith("#")]
    return [(re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE), instead) for words, instead in lines]


def find(text: str, words: list[tuple[re.Pattern[str], str]]) -> Iterator[tuple[int, str, str]]:
    """Yield line number, word and replacement for each replaced word in ``text``."""
    for number, line in enumerate(text.splitlines(), start=1):
        checked = ALLOWED.sub("", line)
        for pattern, instead in words:
            if found := pattern.search(checked):
                yield number, found.group(), instead


def main() -> int:
    """Print one line for each replaced word and return the exit code."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if name.endswith(ENDINGS) and not SKIPPED.search(name)]
    words, count = read_words(), 0
    for name in files:
        path = ROOT / name
        if not path.exists():  # deleted, not yet committed
            continue
        for number, word, instead in find(path.read_text(encoding="utf-8"), words):
            print(f"{name}:{number}: {word!r}: write {instead}")
            count += 1
    if count:
        print(f"vocabulary: {count} replaced words, see docs/glossary.md", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
