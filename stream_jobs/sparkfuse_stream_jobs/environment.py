"""The Flink environment of both jobs: a mini cluster in the JVM of this process, or the cluster that Flink selects."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

import yaml

from sparkfuse_contracts.assets import AssetMissingError, asset
from sparkfuse_contracts.kafka_properties import BOOTSTRAP, JAVA_PACKAGE, java_properties
from sparkfuse_contracts.settings import Settings, kafka_file_properties
from sparkfuse_stream_jobs.checkpoints import (
    checkpoint_directory,
    latest_checkpoint,
    remove_outdated,
)
from sparkfuse_stream_jobs.errors import MissingPartError
from sparkfuse_stream_jobs.job_metrics import REPORTER
from sparkfuse_stream_jobs.malloc_arenas import limit_arenas
from sparkfuse_stream_jobs.placement import on_cluster

if TYPE_CHECKING:
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StreamTableEnvironment

CONNECTOR_PACKAGE = "org.apache.flink.kafka.shaded.org.apache.kafka."
FUNCTIONS_JAR = "sparkfuse-flink-functions.jar"
# The heap of the mini cluster is set by these JVM arguments, and not by Flink's memory options. If the JVM runs out of
# memory, it must exit, so that the supervisor restarts it. The C1 compiler and the serial collector halve the time and
# CPU of the start. A small young generation keeps the old generation small: with the default sizes, the old generation
# grew to 258 MB for 87 MB of live data.
DEFAULT_JVM_ARGS = "-Xms256m -Xmn112m -Xmx1g -XX:+ExitOnOutOfMemoryError -XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# JVM_ARGS for tens of thousands of facts a second (docs/sizing.md): with the C2 compiler, which halves the CPU time of
# a fact, and with a larger young generation, which is collected less often.
BUSY_JVM_ARGS = "-Xms1g -Xmn512m -Xmx2g -XX:+ExitOnOutOfMemoryError -XX:+UseSerialGC"
# What the program needs on every cluster; all other options belong to the deployment.
PROGRAM: Mapping[str, str] = {
    # Each SQL operator gets a uid; operator_uids.py fixes those of operators with state.
    "table.exec.uid.generation": "ALWAYS",
    # Saved state is divided by this number, so a savepoint can only be restored with the same one.
    "pipeline.max-parallelism": "128",
    "table.local-time-zone": "UTC",
    "pipeline.object-reuse": "true",
}


def table_environment(
    name: str,
    settings: Settings,
    *,
    program: Mapping[str, str] = MappingProxyType({}),
    mini_cluster: Mapping[str, str] = MappingProxyType({}),
) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Return the environments of the job ``name``; outside of a Flink cluster, start the JVM of a mini cluster first.

    ``program`` contains Flink options that the job needs everywhere. ``mini_cluster`` contains options that override
    the defaults of the mini cluster, whose job restores its newest complete checkpoint. Raises MissingPartError if Java
    or a jar is missing.
    """
    values = flink_options(name, settings, program, mini_cluster)
    if not on_cluster():
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


def flink_options(
    name: str, settings: Settings, program: Mapping[str, str], mini_cluster: Mapping[str, str]
) -> dict[str, str]:
    """Return the Flink options that the program of the job ``name`` sets where it runs."""
    everywhere = {**PROGRAM, "pipeline.name": f"sparkfuse {name}", **program}
    return everywhere if on_cluster() else {**_mini_cluster_options(name, settings), **everywhere, **mini_cluster}


def _mini_cluster_options(name: str, settings: Settings) -> dict[str, str]:
    """Return the mini cluster's configuration for the job ``name``, with the checkpoint to restore if there is one.

    Raises MissingPartError if a jar is missing.
    """
    directory = checkpoint_directory(settings.home, name)
    scratch = (settings.home / "scratch" / name).absolute()
    remove_outdated(directory)
    checkpoint = latest_checkpoint(directory)
    recovery = {"execution.state-recovery.path": checkpoint.as_uri()} if checkpoint else {}
    return {
        **yaml.safe_load(asset("sparkfuse_stream_jobs", "flink.yaml").read_text()),
        **REPORTER,
        **recovery,
        # A job owns the checkpoint from which it starts, and deletes this checkpoint after newer ones exist.
        "execution.state-recovery.claim-mode": "CLAIM",
        "execution.checkpointing.interval": f"{settings.checkpoint_ms} ms",
        "execution.checkpointing.dir": directory.as_uri(),
        # RocksDB's working files; in /tmp they would stay after a kill of the JVM.
        "io.tmp.dirs": str(scratch),
        "parallelism.default": "1",
        "python.executable": sys.executable,
        # The mini cluster listens on the loopback interface only, on free ports.
        "jobmanager.bind-host": "127.0.0.1",
        "taskmanager.bind-host": "127.0.0.1",
        "rest.address": "127.0.0.1",
        "rest.bind-address": "127.0.0.1",
        "rest.port": "0",
        "rest.bind-port": "0",
    }


def jars(flink_libs: Path) -> list[Path]:
    """Return the connector jars in ``flink_libs``, and the jar of the functions; the build of a checkout is preferred.

    Raises MissingPartError if one of them is missing.
    """
    connectors = [jar.absolute() for jar in sorted(flink_libs.glob("*.jar")) if jar.name != FUNCTIONS_JAR]
    functions = [jar for jar in _function_jars(flink_libs) if jar.is_file()]
    if not connectors:
        raise MissingPartError(f"no Flink connectors in {flink_libs}: run `make setup`, or set SPARKFUSE_FLINK_LIBS")
    if not functions:
        raise MissingPartError(f"{FUNCTIONS_JAR} is neither built nor in {flink_libs}: run `make setup`")
    return [*connectors, functions[0]]


def create_tables(tables: StreamTableEnvironment, settings: Settings, names: Iterable[str]) -> None:
    """Create tables of the contract; ``names`` are the files in contracts/generated/flink."""
    for name in names:
        template = asset("sparkfuse_contracts", "generated", "flink", f"{name}.sql").read_text()
        tables.execute_sql(fill(template, settings))


def fill(template: str, settings: Settings, **more: str) -> str:
    """Return SQL with the values of its placeholders; other braces stay unchanged.

    ``more`` are the values of placeholders other than ``{bootstrap}`` and ``{prefix}``. A table of a topic gets the
    security settings of SPARKFUSE_KAFKA_CONFIG.
    """
    values = {"prefix": settings.topic_prefix, "bootstrap": settings.kafka_bootstrap, **more}
    for key, value in values.items():
        template = template.replace("{" + key + "}", value)
    address = f"{_option(BOOTSTRAP, settings.kafka_bootstrap)},"
    return template.replace(address, "\n  ".join([address, *_security_options(settings)]))


def _security_options(settings: Settings) -> list[str]:
    security = dict(kafka_file_properties(settings.kafka_config_file, java_properties))
    security.pop(BOOTSTRAP, None)
    if "sasl.jaas.config" in security:
        # The connector contains Kafka's client in another package.
        security["sasl.jaas.config"] = security["sasl.jaas.config"].replace(JAVA_PACKAGE, CONNECTOR_PACKAGE, 1)
    return [f"{_option(name, value)}," for name, value in security.items()]


def _option(name: str, value: str) -> str:
    quoted = value.replace("'", "''")
    return f"'properties.{name}' = '{quoted}'"


def _function_jars(flink_libs: Path) -> list[Path]:
    try:
        built = [asset("sparkfuse_stream_jobs", "flink-functions", "target", FUNCTIONS_JAR)]
    except AssetMissingError:
        built = []
    return [*built, (flink_libs / FUNCTIONS_JAR).absolute()]


def _prepare_jvm(name: str, settings: Settings) -> None:
    java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else shutil.which("java")
    if java is None or not Path(java).is_file():
        raise MissingPartError("Flink needs Java 17, but there is no java on PATH and none in JAVA_HOME")
    scratch, logs = (settings.home / "scratch" / name).absolute(), (settings.home / "logs").absolute()
    arguments = os.environ.get("JVM_ARGS", DEFAULT_JVM_ARGS)
    # A later start uses sparkfuse.job to find the JVM of a killed process.
    required = [f"-Dsparkfuse.job={name}", f"-Djava.io.tmpdir={scratch}"]
    if all(argument in arguments.split() for argument in required):
        return  # the JVM of this process runs already, and uses the folders
    shutil.rmtree(scratch, ignore_errors=True)
    # RocksDB writes its logs here under new names at each start.
    for log in logs.glob(f"*_scratch_{name}_*_LOG*"):
        log.unlink(missing_ok=True)
    for folder in (scratch, logs):
        folder.mkdir(parents=True, exist_ok=True)
    os.environ["JVM_ARGS"] = " ".join([arguments, *(argument for argument in required if argument not in arguments)])
    # PyFlink appends this variable to the class path, where the jars are on a Flink cluster too. Flink finds the
    # reporters of a mini cluster only there.
    added = [str(jar) for jar in jars(settings.flink_libs)] + [os.environ.get("HADOOP_CLASSPATH", "")]
    os.environ["HADOOP_CLASSPATH"] = os.pathsep.join(filter(None, added))
    limit_arenas()
    os.environ.setdefault("FLINK_LOG_DIR", str(logs))
    os.environ.setdefault("LOG4J_PROPERTIES", str(asset("sparkfuse_stream_jobs", "log4j.properties")))
    os.environ.setdefault("FLINK_IDENT_STRING", f"sparkfuse-{name}")
