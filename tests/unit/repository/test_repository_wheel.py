import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

# asset("package", "first part", ...): files of a component that are not Python.
READ = re.compile(r'asset\(\s*(?:"(\w+)"|PACKAGE),\s*"([\w.-]+)"(?:,\s*"([\w.-]+)")?')
BUILT = "flink-functions"  # a build product; an installed wheel finds it through SPARKFUSE_FLINK_LIBS


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=repository, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("sparkfuse-*.whl")))


def read_assets(repository: Path) -> set[str]:
    found = set()
    for source in repository.glob("*/sparkfuse_*/**/*.py"):
        package = source.relative_to(repository).parts[1]
        for named, first, second in READ.findall(source.read_text()):
            parts = [first, second] if first == "generated" and second else [first]
            if first != BUILT:
                found.add("/".join([named or package, "assets", *parts]))
    return found


def test_wheel_contains_all_assets(wheel: zipfile.ZipFile, repository: Path):
    """The wheel contains every file that `asset()` reads."""
    names = wheel.namelist()
    wanted = read_assets(repository)
    missing = {path for path in wanted if not any(name == path or name.startswith(f"{path}/") for name in names)}

    assert len(wanted) >= 10
    assert not missing


def test_wheel_contains_only_our_packages(wheel: zipfile.ZipFile):
    """The wheel adds no package whose name does not start with sparkfuse."""
    tops = {name.partition("/")[0] for name in wheel.namelist()}

    assert all(top.startswith("sparkfuse") for top in tops)


def test_distribution_without_extras_has_no_requirements(wheel: zipfile.ZipFile):
    """Without extras, the distribution requires no package.

    A job can therefore install the distribution beside any version of PySpark.
    """
    metadata = wheel.read("sparkfuse-0.1.0.dist-info/METADATA").decode()
    requirements = re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE)

    assert requirements
    assert all("extra ==" in requirement for requirement in requirements)
    assert "Requires-Python: >=3.9" in metadata
