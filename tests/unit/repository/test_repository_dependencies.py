import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
# The extras that must list the imports of each package; the command line is installed with all extras.
EXTRAS = {
    "alertmanager/sparkfuse_alertmanager": ("core", "outputs"),
    "cli/sparkfuse": ("core", "stream", "native", "ship", "outputs", "console", "cli"),
    "collectors/sparkfuse_collectors": ("core", "ship"),
    "console/sparkfuse_console": ("core", "console", "native"),
    "contracts/sparkfuse_contracts": ("core",),
    "dashboards/sparkfuse_dashboards": ("core", "outputs"),
    "native_analytics/sparkfuse_native_analytics": ("core", "native", "outputs"),
    "rules/sparkfuse_rules": ("core",),
    "stream_jobs/sparkfuse_stream_jobs": ("core", "stream"),
}
# PyFlink requires these packages, so we do not list them.
BROUGHT_BY_FLINK = {"apache_beam", "grpc", "numpy", "pandas", "py4j"}
# Airflow's environment has this package, and only `sparkfuse.airflow` imports the package.
BROUGHT_BY_USERS = {"airflow"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(extras: tuple[str, ...]) -> set[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [line for extra in extras for line in project["optional-dependencies"][extra]]
    return {normal(re.split(r"[\[<>=! ]", line, maxsplit=1)[0]) for line in lines}


def imported(package: Path) -> set[str]:
    names = set()
    for path in package.rglob("*.py"):
        if "jobs" in path.parts:  # example jobs run in the Spark environments
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                names.add(node.module.partition(".")[0])
    ours = {name for name in names if name.startswith("sparkfuse") and name != "sparkfuse_kernel"}
    return names - set(sys.stdlib_module_names) - ours


@pytest.mark.parametrize("package", EXTRAS)
def test_what_a_package_imports_is_in_its_extras(package: str):
    """Each extra lists all packages that the code imports, instead of relying on dependencies of other packages."""
    providers = packages_distributions()
    promised = declared(EXTRAS[package])
    undeclared = {
        name
        for name in imported(ROOT / package) - BROUGHT_BY_FLINK - BROUGHT_BY_USERS
        if not promised & {normal(provider) for provider in providers.get(name, [])}
    }

    assert not undeclared
