import re
import subprocess
import sys
from pathlib import Path

import dockerfile
import pytest

from tests.kubernetes_manifests import environments, manifests, pods

ROOT = Path(__file__).parents[3]
FILE = ROOT / "deploy" / "Dockerfile"
COMMANDS = dockerfile.parse_file(str(FILE))
HADOLINT = Path(sys.executable).with_name("hadolint")


def commands(name: str) -> list[tuple[str, ...]]:
    return [each.value for each in COMMANDS if each.cmd.upper() == name]


def lint(path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HADOLINT, "--no-color", path], capture_output=True, text=True, check=False, timeout=60)


def test_dockerfile_has_no_lint():
    """Hadolint, which also checks the shell code, reports nothing."""
    found = lint(FILE)

    assert (found.returncode, found.stdout) == (0, "")


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("FROM python:3.11.14-slim-bookworm", "FROM python", id="version"),
        pytest.param("USER 10001:10001", "USER root", id="user"),
        pytest.param("pip install --no-cache-dir", "pip install", id="cache"),
        pytest.param("WORKDIR /var/lib/sparkfuse", "WORKDIR sparkfuse", id="folder"),
    ],
)
def test_lint_rejects_mistakes(right: str, wrong: str, tmp_path: Path):
    """Hadolint reports an image without a version, a root user, a cache in a layer and a relative folder."""
    changed = tmp_path / "Dockerfile"
    text = FILE.read_text()
    assert right in text
    changed.write_text(text.replace(right, wrong))

    assert lint(changed).returncode == 1


def test_base_images_have_exact_versions():
    """Each base image has a version with at least two numbers."""
    images = [value[0] for value in commands("FROM")]

    assert len(images) == 3
    assert all(re.search(r":\d+\.\d+", image) for image in images)


def test_copied_files_exist():
    """Each file that the image copies from the repository exists, and .dockerignore does not exclude it."""
    ignored = {line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and not line.startswith("#")}
    sources = [
        source
        for each in COMMANDS
        if each.cmd.upper() == "COPY" and not any(flag.startswith("--from") for flag in each.flags)
        for source in each.value[:-1]
    ]

    assert len(sources) >= 8
    assert all((ROOT / source).exists() for source in sources)
    assert not ignored & set(sources)


@pytest.mark.parametrize("environment", environments())
def test_manifests_name_what_the_image_contains(environment: str):
    """The user, the Python and the jar in the manifests are those of the image."""
    (user,) = commands("USER")
    users = {
        f"{each.spec['securityContext'][f'runAs{kind}']}" for each in pods(environment) for kind in ("User", "Group")
    }
    assert user == ("10001:10001",)
    assert users == {"10001"}
    assert commands("FROM")[-1][0].startswith("python:")  # its Python is /usr/local/bin/python
    for each in manifests(environment, "FlinkDeployment"):
        options, job = each["spec"]["flinkConfiguration"], each["spec"]["job"]
        assert options["python.executable"] == options["python.client.executable"] == "/usr/local/bin/python"
        assert job["args"][:2] == ["-pyclientexec", "/usr/local/bin/python"]
        scheme, _, _ = options["execution.checkpointing.dir"].partition("://")
        assert scheme in {"s3a", "abfss", "gs"}  # the Dockerfile copies their plugins
