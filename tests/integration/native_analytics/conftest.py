"""Fixtures: the embedded store and the loader as processes, and the topics that the loader reads."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from urllib.request import urlopen

import pytest
from clickhouse_connect.driver.client import Client

from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.settings import Settings
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from tests.kafka import settings_of
from tests.waiting import wait_for


class Part:
    """A process of Sparkfuse that a test can kill and start again; its output goes to a log."""

    def __init__(self, module: str, *arguments: str, log: Path, environment: Mapping[str, str] | None = None) -> None:
        self.command = [sys.executable, "-m", module, *arguments]
        self.log = log
        self.environment = {**os.environ, **(environment or {})}
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; its output goes to the log."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command, env=self.environment, stderr=log, stdout=log)

    def kill(self) -> None:
        """Kill the process with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop the process with SIGTERM and return the exit code."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(90)


def answers(url: str) -> bool:
    """Return whether the store answers its health probe."""
    try:
        with urlopen(f"{url}/ping", timeout=1) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


@pytest.fixture
def make_store(tmp_path: Path, free_port: Callable[[], int]) -> Iterator[Callable[[], tuple[Part, str]]]:
    """Return a function that starts an embedded store for the test and returns its process and address."""
    parts: list[Part] = []

    def make() -> tuple[Part, str]:
        port = free_port()
        part = Part("sparkfuse_native_analytics.store.server", "--path", str(tmp_path / f"store{port}"),
                    "--port", str(port), log=tmp_path / "store.log")  # fmt: skip
        part.start()
        parts.append(part)
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: answers(url), 180, "the store")
        return part, url

    yield make
    for part in parts:
        part.stop()


@pytest.fixture
def settings(store_url: str) -> Settings:
    """Return settings with an empty database for this test."""
    return empty_database(store_url)


@pytest.fixture(scope="module")
def module_settings(store_url: str) -> Settings:
    """Return settings with a database that the tests of a module share; the module fills it once."""
    return empty_database(store_url)


def empty_database(store_url: str) -> Settings:
    """Create an empty database and return settings with its address."""
    database = f"test_{uuid.uuid4().hex[:8]}"
    server = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": store_url})
    connect(server).command(f"CREATE DATABASE {database}")
    return dataclasses.replace(server, clickhouse_url=f"{store_url}/{database}")


@pytest.fixture
def client(settings: Settings) -> Client:
    """Return a client of the test's database, in which all tables exist."""
    client = connect(settings)
    migrate(client)
    return client


@pytest.fixture
def topics(kafka_bootstrap: str, topic_prefix: str) -> tuple[str, str]:
    """Create empty topics, and return the bootstrap address and their prefix."""
    ensure_topics(settings_of(kafka_bootstrap, topic_prefix))
    return kafka_bootstrap, topic_prefix


@pytest.fixture
def make_loader(tmp_path: Path, topics: tuple[str, str]) -> Iterator[Callable[[str], Part]]:
    """Return a function that creates, but does not start, a loader from the test's topics into a ClickHouse server."""
    parts: list[Part] = []

    def make(url: str) -> Part:
        environment = {"SPARKFUSE_KAFKA_BOOTSTRAP": topics[0], "SPARKFUSE_TOPIC_PREFIX": topics[1],
                       "SPARKFUSE_CLICKHOUSE_URL": url}  # fmt: skip
        parts.append(Part("sparkfuse_native_analytics.loader", log=tmp_path / "loader.log", environment=environment))
        return parts[-1]

    yield make
    for part in parts:
        if part.process is not None and part.process.poll() is None:
            part.kill()
