import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# Written in two parts, so that this file does not match its own patterns.
MACHINE_PATHS = re.compile(r"(?<![\w.$}-])/(?:ro" r"ot|wo" r"rk|ho" r"me|farm)/(?!sparkfuse)\w")
REGISTRIES = re.compile(
    r"https?://[^\s\"']*(?:py" r"pi\.org|pythonho" r"sted\.org|crat" r"es\.io/api|repo1?\.maven|repo\.mav" r"en)"
)


def tracked_texts() -> list[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = []
    for name in listed.stdout.split("\0"):
        content = (ROOT / name).read_bytes() if name and (ROOT / name).is_file() else b""
        if content and b"\0" not in content[:8000]:
            texts.append((name, content.decode(errors="replace")))
    return texts


@pytest.mark.parametrize("unwanted", [MACHINE_PATHS, REGISTRIES], ids=["machine paths", "registry addresses"])
def test_tree_contains_no(unwanted: re.Pattern[str]):
    """No file of the repository contains a machine's path or a package registry's address."""
    found = [f"{name}: {match.group()}" for name, text in tracked_texts() for match in unwanted.finditer(text)]

    assert not found


@pytest.mark.parametrize("environment", ["main", "codegen", "spark35", "spark4", "tools"])
def test_every_requirement_is_pinned_with_a_hash(environment: str):
    """Every requirement has one version and a hash."""
    text = (ROOT / "requirements" / f"{environment}.txt").read_text()
    requirements = re.findall(r"^[a-zA-Z0-9][^\n]*", text, re.MULTILINE)
    pinned = re.findall(r"^[a-z0-9-]+==\S+ \\\n    --hash=sha256:", text, re.MULTILINE)

    assert requirements
    assert len(pinned) == len(requirements)


def test_no_second_lock_file_is_checked_in():
    """Versions are pinned only in the requirement files; no other lock file is checked in."""
    assert not [name for name, _ in tracked_texts() if name.endswith("uv.lock")]
