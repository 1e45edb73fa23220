"""Tests the ports and addresses of the embedded stack."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import pytest

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.layout import (
    EPHEMERAL_PORTS,
    LOWEST_FREE,
    Layout,
    Ports,
    addresses_of_running_stack,
    free_ports,
    require_free,
)
from sparkfuse.stack.lock import only_one


def test_free_ports_differ() -> None:
    """All parts of the stack get different free ports."""
    ports = dataclasses.astuple(Ports.free())

    assert len(set(ports)) == len(ports)


def test_free_ports_are_not_ephemeral() -> None:
    """Free ports are outside the operating system's ephemeral range, so a port stays free until its process starts."""
    first, _last = map(int, EPHEMERAL_PORTS.read_text().split())

    assert first <= LOWEST_FREE or all(LOWEST_FREE <= port < first for port in free_ports(50))


def test_port_in_use_is_one_sentence() -> None:
    """The error for a port in use names the port, the part that needs it, and the remedy."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        with pytest.raises(StartError, match=f"port {port} is in use, and kafka needs it: .*--free-ports"):
            require_free(port, "kafka")


def test_part_from_the_environment_is_not_started(tmp_path: Path) -> None:
    """If the environment names a broker, that broker is used and none is started; the other parts are embedded."""
    layout = Layout.from_environment(tmp_path, Ports(), {"SPARKFUSE_KAFKA_BOOTSTRAP": "broker:9092"})

    assert (layout.own_kafka, layout.own_store, layout.own_alertmanager) == (False, True, True)
    assert layout.environment()["SPARKFUSE_KAFKA_BOOTSTRAP"] == "broker:9092"


def test_other_commands_find_a_running_stack(tmp_path: Path) -> None:
    """The address file contains the settings that the processes of the stack use."""
    layout = Layout.from_environment(tmp_path, Ports.free(), {})
    layout.write_addresses()

    assert addresses_of_running_stack(tmp_path) == layout.environment()


def test_two_stacks_cannot_share_a_home(tmp_path: Path) -> None:
    """A second stack with the same home folder exits with one sentence and changes nothing."""
    with (
        only_one(tmp_path),
        pytest.raises(StartError, match=r"a stack already runs in"),
        only_one(tmp_path),
    ):
        pass


def test_links_lead_to_the_console_of_the_stack(tmp_path: Path) -> None:
    """Every process gets the address of the stack's console; an address of the environment, such as a proxy's, wins."""
    ports = Ports.free()
    own = Layout.from_environment(tmp_path, ports, {})
    proxy = Layout.from_environment(tmp_path, ports, {"SPARKFUSE_CONSOLE_URL": "https://spark.example/"})

    assert own.environment()["SPARKFUSE_CONSOLE_URL"] == f"http://127.0.0.1:{ports.console}"
    assert proxy.environment()["SPARKFUSE_CONSOLE_URL"] == "https://spark.example"
