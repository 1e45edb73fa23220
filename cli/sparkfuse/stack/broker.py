"""The embedded Apache Kafka: one node that is both broker and controller."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from sparkfuse.stack.errors import StartError
from sparkfuse.stack.layout import LOOPBACK, Layout, require_free
from sparkfuse.stack.process import Service

SERVER_PROPERTIES = """\
# One node on loopback: the embedded broker of Sparkfuse.
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={data}
num.partitions=2
# One node cannot replicate, and small internal topics start faster.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# A misspelt topic name must fail instead of creating a topic.
auto.create.topics.enable=false
"""

LOG_PROPERTIES = """\
status=error
appender.console.type=Console
appender.console.name=console
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=%d %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.console.ref=console
"""


def require_java() -> str:
    """Return the path of the java command.

    Raises:
        StartError: Java is not installed.
    """
    java = shutil.which("java")
    if java is None:
        raise StartError("Java is missing: install a JDK 17, on Debian `apt-get install openjdk-17-jdk-headless`")
    return java


def require_libraries(folder: Path) -> Path:
    """Return the folder of the broker's jars.

    Raises:
        StartError: the folder is missing or empty.
    """
    if not any(folder.glob("kafka_*.jar")):
        raise StartError(f"no Kafka jars in {folder}: run `make setup`")
    return folder


class Broker:
    """The embedded broker of one stack.

    Args:
        layout: files and ports of the stack.
        libraries: folder of Kafka's jars.
    """

    def __init__(self, layout: Layout, libraries: Path) -> None:
        self._layout = layout
        self._folder = layout.home / "kafka"
        self._java = [
            require_java(),
            f"-Dlog4j2.configurationFile={self._folder / 'log4j2.properties'}",
            "-cp",
            f"{require_libraries(libraries)}/*",
        ]

    def service(self) -> Service:
        """Return the broker as a service; prepare its data folder first if necessary.

        Raises:
            StartError: a port is in use, or the storage cannot be formatted.
        """
        require_free(self._layout.ports.kafka, "kafka")
        require_free(self._layout.ports.kafka_controller, "kafka's controller")
        self._write_configuration()
        if not (self._folder / "data" / "meta.properties").exists():
            self._format()
        heap = ["-Xms256m", "-Xmx512m", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:+ExitOnOutOfMemoryError"]
        command = [self._java[0], *heap, *self._java[1:], "kafka.Kafka", str(self._properties)]
        return Service("kafka", command, ready=self._answers, stop_seconds=15)

    @property
    def _properties(self) -> Path:
        return self._folder / "server.properties"

    def _write_configuration(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        ports = self._layout.ports
        self._properties.write_text(
            SERVER_PROPERTIES.format(
                host=LOOPBACK, port=ports.kafka, controller_port=ports.kafka_controller, data=self._folder / "data"
            )
        )
        (self._folder / "log4j2.properties").write_text(LOG_PROPERTIES)

    def _format(self) -> None:
        tool = [*self._java, "kafka.tools.StorageTool"]
        identity = subprocess.run([*tool, "random-uuid"], capture_output=True, text=True, check=True).stdout.strip()
        done = subprocess.run(
            [*tool, "format", "-t", identity, "-c", str(self._properties)], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise StartError(f"kafka's storage in {self._folder} cannot be formatted: {done.stderr.strip()[-400:]}")

    def _answers(self) -> bool:
        from sparkfuse.stack.topics import broker_answers

        return broker_answers(self._layout.kafka_bootstrap)
