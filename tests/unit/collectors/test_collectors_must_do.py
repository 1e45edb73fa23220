from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
POINTS = {f"{number:02}" for number in range(1, 15)}


def test_every_point_of_the_must_do_list_has_a_test_that_names_it() -> None:
    """And a line in docs/plugin.md that says which."""
    java = ROOT.glob("collectors/spark-plugin/src/test/java/**/*Test.java")
    python = (ROOT / "tests").glob("**/test_*.py")
    named = set()
    for file in [*java, *python]:
        for name in re.findall(r"(?:void|def) \w*must_do_\w+", file.read_text()):
            named |= set(re.findall(r"(?:must_do|and)_(\d\d)", name))
    told = re.findall(r"^\| (\d\d) \|", (ROOT / "docs/plugin.md").read_text(), re.MULTILINE)

    assert named == POINTS
    assert set(told) == POINTS
