"""The Flink environment that both jobs run in: a mini cluster inside this process's JVM."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sparkfuse_contracts.assets import AssetMissingError, asset
from sparkfuse_contracts.settings import Settings
from sparkfuse_stream_jobs.checkpoints import KEPT, checkpoint_directory, latest_checkpoint, remove_outdated
from sparkfuse_stream_jobs.errors import MissingPartError
from sparkfuse_stream_jobs.malloc_arenas import bound_arenas

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment

FUNCTIONS_JAR = "sparkfuse-flink-functions.jar"
# The mini cluster takes its heap from the JVM, Flink's own memory options do not size it. A JVM out of memory must die,
# so that the supervisor starts it again, and not linger. The quick compiler and the plain collector start in half the
# time and CPU; where facts come by the ten thousand a second, JVM_ARGS without the first pays (docs/benchmarks.md).
# What a row leaves behind moves among the old after some minutes and is collected when their room is full: left to the
# machine's memory that room was 258 MB for 87 MB that live, and a job grew for forty minutes until it was.
DEFAULT_JVM_ARGS = "-Xms256m -Xmn112m -Xmx1g -XX:+ExitOnOutOfMemoryError -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# A window's result must pass within a fraction of a second; with Flink's defaults it takes 1.3 s (docs/benchmarks.md).
LATENCY: Mapping[str, str] = {
    "python.fn-execution.bundle.time": "20",
    "pipeline.auto-watermark-interval": "50 ms",
    "execution.buffer-timeout.interval": "10 ms",
}
STATE: Mapping[str, str] = {
    "state.backend.type": "rocksdb",
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.incremental": "true",
    # A checkpoint that fails while the broker is away is no reason to start again; the next one may do.
    "execution.checkpointing.tolerable-failed-checkpoints": "5",
    "execution.checkpointing.num-retained": str(KEPT),
    "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
    # The new start owns the checkpoint it came from and deletes it once newer ones have replaced it.
    "execution.state-recovery.claim-mode": "CLAIM",
    # Without uids on every operator a statement that is added later makes each old checkpoint unusable.
    "table.exec.uid.generation": "ALWAYS",
    # State is laid out for this many pieces from the first day: it bounds what parallelism can ever become.
    "pipeline.max-parallelism": "128",
    # A broker that is away for a moment; beyond that the process ends and the supervisor starts it again.
    "restart-strategy.type": "failure-rate",
    "restart-strategy.failure-rate.max-failures-per-interval": "3",
    "restart-strategy.failure-rate.failure-rate-interval": "5 min",
    "restart-strategy.failure-rate.delay": "2 s",
}


def table_environment(
    name: str, settings: Settings, **configuration: str
) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Start the JVM and give the environments of the job ``name``, which goes on from its newest complete checkpoint.

    ``configuration`` are Flink's keys, which win over the house's: ``**{"parallelism.default": "2"}``.
    Raises MissingPartError when Java or a jar is not there.
    """
    values = flink_configuration(name, settings) | configuration
    _prepare_jvm(name, settings)
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import EnvironmentSettings, StreamTableEnvironment

    flink = Configuration()
    for key, value in values.items():
        flink.set_string(key, value)
    environment = StreamExecutionEnvironment.get_execution_environment(flink)
    table_settings = EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(flink).build()
    return environment, StreamTableEnvironment.create(environment, environment_settings=table_settings)


def flink_configuration(name: str, settings: Settings) -> dict[str, str]:
    """Flink's configuration for the job ``name``, with the checkpoint it goes on from if there is one.

    Raises MissingPartError when a jar is not there.
    """
    directory = checkpoint_directory(settings.home, name)
    scratch = (settings.home / "scratch" / name).absolute()
    remove_outdated(directory)
    checkpoint = latest_checkpoint(directory)
    recovery = {"execution.state-recovery.path": checkpoint.as_uri()} if checkpoint else {}
    return {
        **LATENCY,
        **STATE,
        **recovery,
        "execution.checkpointing.interval": f"{settings.checkpoint_ms} ms",
        "execution.checkpointing.dir": directory.as_uri(),
        # RocksDB's working copy: not in /tmp, where a killed JVM would leave it for ever.
        "io.tmp.dirs": str(scratch),
        "pipeline.name": f"sparkfuse {name}",
        "pipeline.jars": ";".join(jar.as_uri() for jar in jars(settings.flink_libs)),
        "pipeline.object-reuse": "true",
        "parallelism.default": "1",
        "table.local-time-zone": "UTC",
        "python.executable": sys.executable,
        # Nothing of the mini cluster listens beyond this machine, and on free ports only.
        "jobmanager.bind-host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": "0",
        "rest.bind-port": "0",
    }


def jars(flink_libs: Path) -> list[Path]:
    """The connectors in ``flink_libs`` and our functions: the build's newest if this is a checkout, else theirs.

    Raises MissingPartError when one of them is not there.
    """
    connectors = [jar.absolute() for jar in sorted(flink_libs.glob("*.jar")) if jar.name != FUNCTIONS_JAR]
    functions = [jar for jar in _function_jars(flink_libs) if jar.is_file()]
    if not connectors:
        raise MissingPartError(f"no Flink connectors in {flink_libs}: run `make setup`, or set SPARKFUSE_FLINK_LIBS")
    if not functions:
        raise MissingPartError(f"{FUNCTIONS_JAR} is neither built nor in {flink_libs}: run `make setup`")
    return [*connectors, functions[0]]


def create_tables(
    tables: StreamTableEnvironment, settings: Settings, names: Iterable[str], **placeholders: str
) -> None:
    """Create the topics' tables as the contract defines them, ``names`` as in contracts/generated/flink.

    ``placeholders`` fill what a file leaves open besides ``{bootstrap}`` and ``{prefix}``.
    """
    filled = {"bootstrap": settings.kafka_bootstrap, "prefix": settings.topic_prefix, **placeholders}
    for name in names:
        tables.execute_sql(fill(asset("sparkfuse_contracts", "generated", "flink", f"{name}.sql").read_text(), filled))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put ``values`` in the place of ``{key}``; other braces stay as they are."""
    for key, value in values.items():
        template = template.replace("{" + key + "}", value)
    return template


def _function_jars(flink_libs: Path) -> list[Path]:
    try:
        built = [asset("sparkfuse_stream_jobs", "flink-functions", "target", FUNCTIONS_JAR)]
    except AssetMissingError:
        built = []
    return [*built, (flink_libs / FUNCTIONS_JAR).absolute()]


def _prepare_jvm(name: str, settings: Settings) -> None:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else shutil.which("java")
    if java is None or not Path(java).is_file():
        raise MissingPartError("Java 17 is needed to run Flink, but there is no java on PATH and none in JAVA_HOME")
    scratch, logs = (settings.home / "scratch" / name).absolute(), (settings.home / "logs").absolute()
    shutil.rmtree(scratch, ignore_errors=True)
    # RocksDB keeps its notes beside the JVM's log, under names that no later start uses.
    for notes in logs.glob(f"*_scratch_{name}_*_LOG*"):
        notes.unlink(missing_ok=True)
    for folder in (scratch, logs):
        folder.mkdir(parents=True, exist_ok=True)
    given = os.environ.get("JVM_ARGS", DEFAULT_JVM_ARGS)
    # sparkfuse.job is the mark by which a later start knows a JVM that a killed process left behind.
    ours = [f"-Dsparkfuse.job={name}", f"-Djava.io.tmpdir={scratch}"]
    os.environ["JVM_ARGS"] = " ".join([given, *(argument for argument in ours if argument not in given)])
    bound_arenas()
    os.environ.setdefault("FLINK_LOG_DIR", str(logs))
    os.environ.setdefault("LOG4J_PROPERTIES", str(asset("sparkfuse_stream_jobs", "log4j.properties")))
    os.environ.setdefault("FLINK_IDENT_STRING", f"sparkfuse-{name}")
