"""Tests that errors of the command line are one sentence and an exit code, never a stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest


def ask(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a separate process."""
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_missing_store_is_one_sentence(free_port: Callable[[], int]) -> None:
    """If the store cannot be reached, the exit code is 3 and the error names the address of the store."""
    address = f"http://127.0.0.1:{free_port()}"
    done = ask("runs", SPARKFUSE_CLICKHOUSE_URL=address)

    assert done.returncode == 3
    assert f"no ClickHouse answers at {address}: Connection refused" in done.stderr
    assert "SPARKFUSE_CLICKHOUSE_URL" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments, environment, message",
    [
        (("rules", "show", "stage_slo"), {}, "there is no rule 'stage_slo'"),
        (("findings", "--state", "burning"), {}, "--state must be firing or resolved"),
        (("runs",), {"SPARKFUSE_CLICKHOUSE_URL": "nowhere"}, "SPARKFUSE_CLICKHOUSE_URL='nowhere'"),
        (("up",), {"SPARKFUSE_WINDOW_MS": "soon"}, "SPARKFUSE_WINDOW_MS='soon'"),
        (("collector", "off", "app-1", "--started-ms", "1", "--key", "none.pem"), {}, "none.pem: cannot be read"),
        (("serve", "--host", "0.0.0.0"), {}, "the console has no login, so it listens only on loopback"),
        (("dashboards",), {"SPARKFUSE_GRAFANA_TOKEN": ""}, "SPARKFUSE_GRAFANA_TOKEN is not set"),
    ],
    ids=["unknown rule", "unknown state", "bad address", "bad number", "no key", "remote console", "no token"],
)
def test_wrong_use_is_one_sentence(
    arguments: tuple[str, ...], environment: dict[str, str], message: str, tmp_path: Path
) -> None:
    """For an invalid argument, the exit code is 2 and the error names the argument's value."""
    done = ask(*arguments, **environment, SPARKFUSE_HOME=str(tmp_path))

    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_unknown_key_names_the_most_similar_key(tmp_path: Path) -> None:
    """A misspelt key of sparkfuse.yaml stops the command with exit code 2."""
    configuration = tmp_path / "sparkfuse.yaml"
    configuration.write_text("rules:\n  stage_slow:\n    params: {min_lost_mss: 1}\n")

    done = ask("rules", "check", SPARKFUSE_CONFIG=str(configuration))

    assert done.returncode == 2
    assert "unknown param 'min_lost_mss'; did you mean 'min_lost_ms'?" in " ".join(done.stderr.split())
    assert str(configuration) in "".join(done.stderr.split())


def test_version_is_printed() -> None:
    """`sparkfuse --version` prints the version of the distribution."""
    done = ask("--version")

    assert done.returncode == 0
    assert done.stdout == f"sparkfuse {version('sparkfuse')}\n"


@pytest.mark.parametrize(
    "command",
    [
        "up",
        "demo",
        "runs",
        "run",
        "findings",
        "serve",
        "trace",
        "ship",
        "backfill",
        "compare",
        "rules test",
        "fuse hold",
        "fuse",
        "rules",
        "baselines",
        "collector",
    ],
)
def test_help_lists_the_exit_codes(command: str) -> None:
    """The help of each command lists its exit codes."""
    done = ask(*command.split(), "--help", COLUMNS="200")

    assert done.returncode == 0
    assert "Exit codes: 0: success;" in done.stdout
    assert "3: something that the command needs is missing or failed" in done.stdout


def test_every_case_of_every_shipped_rule_passes() -> None:
    """`sparkfuse rules test` runs all cases and reports their number."""
    done = ask("rules", "test")

    assert done.returncode == 0
    assert done.stdout.endswith("cases, 0 failed\n")
