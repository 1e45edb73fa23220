import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def targets() -> dict[str, str]:
    """Each target that a person calls, with its line of help ('' without one)."""
    text = (ROOT / "Makefile").read_text()
    phony = re.findall(r"^\.PHONY: (\S+)$", text, re.MULTILINE)
    helped = dict(re.findall(r"^([a-z0-9-]+):.*?## (.+)$", text, re.MULTILINE))
    return {name: helped.get(name, "") for name in phony if name != "everything"}


def commands(document: Path) -> set[str]:
    return set(re.findall(r"(?<![\w-])make ([a-z][a-z0-9-]+)(?=[`\s]|$)", _code(document), re.MULTILINE))


def _code(document: Path) -> str:
    text = document.read_text()
    return "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL) + re.findall(r"`[^`\n]+`", text))


@pytest.mark.parametrize("name", sorted(targets()))
def test_every_target_has_a_line_of_help(name: str):
    """`make help` tells of each target what it is for."""
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert targets()[name]
    assert targets()[name] in shown


@pytest.mark.parametrize("document", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_make_commands_in_documents_exist(document: Path):
    """Whoever copies a `make` command from a document has a target of that name."""
    unknown = commands(document) - targets().keys()

    assert not unknown


def test_the_quick_start_has_the_two_commands():
    """A reader of the README finds the demo and the tests."""
    assert {"demo", "test"} <= commands(ROOT / "README.md")


@pytest.mark.parametrize("document", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_in_documents_lead_somewhere(document: Path):
    """A link to a file of the checkout leads to a file that is there."""
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", document.read_text())
    broken = [link for link in links if not (document.parent / link).exists()]

    assert not broken


@pytest.mark.parametrize(
    "room",
    ["alertmanager", "cli", "collectors", "contracts", "dashboards", "native_analytics", "rules", "stream_jobs"],
)
def test_every_room_tells_what_it_is(room: str):
    """A room's README is short and says what lives there."""
    lines = (ROOT / room / "README.md").read_text().splitlines()

    assert lines[0].startswith("# ")
    assert len(lines) <= 120
