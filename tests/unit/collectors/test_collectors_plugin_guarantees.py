from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
GUARANTEES = {f"{number:02}" for number in range(1, 16)}


def test_each_guarantee_has_a_test_and_a_line_in_the_docs() -> None:
    """Each guarantee of the plugin has a number that occurs in the name of a test and in a row of docs/plugin.md."""
    java = ROOT.glob("collectors/spark-plugin/src/test/java/**/*Test.java")
    python = (ROOT / "tests").glob("**/test_*.py")
    tested = set()
    for file in [*java, *python]:
        for name in re.findall(r"(?:void|def) \w*guarantee_\w+", file.read_text()):
            tested |= set(re.findall(r"(?:guarantee|and)_(\d\d)", name))
    documented = re.findall(r"^\| (\d\d) \|", (ROOT / "docs/plugin.md").read_text(), re.MULTILINE)

    assert tested == GUARANTEES
    assert set(documented) == GUARANTEES
