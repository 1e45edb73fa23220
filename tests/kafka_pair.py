"""Two Kafka brokers that replicate all topics and whose clocks differ; the leader can be killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic, PartitionMetadata

from sparkfuse.stack.broker import LOG_PROPERTIES, require_java, require_libraries
from sparkfuse.stack.layout import LOOPBACK, free_ports
from sparkfuse.stack.process import Process, Service
from sparkfuse.stack.topics import broker_answers
from sparkfuse_contracts.topics import topics
from tests.waiting import wait_for

START_SECONDS = 240
# The controller is on the node that survives, so that a new leader can be elected at any time.
SURVIVOR, LEADER = 1, 2
PROPERTIES = """\
process.roles={roles}
node.id={node}
controller.quorum.voters=1@{host}:{controller_port}
listeners={listeners}
advertised.listeners=PLAINTEXT://{host}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=6000
offsets.topic.replication.factor=2
offsets.topic.num.partitions=2
transaction.state.log.replication.factor=2
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=2
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
"""


class KafkaPair:
    """Two running brokers. The first leader of each topic is the broker with the system's clock."""

    def __init__(self, folder: Path, libraries: Path, ahead_ms: int) -> None:
        """Start the brokers; the clock of the survivor is ``ahead_ms`` ahead of the system's clock."""
        self._folder, self._libraries, self._processes = folder, require_libraries(libraries), dict[int, Process]()
        *ports, self._controller_port = free_ports(3)
        self._ports = dict(zip((SURVIVOR, LEADER), ports, strict=True))
        self.bootstrap = ",".join(f"{LOOPBACK}:{port}" for port in self._ports.values())
        self._clock = _compiled_clock(folder / "clock", self._libraries)
        cluster = self._tool("random-uuid").strip()
        for node, ahead in ((SURVIVOR, ahead_ms), (LEADER, 0)):
            self._start(node, ahead, cluster)

    def create_topics(self, prefix: str) -> None:
        """Create all topics; LEADER leads each partition, and both brokers have a replica."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        wanted = [
            NewTopic(
                f"{prefix}.{name}",
                num_partitions=topic.partitions,
                replica_assignment=[[LEADER, SURVIVOR]] * topic.partitions,
                config=dict(topic.config),
            )
            for name, topic in topics().items()
        ]
        for created in admin.create_topics(wanted).values():
            created.result(60)
        self._wait_for_replicas(admin, prefix)

    def kill_leader(self, prefix: str) -> None:
        """Kill LEADER with SIGKILL, and return when the survivor leads the topic ``facts``."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        self._wait_for_replicas(admin, prefix)
        os.kill(self._processes[LEADER].pid, signal.SIGKILL)
        facts = f"{prefix}.facts"
        wait_for(lambda: _leaders(admin, facts) == {SURVIVOR}, START_SECONDS, "the new leader")

    def close(self) -> None:
        """Stop the brokers."""
        for process in self._processes.values():
            process.stop()

    def _wait_for_replicas(self, admin: AdminClient, prefix: str) -> None:
        for name in topics():
            topic = f"{prefix}.{name}"
            wait_for(lambda topic=topic: _in_sync(admin, topic), START_SECONDS, f"both replicas of {topic}")

    def _start(self, node: int, ahead_ms: int, cluster: str) -> None:
        home = self._folder / f"node-{node}"
        home.mkdir(parents=True)
        properties, port = home / "server.properties", self._ports[node]
        controls = node == SURVIVOR
        listeners = f"PLAINTEXT://{LOOPBACK}:{port}"
        properties.write_text(
            PROPERTIES.format(
                roles="broker,controller" if controls else "broker", node=node, host=LOOPBACK, port=port,
                controller_port=self._controller_port, data=home / "data",
                listeners=f"{listeners},CONTROLLER://{LOOPBACK}:{self._controller_port}" if controls else listeners,
            )
        )  # fmt: skip
        (home / "log4j2.properties").write_text(LOG_PROPERTIES)
        self._tool("format", "-t", cluster, "-c", str(properties))
        command = [
            require_java(), "-Xmx384m", f"-Dtest.clock.ahead.ms={ahead_ms}",
            f"-Dlog4j2.configurationFile={home / 'log4j2.properties'}",
            "-cp", f"{self._clock}:{self._libraries}/*", "kafka.Kafka", str(properties),
        ]  # fmt: skip
        process = Process(Service(f"kafka-{node}", command, stop_seconds=15), home / "kafka.log")
        self._processes[node] = process
        address = f"{LOOPBACK}:{port}"
        wait_for(lambda: process.exit_code() is not None or broker_answers(address), START_SECONDS, f"broker {node}")
        assert process.exit_code() is None, process.last_lines()

    def _tool(self, *arguments: str) -> str:
        command = [require_java(), "-cp", f"{self._libraries}/*", "kafka.tools.StorageTool", *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@contextlib.contextmanager
def kafka_pair(folder: Path, libraries: Path, ahead_ms: int) -> Iterator[KafkaPair]:
    """Yield two running brokers and stop them at the end."""
    pair = KafkaPair(folder, libraries, ahead_ms)
    try:
        yield pair
    finally:
        pair.close()


def _compiled_clock(folder: Path, libraries: Path) -> Path:
    """Compile the clock of tests/kafka_clock; in the class path before Kafka's jars, it replaces Kafka's own clock."""
    source = Path(__file__).parent / "kafka_clock" / "SystemTime.java"
    subprocess.run(
        ["javac", "-proc:none", "-cp", f"{libraries}/*", "-d", str(folder), str(source)],
        check=True,
        capture_output=True,
    )
    return folder


def _in_sync(admin: AdminClient, topic: str) -> bool:
    partitions = _partitions(admin, topic)
    return bool(partitions) and all(len(each.isrs) == 2 for each in partitions)


def _leaders(admin: AdminClient, topic: str) -> set[int]:
    return {each.leader for each in _partitions(admin, topic)}


def _partitions(admin: AdminClient, topic: str) -> list[PartitionMetadata]:
    """Return the partitions of a topic; none while no broker answers."""
    try:
        return list(admin.list_topics(topic, timeout=10).topics[topic].partitions.values())
    except KafkaException:
        return []
