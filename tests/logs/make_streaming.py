"""Record the facts of tests/logs/streaming.jsonl again: ``python tests/logs/make_streaming.py``.

The file has the facts that the plugin sends about the streaming queries of streaming_job.py. Four minutes.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.json_format import MessageToJson, Parse

sys.path.insert(0, str(Path(__file__).parents[2]))

from sparkfuse_contracts.generated.fact_pb2 import Fact
from tests.integration.collectors.spark_runs import JAR, Facts, SparkRun, create_topics
from tests.integration.collectors.stoppable_broker import StoppableBroker
from tests.logs.make_logs import spark_home

RECORDED = Path(__file__).parent / "streaming.jsonl"
KINDS = ("streaming_started", "streaming_progress", "streaming_ended")
ENVIRONMENT = "spark35"
PREFIX = "streaming"


def main() -> None:
    """Run the queries with the plugin and a broker, and write their facts."""
    with tempfile.TemporaryDirectory() as folder:
        facts = _run(Path(folder))
    RECORDED.write_text("".join(f"{_line(fact)}\n" for fact in facts if fact.WhichOneof("kind") in KINDS))
    print(RECORDED, RECORDED.stat().st_size, "bytes")


def recorded() -> Iterator[Fact]:
    """Yield the recorded facts in the order in which they were sent."""
    for line in RECORDED.read_text().splitlines():
        yield Parse(line, Fact())


def _run(folder: Path) -> list[Fact]:
    broker = StoppableBroker(folder / "kafka")
    broker.start()
    try:
        create_topics(broker.bootstrap, PREFIX)
        settings = {
            "spark.jars": f"{JAR},{_build(folder)}",
            "spark.sparkfuse.kafka.bootstrap": broker.bootstrap,
            "spark.sparkfuse.topic.prefix": PREFIX,
        }
        run = SparkRun(ENVIRONMENT, Path(__file__).with_name("streaming_job.py"), settings, folder / "job.log")
        try:
            run.wait_for_line("STOPPED")
        finally:
            run.stop()
        facts = Facts(broker.bootstrap, PREFIX)
        try:
            return facts.all()
        finally:
            facts.close()
    finally:
        broker.stop()


def _build(folder: Path) -> Path:
    """Compile LagSource.java, and return the jar."""
    classes, jar = folder / "classes", folder / "lag-source.jar"
    source = Path(__file__).with_name("LagSource.java")
    subprocess.run(["javac", "-cp", f"{spark_home(ENVIRONMENT)}/jars/*", "-d", str(classes), str(source)], check=True)
    subprocess.run(["jar", "cf", str(jar), "-C", str(classes), "."], check=True)
    return jar


def _line(fact: Fact) -> str:
    return MessageToJson(fact, preserving_proto_field_name=True, indent=None)


if __name__ == "__main__":
    main()
