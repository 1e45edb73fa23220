"""Where the checkout keeps what `make setup` built."""

from __future__ import annotations

from pathlib import Path

from sparkfuse.stack.errors import StartError

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""
KAFKA_LIBRARIES = ROOT / "build" / "kafka-libs"
FLINK_LIBRARIES = ROOT / "build" / "flink-libs"
PLUGIN_JAR = ROOT / "collectors" / "spark-plugin" / "target" / "sparkfuse-spark-plugin.jar"
SPARK_PYTHON = ROOT / "build" / "envs" / "spark35" / "bin" / "python"


def require(path: Path) -> Path:
    """The path, which must be there.

    Raises:
        StartError: it is not; the message says what makes it.
    """
    if not path.exists():
        raise StartError(f"{path.relative_to(ROOT)} is missing: run `make setup`")
    return path
