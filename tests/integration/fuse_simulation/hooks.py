"""Runs real hooks in one JVM. The JVM reads one command per line; HookSimulator.java describes the commands."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

PLUGIN = Path(__file__).parents[3] / "collectors" / "spark-plugin"
CLASS = "io.sparkfuse.spark.hook.HookSimulator"


class HookProcess:
    """The JVM of the hooks, which the test must close."""

    def __init__(self, class_path: str) -> None:
        self._process = subprocess.Popen(
            ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", class_path, CLASS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        self._queued: list[str] = []

    def queue(self, do: str, hook: str, **fields: object) -> None:
        """Queue a command; it is sent with the next question, so that both cost only one switch between processes."""
        self._queued.append(json.dumps({"do": do, "hook": hook, **fields}, separators=(",", ":")))

    def ask(self, do: str, hook: str, **fields: object) -> dict[str, Any]:
        """Send the queued commands and this one, and return the answer to this one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.queue(do, hook, **fields)
        lines, self._queued = self._queued, []
        self._process.stdin.write("\n".join(lines) + "\n")
        self._process.stdin.flush()
        answers = [json.loads(self._process.stdout.readline()) for _ in lines]
        assert [each for each in answers if "error" in each] == []
        answer = answers[-1]
        assert isinstance(answer, dict)
        return answer

    def close(self) -> None:
        """End the JVM."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)


def class_path(output: Path) -> str:
    """Compile the tests of the plugin and return a class path with copies of its classes.

    The JVM loads classes late, and another build may replace the originals during a long simulation.
    """
    listing = output / "classpath"
    command = ["mvn", "-q", "-B", "-ntp", "-f", str(PLUGIN / "pom.xml"), "test-compile",
               "dependency:build-classpath", f"-Dmdep.outputFile={listing}", "-Dmdep.includeScope=test"]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    folders = [shutil.copytree(PLUGIN / "target" / name, output / name) for name in ("test-classes", "classes")]
    return ":".join([*map(str, folders), listing.read_text().strip()])
