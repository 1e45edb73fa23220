"""Ports and addresses of the embedded stack."""

from __future__ import annotations

import dataclasses
import socket
from pathlib import Path

import pytest

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.layout import (
    GIVEN_BY_THE_KERNEL,
    LOWEST_FREE,
    Layout,
    Ports,
    addresses_of_running_stack,
    free_ports,
    require_free,
)
from sparkfuse.stack.lock import only_one


def test_free_ports_differ() -> None:
    """No two parts get the same port."""
    ports = dataclasses.astuple(Ports.free())

    assert len(set(ports)) == len(ports)


def test_free_ports_are_none_that_the_kernel_gives_to_others() -> None:
    """What starts slowly finds its port free: who asks for any port gets one of another range."""
    first, _last = map(int, GIVEN_BY_THE_KERNEL.read_text().split())

    assert first <= LOWEST_FREE or all(LOWEST_FREE <= port < first for port in free_ports(50))


def test_a_port_in_use_is_one_sentence() -> None:
    """The sentence names the port, who needs it and the way out."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]

        with pytest.raises(StartError, match=f"port {port} is in use, and kafka needs it: .*--free-ports"):
            require_free(port, "kafka")


def test_a_part_given_by_the_environment_is_not_ours(tmp_path: Path) -> None:
    """A given broker is used and not started; the other parts stay our own."""
    layout = Layout.from_environment(tmp_path, Ports(), {"SPARKFUSE_KAFKA_BOOTSTRAP": "broker:9092"})

    assert (layout.own_kafka, layout.own_store, layout.own_alertmanager) == (False, True, True)
    assert layout.environment()["SPARKFUSE_KAFKA_BOOTSTRAP"] == "broker:9092"


def test_other_commands_find_a_running_stack(tmp_path: Path) -> None:
    """What a stack leaves in its home is what its processes use."""
    layout = Layout.from_environment(tmp_path, Ports.free(), {})
    layout.write_addresses()

    assert addresses_of_running_stack(tmp_path) == layout.environment()


def test_two_stacks_do_not_share_a_home(tmp_path: Path) -> None:
    """The second one says so and touches nothing."""
    with (
        only_one(tmp_path),
        pytest.raises(StartError, match=r"a stack runs in .* already"),
        only_one(tmp_path),
    ):
        pass
