"""A real broker for tests of outages."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import Layout, Ports
from sparkfuse.stack.process import Process
from tests.integration.collectors.spark_runs import ROOT
from tests.waiting import wait_for


class StoppableBroker:
    """A real broker that can be stopped and started again with its data at the same address."""

    def __init__(self, folder: Path) -> None:
        self._layout = Layout.from_environment(folder, Ports.free(), environment={})
        self._service = Broker(self._layout, ROOT / "build" / "kafka-libs").service()
        self.bootstrap = self._layout.kafka_bootstrap
        self._process: Process | None = None

    def start(self) -> None:
        self._process = Process(self._service, self._layout.logs / "kafka.log")
        wait_for(self._service.ready, self._service.ready_seconds, "the broker")

    def kill(self) -> None:
        """End the broker in the middle of its requests."""
        assert self._process
        os.kill(self._process.pid, signal.SIGKILL)
        self.stop()

    def stop(self) -> None:
        if self._process:
            self._process.stop()
            self._process = None
