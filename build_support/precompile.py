"""Compiles the packages that `sparkfuse analyze` imports, so that the command starts faster.

uv installs packages without bytecode, and with PYTHONDONTWRITEBYTECODE Python writes none; each start would then take
a second longer.
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
    """Compile each package; return 1 if a file is not valid Python."""
    done = [compileall.compile_dir(folder, quiet=1, rx=NOT_NEEDED, workers=0) for folder in map(folder_of, PACKAGES)]
    return 0 if all(done) else 1


def folder_of(package: str) -> Path:
    """Return the folder of a package without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{package} is not installed: run `make setup`")
    return Path(spec.origin).parent


if __name__ == "__main__":
    sys.exit(main())
