"""Real hooks in one JVM, which reads one command per line; HookSimulator.java describes the commands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).parents[3] / "collectors" / "spark-plugin"
CLASS = "io.sparkfuse.spark.hook.HookSimulator"


class HookProcess:
    """The JVM of the hooks, which the test must close."""

    def __init__(self, class_path: str) -> None:
        self._process = subprocess.Popen(
            ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", class_path, CLASS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )

    def ask(self, do: str, hook: str, **fields: object) -> dict[str, Any]:
        """Send one command and return its answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"do": do, "hook": hook, **fields}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert isinstance(answer, dict)
        assert "error" not in answer, answer
        return answer

    def close(self) -> None:
        """End the JVM."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def class_path(output: Path) -> str:
    """Compile the plugin's tests and return their class path."""
    listing = output / "classpath"
    command = ["mvn", "-q", "-B", "-ntp", "-f", str(PLUGIN / "pom.xml"), "test-compile",
               "dependency:build-classpath", f"-Dmdep.outputFile={listing}", "-Dmdep.includeScope=test"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    folders = [PLUGIN / "target" / "test-classes", PLUGIN / "target" / "classes"]
    return ":".join([*map(str, folders), listing.read_text().strip()])
