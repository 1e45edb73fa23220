import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from compose_spec import PyCompose, PyOptions

from sparkfuse_contracts.settings import DEFAULTS

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "docker-compose.yml").read_text()
SERVICES: dict[str, dict[str, Any]] = yaml.safe_load(TEXT)["services"]
# They have nothing to answer with: a task manager is watched by its job manager, the receiver only prints.
WITHOUT_HEALTHCHECK = {"prepare", "windows-taskmanager", "detect-taskmanager", "receiver"}


def parsed(text: str) -> PyCompose:
    return PyOptions(apply_merge=True).from_yaml(text)


def mounts() -> Iterator[tuple[str, Path]]:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                yield name, ROOT / source


def test_the_file_is_what_the_compose_specification_allows():
    """Unknown keys, misspelt conditions and wrong durations are refused before anybody starts it."""
    compose = parsed(TEXT)
    compose.validate()

    assert set(compose.service_names()) == SERVICES.keys()


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(("restart: unless-stopped", "restart: sometimes"), id="restart"),
        pytest.param(("service_healthy", "service_helthy"), id="condition"),
        pytest.param(("healthcheck:", "helthcheck:"), id="key"),
    ],
)
def test_the_check_refuses_a_spoilt_file(spoilt: tuple[str, str]):
    """The validator that the test above trusts does refuse mistakes."""
    with pytest.raises(ValueError):
        parsed(TEXT.replace(*spoilt)).validate()


@pytest.mark.parametrize(
    ("service", "path"), [pytest.param(*mount, id=f"{mount[0]}-{mount[1].name}") for mount in mounts()]
)
def test_what_is_mounted_is_there(service: str, path: Path):
    """Compose mounts the very files that the tests and `sparkfuse up` run natively."""
    assert path.exists(), f"{service} mounts {path.relative_to(ROOT)}"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_pinned_and_bounded(name: str):
    """A start next year brings up the same versions, and none of them can take the whole machine."""
    service = SERVICES[name]
    tag = service["image"].rpartition(":")[2]

    assert re.search(r"\d+\.\d+", tag)
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - WITHOUT_HEALTHCHECK))
def test_every_service_says_when_it_works(name: str):
    """`docker compose up --wait` returns when the pipeline works, not when its processes exist."""
    assert SERVICES[name]["healthcheck"]["test"]


@pytest.mark.parametrize("name", SERVICES)
def test_what_a_service_waits_for_can_come(name: str):
    """A service that waits for health waits for one that has a healthcheck, and for completion only of `prepare`."""
    for other, wanted in SERVICES[name].get("depends_on", {}).items():
        if wanted["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        if wanted["condition"] == "service_completed_successfully":
            assert other == "prepare"


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_on_loopback(name: str):
    """Nothing is open to the network before somebody decides so."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_settings_are_ones_that_we_read():
    """A misspelt setting would be ignored in silence."""
    ours = [service for service in SERVICES.values() if service["image"].startswith("sparkfuse:")]
    given = {key for service in ours for key in service.get("environment", {}) if key.startswith("SPARKFUSE_")}

    assert given <= DEFAULTS.keys()


def test_modules_that_are_run_exist():
    """Each `python -m` and each Flink job names a module of this checkout."""
    modules = {command[2] for command in _commands() if command[:2] == ["python", "-m"]}
    jobs = {f"sparkfuse_stream_jobs.{command[2]}" for command in _commands() if command[1:2] == ["jobmanager"]}
    missing = [name for name in sorted(modules | jobs) if not _can_be_run(name)]

    assert len(modules | jobs) >= 5
    assert not missing


def _can_be_run(module: str) -> bool:
    found = importlib.util.find_spec(module)
    package = found is not None and found.submodule_search_locations is not None
    return found is not None and (not package or importlib.util.find_spec(f"{module}.__main__") is not None)


def _commands() -> list[list[str]]:
    return [service["command"] for service in SERVICES.values() if "command" in service]


def test_prometheus_scrapes_the_ports_that_are_served():
    """The scrape targets are the services' names and metrics ports."""
    targets = yaml.safe_load((ROOT / "alertmanager" / "targets" / "processes.yml").read_text())
    scraped = {address for group in targets for address in group["targets"]}
    served = {
        f"{name}:{service['environment']['SPARKFUSE_METRICS_PORT']}"
        for name, service in SERVICES.items()
        if "SPARKFUSE_METRICS_PORT" in service.get("environment", {})
    }

    assert scraped == served


def test_grafana_gets_every_variable_that_its_provisioning_reads():
    """A data source with an empty address would only be noticed in a browser."""
    text = "".join(path.read_text() for path in (ROOT / "dashboards" / "provisioning").rglob("*.yaml"))
    wanted = set(re.findall(r"\$(SPARKFUSE_[A-Z_]+)", text))

    assert wanted
    assert wanted <= SERVICES["grafana"]["environment"].keys()


def test_the_broker_is_the_one_that_the_tests_start():
    """Compose's Kafka has the version of the jars that everything here was tried with."""
    pom = ET.parse(ROOT / "cli" / "kafka" / "pom.xml")
    version = pom.findtext(".//{http://maven.apache.org/POM/4.0.0}kafka.version")

    assert SERVICES["kafka"]["image"] == f"apache/kafka:{version}"
