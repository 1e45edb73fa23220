"""Compiles what `sparkfuse analyze` imports, so that its start does not compile it again and again.

uv installs packages without bytecode, and where PYTHONDONTWRITEBYTECODE is set Python never keeps any: then a log of a
megabyte would take a second longer than its analysis does.
"""

from __future__ import annotations

import compileall
import importlib.util
import re
import sys
from pathlib import Path

PACKAGES = (
    "datafusion",
    "numpy",
    "pyarrow",
    "rich",
    "sparkfuse",
    "sparkfuse_contracts",
    "sparkfuse_native_analytics",
    "sparkfuse_rules",
)
NOT_NEEDED = re.compile(r"/tests?/|/generate/")


def main() -> int:
    """Compile each package that is installed; gives 1 when one of their files is no Python."""
    done = [compileall.compile_dir(folder, quiet=1, rx=NOT_NEEDED, workers=0) for folder in map(folder_of, PACKAGES)]
    return 0 if all(done) else 1


def folder_of(package: str) -> Path:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed: run `make setup`")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
