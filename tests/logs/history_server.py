"""Runs Spark's History Server on a folder of event logs."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.error import URLError

from sparkfuse.stack.layout import free_ports
from tests.waiting import wait_for

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120


class HistoryServer:
    """A History Server on a free local port; use it as a context manager.

    Args:
        folder: the folder of the logs; the server may compact them, so use a copy.
        environment: ``spark35`` or ``spark4``.
        settings: further settings of the server.
    """

    def __init__(self, folder: Path, environment: str = "spark4", settings: dict[str, str] | None = None) -> None:
        [port] = free_ports(1)
        self._url = f"http://127.0.0.1:{port}/api/v1"
        self._home = next((ROOT / "build" / "envs" / environment / "lib").glob("python*/site-packages/pyspark"))
        self._settings = {
            "spark.history.fs.logDirectory": f"file://{folder}",
            "spark.history.fs.update.interval": "1s",
            "spark.history.ui.port": str(port),
            "spark.ui.host": "127.0.0.1",
            **(settings or {}),
        }
        self._output = folder.parent / f"{folder.name}.history-server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        """Start the server and wait until it answers."""
        options = " ".join(f"-D{key}={value}" for key, value in self._settings.items())
        environment = {
            **os.environ,
            "SPARK_HOME": str(self._home),
            "SPARK_DAEMON_MEMORY": "600m",
            "SPARK_HISTORY_OPTS": options,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        command = ["bash", str(self._home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
        with self._output.open("w") as output:
            self._process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            wait_for(self._answers, READY_SECONDS, "the History Server")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the server."""
        self._stop()

    def get(self, path: str) -> Any:
        """Return the server's answer to a path of its REST interface below ``/api/v1``."""
        with urllib.request.urlopen(f"{self._url}/{path}", timeout=READY_SECONDS) as answer:
            return json.load(answer)

    def applications(self) -> Iterator[tuple[str, str]]:
        """Yield the id of each application and the path of each attempt."""
        for application in self.get("applications"):
            for attempt in application["attempts"]:
                number = attempt.get("attemptId")
                yield application["id"], f"applications/{application['id']}{f'/{number}' if number else ''}"

    def _answers(self) -> bool:
        assert self._process is not None
        if self._process.poll() is not None:
            raise AssertionError(f"the History Server ended:\n{self._output.read_text()[-4000:]}")
        with contextlib.suppress(URLError, OSError):
            return isinstance(self.get("applications"), list)
        return False

    def _stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


def milliseconds(moment: str | None) -> int | None:
    """Convert the server's format of times, ``2026-11-21T13:05:48.123GMT``, to ms since the epoch."""
    if moment is None:
        return None
    when = dt.datetime.strptime(moment.removesuffix("GMT"), "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=dt.UTC)
    return round(when.timestamp() * 1000)
