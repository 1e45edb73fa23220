import subprocess
import sys
from pathlib import Path

import pytest


def run_outside(tmp_path: Path, code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "name", ["rules", "contracts", "collectors", "console", "dashboards", "tests", "cli", "build_support"]
)
def test_component_folder_is_not_importable(tmp_path: Path, name: str):
    """The name of a component folder cannot be imported: `import rules` fails even if Sparkfuse is installed."""
    ran = run_outside(tmp_path, f"import {name}")

    assert f"No module named '{name}'" in ran.stderr


@pytest.mark.parametrize(
    "package",
    [
        "sparkfuse",
        "sparkfuse_alertmanager",
        "sparkfuse_collectors",
        "sparkfuse_console",
        "sparkfuse_contracts",
        "sparkfuse_dashboards",
        "sparkfuse_kernel",
        "sparkfuse_native_analytics",
        "sparkfuse_rules",
        "sparkfuse_stream_jobs",
    ],
)
def test_each_package_imports_outside_the_checkout_with_its_types(tmp_path: Path, package: str):
    """The package of every component is installed and has a `py.typed` marker."""
    code = f"import {package}, pathlib; print((pathlib.Path({package}.__file__).parent / 'py.typed').exists())"

    assert run_outside(tmp_path, code).stdout.strip() == "True"
