from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.collectors.spark_runs import JAR, ROOT
from tests.integration.collectors.standalone import standalone_master

VERSION = "0.1.0"
POM = ROOT / "collectors/spark-plugin/target/dependency-reduced-pom.xml"
ONLY_LOCAL = """\
<ivysettings>
  <settings defaultResolver="local"/>
  <resolvers><ibiblio name="local" m2compatible="true" root="file://{repository}"/></resolvers>
</ivysettings>
"""


def by_jars(_folder: Path) -> dict[str, str]:
    return {"spark.jars": str(JAR)}


def by_packages(folder: Path) -> dict[str, str]:
    """Install the plugin by its Maven coordinates, from a repository in ``folder`` only."""
    place = folder / "repository/io/sparkfuse/sparkfuse-spark-plugin" / VERSION
    place.mkdir(parents=True)
    shutil.copy(JAR, place / f"sparkfuse-spark-plugin-{VERSION}.jar")
    shutil.copy(POM, place / f"sparkfuse-spark-plugin-{VERSION}.pom")
    settings = folder / "ivysettings.xml"
    settings.write_text(ONLY_LOCAL.format(repository=folder / "repository"))
    return {
        "spark.jars": "",
        "spark.jars.packages": f"io.sparkfuse:sparkfuse-spark-plugin:{VERSION}",
        "spark.jars.ivySettings": str(settings),
        "spark.jars.ivy": str(folder / "ivy"),
    }


def by_class_path(_folder: Path) -> dict[str, str]:
    return {"spark.jars": "", "spark.driver.extraClassPath": str(JAR), "spark.executor.extraClassPath": str(JAR)}


@pytest.fixture(scope="module")
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with standalone_master("spark35", tmp_path_factory.mktemp("standalone")) as address:
        yield address


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("way", "master"),
    [
        (by_jars, "local-cluster"),
        pytest.param(by_class_path, "standalone", marks=pytest.mark.long),
        pytest.param(by_packages, "local-cluster", marks=pytest.mark.long),
        pytest.param(by_class_path, "local-cluster", marks=pytest.mark.long),
        pytest.param(by_jars, "standalone", marks=pytest.mark.long),
        pytest.param(by_packages, "standalone", marks=pytest.mark.long),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_plugin_runs_with_each_installation(run_job, facts, topics, kafka_bootstrap, tmp_path, request, way, master):
    """Driver and executors find the plugin, both send facts, and no fact of the job is missing."""
    address = request.getfixturevalue("standalone") if master == "standalone" else "local-cluster[1,1,700]"
    flag = tmp_path / "flag"
    flag.touch()
    settings = way(tmp_path) | {
        "spark.master": address,
        "spark.executor.memory": "600m",
        "spark.cores.max": "1",
        "spark.test.flag": str(flag),
    }
    job = run_job(
        "spark35",
        "steady_job.py",
        kafka_bootstrap,
        topics,
        **{key.replace(".", "__"): value for key, value in settings.items()},
    )
    job.wait_for_line("STOPPED")

    assert job.ended() == 0
    assert job.wait_for_line("SUM") == "499500"
    assert len(facts.of("application_ended")) == 1
    assert len(facts.of("task_ended")) == 4 + 4 + 1
    assert "0" in {sample.executor_id for sample in facts.of("executor_sample")}
    assert facts.of("collector_health")[-1].faults == 0
