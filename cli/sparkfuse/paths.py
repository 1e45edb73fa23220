"""Paths of what `make setup` builds."""

from __future__ import annotations

from pathlib import Path

from sparkfuse.stack.errors import StartError

ROOT = Path(__file__).resolve().parents[2]
"""The root of the repository."""
KAFKA_LIBRARIES = ROOT / "build" / "kafka-libs"
FLINK_LIBRARIES = ROOT / "build" / "flink-libs"
PLUGIN_JAR = ROOT / "collectors" / "spark-plugin" / "target" / "sparkfuse-spark-plugin.jar"
SPARK_PYTHON = ROOT / "build" / "envs" / "spark35" / "bin" / "python"


def require(path: Path) -> Path:
    """Return the path.

    Raises:
        StartError: the path does not exist; the message names the command that creates it.
    """
    if not path.exists():
        raise StartError(f"{path.relative_to(ROOT)} is missing: run `make setup`")
    return path
