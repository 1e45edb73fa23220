import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def tracked(pattern: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", pattern], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).exists()]


def targets() -> dict[str, str]:
    """Return each public target of the Makefile with its line of help, or with an empty string if it has none."""
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
def test_every_target_has_help(name: str):
    """`make help` describes every target."""
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert targets()[name]
    assert targets()[name] in shown


@pytest.mark.parametrize("document", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_make_commands_in_documents_exist(document: Path):
    """Every `make` command in a document names an existing target."""
    unknown = commands(document) - targets().keys()

    assert not unknown


def test_readme_has_the_two_commands():
    """The README contains `make demo` and `make test`."""
    assert {"demo", "test"} <= commands(ROOT / "README.md")


@pytest.mark.parametrize("document", tracked("*.md"), ids=lambda path: str(path.relative_to(ROOT)))
def test_links_in_documents_exist(document: Path):
    """Every relative link in a document leads to an existing file."""
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)", document.read_text())
    broken = [link for link in links if not (document.parent / link).exists()]

    assert not broken


@pytest.mark.parametrize(
    "component",
    [
        "alertmanager",
        "cli",
        "collectors",
        "console",
        "contracts",
        "dashboards",
        "native_analytics",
        "rules",
        "stream_jobs",
    ],
)
def test_every_component_has_a_short_readme(component: str):
    """The README of a component has a title and at most 120 lines."""
    lines = (ROOT / component / "README.md").read_text().splitlines()

    assert lines[0].startswith("# ")
    assert len(lines) <= 120
