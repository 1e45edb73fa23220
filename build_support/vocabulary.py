"""Report words that docs/glossary.md replaces, in all text files of the repository.

The list is in vocabulary.tsv beside this file. Exit code 1 if a word is found.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
WORDS = Path(__file__).with_name("vocabulary.tsv")
ENDINGS = ("Makefile", ".java", ".md", ".proto", ".py", ".pyi", ".rs", ".sh", ".sql", ".tmpl", ".toml", ".yaml", ".yml")
# Text that we did not write, migrations that must not change once applied, and files that quote replaced words.
SKIPPED = re.compile(
    r"^(dashboards/vendor|build_support/vocabulary|native_analytics/schema/|tests/logs/[a-z]+/)"
    r"|/generated/|^CHANGELOG\.md$|test_repository_vocabulary\.py$"
)
ALLOWED = re.compile(r"Circuit_?Breaker|circuit[ -]breaker", re.IGNORECASE)


@dataclass(frozen=True)
class Word:
    """A word that the glossary replaces, what to write instead, and the files in which it is allowed."""

    pattern: re.Pattern[str]
    instead: str
    allowed_files: re.Pattern[str]


def read_words() -> list[Word]:
    """Read the list of words."""
    rows = [line.split("\t") for line in WORDS.read_text().splitlines() if line and not line.startswith("#")]
    return [
        Word(
            re.compile(rf"(?<![a-z])(?:{words})(?![a-z])", re.IGNORECASE),
            instead,
            re.compile(files[0] if files else r"\A\Z"),
        )
        for words, instead, *files in rows
    ]


def find(name: str, text: str, words: list[Word]) -> Iterator[tuple[int, str, str]]:
    """Yield line number, word and replacement for each replaced word in ``text`` of the file ``name``."""
    active = [word for word in words if not word.allowed_files.search(name)]
    for number, line in enumerate(text.splitlines(), start=1):
        checked = ALLOWED.sub("", line)
        for word in active:
            if found := word.pattern.search(checked):
                yield number, found.group(), word.instead


def main() -> int:
    """Print one line for each replaced word and return the exit code."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [name for name in listed.stdout.splitlines() if name.endswith(ENDINGS) and not SKIPPED.search(name)]
    words, count = read_words(), 0
    for name in files:
        path = ROOT / name
        if not path.exists():  # the file was deleted, and the deletion is not committed yet
            continue
        for number, word, instead in find(name, path.read_text(encoding="utf-8"), words):
            print(f"{name}:{number}: {word!r}: write {instead}")
            count += 1
    if count:
        print(f"vocabulary: {count} words must be replaced, see docs/glossary.md", file=sys.stderr)
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
