import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMPONENTS = (
    "alertmanager",
    "cli",
    "collectors",
    "console",
    "contracts",
    "dashboards",
    "native_analytics",
    "rules",
    "stream_jobs",
)


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    shutil.copy(repository / "pyproject.toml", tree)
    for package in repository.glob("*/sparkfuse*/__init__.py"):
        source = package.parent
        shutil.copytree(source, tree / source.relative_to(repository), ignore=shutil.ignore_patterns("__pycache__"))
    return tree


def check_layers(tree: Path) -> subprocess.CompletedProcess[str]:
    # -S disables site-packages, so that the copy is read and not the editable install.
    site_packages = next(path for path in sys.path if path.endswith("site-packages"))
    paths = [str(tree / component) for component in COMPONENTS] + [site_packages]
    code = f"import sys; sys.path[:0] = {paths!r}; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
    command = [sys.executable, "-S", "-c", code]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def test_layers_hold(copied_tree: Path):
    """Components import only rules and contracts; the package of the command line may import all components."""
    checked = check_layers(copied_tree)

    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        pytest.param("contracts/sparkfuse_contracts", "sparkfuse_rules", id="contracts import rules"),
        pytest.param("rules/sparkfuse_rules", "sparkfuse_stream_jobs", id="rules import a component"),
        pytest.param("collectors/sparkfuse_collectors", "sparkfuse_alertmanager", id="a component imports another"),
        pytest.param("native_analytics/sparkfuse_native_analytics", "sparkfuse_console", id="a component, the console"),
        pytest.param("console/sparkfuse_console", "clickhouse_connect", id="the console imports a database driver"),
        pytest.param("dashboards/sparkfuse_dashboards", "sparkfuse", id="a component imports the command line"),
        pytest.param("rules/sparkfuse_rules", "confluent_kafka", id="rules import a broker's client"),
    ],
)
def test_forbidden_import_fails_the_check(copied_tree: Path, importer: str, imported: str):
    """If there is one forbidden import, the check fails and names both modules."""
    bad = copied_tree / importer / "forbidden_import.py"
    bad.write_text(f"import {imported}\n")
    try:
        checked = check_layers(copied_tree)
    finally:
        bad.unlink()

    assert checked.returncode == 1
    assert f"{bad.parent.name}.forbidden_import -> {imported}" in checked.stdout
