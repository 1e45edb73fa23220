import ast
import subprocess
import sys
from pathlib import Path

import pytest

# The oldest Python that PySpark 3.3 to 3.5 support; job code imports the hook.
OLDEST_PYTHON = (3, 9)
HOOK_MODULES = ("__init__", "hook", "hook_block", "hook_driver", "hook_errors")
LOADED_BY_JOBS = [f"cli/sparkfuse/{name}.py" for name in HOOK_MODULES]


@pytest.mark.parametrize("path", LOADED_BY_JOBS)
def test_job_code_modules_parse_on_python_3_9(repository: Path, path: str):
    """The files that job code imports use no syntax newer than Python 3.9."""
    tree = ast.parse((repository / path).read_text(), feature_version=OLDEST_PYTHON)

    assert tree.body


def test_job_code_imports_only_the_standard_library(repository: Path):
    """`import sparkfuse.hook` needs no installed package, and imports no other module of Sparkfuse."""
    code = (
        f"import sys; sys.path.insert(0, {str(repository / 'cli')!r});"
        "before = set(sys.modules); import sparkfuse.hook;"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before};"
        "print(sorted(new - sys.stdlib_module_names))"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)

    assert ran.stdout.strip() == "['sparkfuse']", ran.stderr
