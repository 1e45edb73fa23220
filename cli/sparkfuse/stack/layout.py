"""Files, folders and ports of the embedded stack."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparkfuse.stack.errors import USAGE, StartError
from sparkfuse_contracts.settings import Source, kafka_file_properties, read_sources

LOOPBACK = "127.0.0.1"
EPHEMERAL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The file with the first and last port that the kernel assigns to programs that do not ask for a specific port."""
LOWEST_FREE = 20_000
"""The lowest port for the stack; this port is above the default ports of our services and of most other programs."""


def free_ports(count: int) -> list[int]:
    """Return free ports on loopback, outside the range from which the kernel assigns ports.

    Spark, Flink and Python workers ask the kernel for dozens of ports. So a port of the kernel's range that is free now
    may be in use when a service that starts slowly opens the port.
    """
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            _bind(each)
        return [int(each.getsockname()[1]) for each in sockets]


def _bind(listener: socket.socket) -> None:
    try:
        choice = range(LOWEST_FREE, int(EPHEMERAL_PORTS.read_text().split()[0]))
    except (OSError, ValueError):  # the system is not Linux
        choice = range(0)
    for _ in range(100 if choice else 0):
        with contextlib.suppress(OSError):
            return listener.bind((LOOPBACK, secrets.choice(choice)))
    return listener.bind((LOOPBACK, 0))


@dataclasses.dataclass(frozen=True)
class Ports:
    """TCP ports of the embedded stack, all on loopback."""

    kafka: int = 19092
    kafka_controller: int = 19091
    store: int = 18123
    alertmanager: int = 19093
    prometheus: int = 19090
    windows_metrics: int = 19101
    detect_metrics: int = 19102
    loader_metrics: int = 19103
    sender_metrics: int = 19104
    fuse_controller_metrics: int = 19105
    ship_metrics: int = 19106
    fuse_actuator_metrics: int = 19107
    console: int = 19080
    # The metrics of both jobs of each source.
    sources: tuple[int, ...] = tuple(range(19120, 19140))

    @classmethod
    def free(cls) -> Ports:
        """Return distinct free ports."""
        single = [each.name for each in dataclasses.fields(cls) if each.name != "sources"]
        found = free_ports(len(single) + len(cls.sources))
        values: dict[str, Any] = dict(zip(single, found, strict=False))
        return cls(**values, sources=tuple(found[len(single) :]))


def require_free(port: int, part: str) -> None:
    """Raise StartError if the port is in use.

    Raises:
        StartError: names the port, the part that needs it and the correction.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise StartError(
                f"port {port} is in use, and {part} needs it: stop the program that uses it, or start with --free-ports"
            ) from error


@dataclasses.dataclass(frozen=True)
class Layout:
    """Files and addresses of one embedded stack.

    Attributes:
        home: folder of all state and logs.
        ports: ports on loopback.
        kafka_bootstrap: address of the broker; if `own_kafka`, of the embedded broker.
        kafka_config: file with the security settings of Kafka clients; empty for the embedded broker, which has no
            security.
        clickhouse_url: address of the store; if `own_store`, of the embedded store.
        alertmanager_urls: all Alertmanager peers, comma separated; if `own_alertmanager`, only the embedded one.
        console_url: address under which readers reach the console; links of alerts lead there.
        sources: the Kafka clusters with facts, in addition to that of `kafka_bootstrap`.
    """

    home: Path
    ports: Ports
    kafka_bootstrap: str
    kafka_config: str
    clickhouse_url: str
    alertmanager_urls: str
    console_url: str
    own_kafka: bool
    own_store: bool
    own_alertmanager: bool
    sources: tuple[Source, ...] = ()

    @classmethod
    def from_environment(cls, home: Path, ports: Ports, environment: dict[str, str] | None = None) -> Layout:
        """Return the layout with embedded parts, except those whose address the environment sets.

        The address of the broker may also be in the file of SPARKFUSE_KAFKA_CONFIG.

        Raises:
            StartError: the file has security settings, but no address of a broker is set; or there are more sources
                than ports.
            SettingError: SPARKFUSE_SOURCES is invalid.
        """
        given = os.environ if environment is None else environment
        sources = read_sources(given.get("SPARKFUSE_SOURCES", ""))
        if len(sources) > len(ports.sources) // 2:
            raise StartError(f"SPARKFUSE_SOURCES has more than {len(ports.sources) // 2} sources", USAGE)
        kafka, kafka_config = _other_kafka(given)
        store = given.get("SPARKFUSE_CLICKHOUSE_URL", "")
        alertmanager = given.get("SPARKFUSE_ALERTMANAGER_URLS", "")
        return cls(
            home=home.resolve(),
            ports=ports,
            kafka_bootstrap=kafka or f"{LOOPBACK}:{ports.kafka}",
            kafka_config=kafka_config,
            clickhouse_url=store or f"http://{LOOPBACK}:{ports.store}",
            alertmanager_urls=alertmanager or f"http://{LOOPBACK}:{ports.alertmanager}",
            console_url=given.get("SPARKFUSE_CONSOLE_URL", "").rstrip("/") or f"http://{LOOPBACK}:{ports.console}",
            own_kafka=not kafka,
            own_store=not store,
            own_alertmanager=not alertmanager,
            sources=sources,
        )

    @property
    def logs(self) -> Path:
        """Folder with one log file per process."""
        return self.home / "logs"

    @property
    def address_file(self) -> Path:
        """The file with the addresses of a running stack; other commands read this file."""
        return self.home / "stack.json"

    @property
    def requests(self) -> Path:
        """The folder of requests to a running stack: a file named after a service requests its restart."""
        return self.home / "requests"

    def environment(self) -> dict[str, str]:
        """Return the environment variables of every process of the stack."""
        return {
            "SPARKFUSE_HOME": str(self.home),
            "SPARKFUSE_KAFKA_BOOTSTRAP": self.kafka_bootstrap,
            "SPARKFUSE_KAFKA_CONFIG": self.kafka_config,
            "SPARKFUSE_CLICKHOUSE_URL": self.clickhouse_url,
            "SPARKFUSE_ALERTMANAGER_URLS": self.alertmanager_urls,
            "SPARKFUSE_CONSOLE_URL": self.console_url,
            "SPARKFUSE_SOURCES": ",".join(f"{each.name}={each.kafka_config_file.absolute()}" for each in self.sources),
        }

    def metrics_of_source(self, source: Source) -> tuple[int, int]:
        """Return the metrics ports of the windows job and the detect job of a source."""
        first = 2 * self.sources.index(source)
        return self.ports.sources[first], self.ports.sources[first + 1]

    def write_addresses(self) -> None:
        """Write the addresses atomically to the address file, which is removed when the stack stops."""
        unfinished = self.address_file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.environment(), indent=2) + "\n")
        unfinished.replace(self.address_file)


def _other_kafka(given: Mapping[str, str]) -> tuple[str, str]:
    """Return the address and the configuration file of an external broker; both are empty for the embedded broker."""
    config = given.get("SPARKFUSE_KAFKA_CONFIG", "")
    bootstrap = given.get("SPARKFUSE_KAFKA_BOOTSTRAP", "")
    if config and not bootstrap:
        bootstrap = kafka_file_properties(Path(config)).get("bootstrap.servers", "")
        if not bootstrap:
            raise StartError(
                "SPARKFUSE_KAFKA_CONFIG is set without an address: "
                f"set SPARKFUSE_KAFKA_BOOTSTRAP, or bootstrap.servers in {config}",
                USAGE,
            )
    return bootstrap, str(Path(config).absolute()) if config else ""


def addresses_of_running_stack(home: Path) -> dict[str, str]:
    """Return the addresses of the stack that runs in this home folder; empty if none is running."""
    path = home / "stack.json"
    if not path.exists():
        return {}
    loaded = json.loads(path.read_text())
    return {str(key): str(value) for key, value in loaded.items()}
