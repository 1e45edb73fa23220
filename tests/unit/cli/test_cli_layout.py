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
from sparkfuse.stack.services import components


def test_free_ports_differ() -> None:
    """All parts of the stack get different free ports."""
    *single, of_sources = dataclasses.astuple(Ports.free())
    ports = [*single, *of_sources]

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


def test_each_source_has_ports_and_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both jobs of each source have ports of their own, and other commands find the sources from any folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("eu", "us"):
        Path(f"{name}.properties").write_text("")
    layout = Layout.from_environment(tmp_path, Ports(), {"SPARKFUSE_SOURCES": "eu=eu.properties,us=us.properties"})
    ports = [port for source in layout.sources for port in layout.metrics_of_source(source)]

    assert ports == [19120, 19121, 19122, 19123]
    assert layout.environment()["SPARKFUSE_SOURCES"] == f"eu={tmp_path}/eu.properties,us={tmp_path}/us.properties"


def test_stack_runs_both_jobs_of_each_source(tmp_path: Path) -> None:
    """Each source has both jobs with its name; the jobs of the home cluster ignore an inherited SPARKFUSE_SOURCE."""
    file = tmp_path / "eu.properties"
    file.write_text("bootstrap.servers=eu:1\n")
    layout = Layout.from_environment(tmp_path, Ports.free(), {"SPARKFUSE_SOURCES": f"eu={file}"})
    jobs = {each.name: each for each in components(layout, {}) if each.name.startswith(("windows", "detect"))}
    of_source = {name: each.environment["SPARKFUSE_SOURCE"] for name, each in jobs.items()}

    assert of_source == {"windows": "", "detect": "", "windows-eu": "eu", "detect-eu": "eu"}
    assert jobs["windows-eu"].command == jobs["windows"].command
    assert jobs["windows-eu"].environment["SPARKFUSE_METRICS_PORT"] == str(layout.ports.sources[0])


def test_too_many_sources_are_an_error(tmp_path: Path) -> None:
    """The error for more sources than ports names the limit."""
    file = tmp_path / "kafka.properties"
    file.write_text("")
    many = ",".join(f"s{number}={file}" for number in range(11))

    with pytest.raises(StartError, match="SPARKFUSE_SOURCES has more than 10 sources"):
        Layout.from_environment(tmp_path, Ports(), {"SPARKFUSE_SOURCES": many})


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
