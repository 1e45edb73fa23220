"""Where the embedded stack keeps its files and which ports it listens on."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import socket
from pathlib import Path

from sparkfuse.stack.errors import StartError

LOOPBACK = "127.0.0.1"
GIVEN_BY_THE_KERNEL = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Its first and last number: what a program gets that asks for any port, and each connection's own end."""
LOWEST_FREE = 20_000
"""Above the ports that our parts and most others have by default."""


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nothing listens on now, and that nobody gets who asks for any port.

    What the kernel gives by itself (Spark, Flink and the Python workers ask for dozens) may be somebody's by the time
    that a part which starts slowly takes it.
    """
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            _bind(each)
        return [int(each.getsockname()[1]) for each in sockets]


def _bind(listener: socket.socket) -> None:
    try:
        choice = range(LOWEST_FREE, int(GIVEN_BY_THE_KERNEL.read_text().split()[0]))
    except (OSError, ValueError):  # no Linux
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

    @classmethod
    def free(cls) -> Ports:
        """Ports that nothing listens on now, each another."""
        return cls(*free_ports(len(dataclasses.fields(cls))))


def require_free(port: int, part: str) -> None:
    """Fail when something listens on the port already.

    Raises:
        StartError: names the port, the part that needs it and the way out.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise StartError(
                f"port {port} is in use, and {part} needs it: stop what listens there, "
                "or start with --free-ports to pick other ports"
            ) from error


@dataclasses.dataclass(frozen=True)
class Layout:
    """Files and addresses of one embedded stack.

    Attributes:
        home: folder that holds all state and logs.
        ports: ports on loopback.
        kafka_bootstrap: the broker's address; our own when `own_kafka`.
        clickhouse_url: the store's address; our own when `own_store`.
        alertmanager_urls: every Alertmanager peer, comma separated; our own when `own_alertmanager`.
    """

    home: Path
    ports: Ports
    kafka_bootstrap: str
    clickhouse_url: str
    alertmanager_urls: str
    own_kafka: bool
    own_store: bool
    own_alertmanager: bool

    @classmethod
    def from_environment(cls, home: Path, ports: Ports, environment: dict[str, str] | None = None) -> Layout:
        """Own parts, but for those whose address the environment gives."""
        given = os.environ if environment is None else environment
        kafka = given.get("SPARKFUSE_KAFKA_BOOTSTRAP", "")
        store = given.get("SPARKFUSE_CLICKHOUSE_URL", "")
        alertmanager = given.get("SPARKFUSE_ALERTMANAGER_URLS", "")
        return cls(
            home=home.resolve(),
            ports=ports,
            kafka_bootstrap=kafka or f"{LOOPBACK}:{ports.kafka}",
            clickhouse_url=store or f"http://{LOOPBACK}:{ports.store}",
            alertmanager_urls=alertmanager or f"http://{LOOPBACK}:{ports.alertmanager}",
            own_kafka=not kafka,
            own_store=not store,
            own_alertmanager=not alertmanager,
        )

    @property
    def logs(self) -> Path:
        """Folder with one log file a process."""
        return self.home / "logs"

    @property
    def address_file(self) -> Path:
        """File that tells other commands where a running stack listens."""
        return self.home / "stack.json"

    @property
    def asked(self) -> Path:
        """Folder of requests to the running stack: a file with a service's name asks for its restart."""
        return self.home / "asked"

    def environment(self) -> dict[str, str]:
        """Settings of every process of the stack."""
        return {
            "SPARKFUSE_HOME": str(self.home),
            "SPARKFUSE_KAFKA_BOOTSTRAP": self.kafka_bootstrap,
            "SPARKFUSE_CLICKHOUSE_URL": self.clickhouse_url,
            "SPARKFUSE_ALERTMANAGER_URLS": self.alertmanager_urls,
        }

    def write_addresses(self) -> None:
        """Leave the addresses for other commands, whole or not at all; removed when the stack stops."""
        unfinished = self.address_file.with_suffix(".unfinished")
        unfinished.write_text(json.dumps(self.environment(), indent=2) + "\n")
        unfinished.replace(self.address_file)


def addresses_of_running_stack(home: Path) -> dict[str, str]:
    """Addresses that a running stack in this home left, or nothing."""
    path = home / "stack.json"
    if not path.exists():
        return {}
    loaded = json.loads(path.read_text())
    return {str(key): str(value) for key, value in loaded.items()}
