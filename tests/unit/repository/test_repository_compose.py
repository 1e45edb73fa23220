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
# Services without a port to check: the job manager monitors its task manager, the receiver only prints, others end.
WITHOUT_HEALTHCHECK = {"prepare", "alertmanager-configuration", "windows-taskmanager", "detect-taskmanager", "receiver"}


def parsed(text: str) -> PyCompose:
    return PyOptions(apply_merge=True).from_yaml(text)


def mounts() -> Iterator[tuple[str, Path]]:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            if source.startswith("."):
                yield name, ROOT / source


def test_file_conforms_to_the_compose_specification():
    """The Compose file has no unknown keys, conditions or durations."""
    compose = parsed(TEXT)
    compose.validate()

    assert set(compose.service_names()) == SERVICES.keys()


@pytest.mark.parametrize(
    "mistake",
    [
        pytest.param(("restart: unless-stopped", "restart: sometimes"), id="restart"),
        pytest.param(("service_healthy", "service_helthy"), id="condition"),
        pytest.param(("healthcheck:", "helthcheck:"), id="key"),
    ],
)
def test_validator_rejects_mistakes(mistake: tuple[str, str]):
    """The validator rejects an invalid compose file."""
    with pytest.raises(ValueError):
        parsed(TEXT.replace(*mistake)).validate()


@pytest.mark.parametrize(
    ("service", "path"), [pytest.param(*mount, id=f"{mount[0]}-{mount[1].name}") for mount in mounts()]
)
def test_mounted_files_exist(service: str, path: Path):
    """Each file that Compose mounts exists, and is the file that the tests and `sparkfuse up` use."""
    assert path.exists(), f"{service} mounts {path.relative_to(ROOT)}"


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_version_and_limits(name: str):
    """Each image has a fixed version, and each service has a memory limit."""
    service = SERVICES[name]
    tag = service["image"].rpartition(":")[2]

    assert re.search(r"\d+\.\d+", tag)
    assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory"}


@pytest.mark.parametrize("name", sorted(SERVICES.keys() - WITHOUT_HEALTHCHECK))
def test_every_service_has_a_healthcheck(name: str):
    """Each service has a healthcheck, so `docker compose up --wait` returns only when the services work."""
    assert SERVICES[name]["healthcheck"]["test"]


@pytest.mark.parametrize("name", SERVICES)
def test_dependencies_between_services_can_be_met(name: str):
    """A service waits only for services with a healthcheck, or for the completion of one that ends."""
    for other, wanted in SERVICES[name].get("depends_on", {}).items():
        if wanted["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]
        if wanted["condition"] == "service_completed_successfully":
            assert other in {"prepare", "alertmanager-configuration"}


@pytest.mark.parametrize("name", SERVICES)
def test_ports_are_on_loopback(name: str):
    """No port is open to the network by default."""
    assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", []))


def test_all_settings_are_known():
    """Each setting in the Compose file is known, because a misspelled one would be ignored without an error."""
    ours = [service for service in SERVICES.values() if service["image"].startswith("sparkfuse:")]
    given = {key for service in ours for key in service.get("environment", {}) if key.startswith("SPARKFUSE_")}

    assert given <= DEFAULTS.keys()


def test_modules_in_commands_exist():
    """Each `python -m` command and each Flink job refers to an existing module."""
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


def test_prometheus_scrapes_the_metrics_ports():
    """The scrape targets are the names and metrics ports of the services; targets of a profile are commented out."""
    text = (ROOT / "alertmanager" / "targets" / "processes.yml").read_text()
    targets = yaml.safe_load(text.replace("# - ", "- "))
    scraped = {address for group in targets for address in group["targets"]}
    served = {
        f"{name}:{service['environment']['SPARKFUSE_METRICS_PORT']}"
        for name, service in SERVICES.items()
        if "SPARKFUSE_METRICS_PORT" in service.get("environment", {})
    }
    port = re.search(r"FLINK_METRICS_PORT:-(\d+)", (ROOT / "deploy" / "flink.sh").read_text())
    assert port
    of_flink = [name for name, service in SERVICES.items() if "FLINK_HOST" in service.get("environment", {})]
    served |= {f"{name}:{port[1]}" for name in of_flink}

    assert scraped == served
    optional = {name for name in SERVICES if "profiles" in SERVICES[name]}
    by_default = {address.partition(":")[0] for group in yaml.safe_load(text) for address in group["targets"]}
    assert not by_default & optional


def test_actuator_is_off_by_default_and_has_no_private_key():
    """The external actuator runs only with its profile, and cannot read the volume of private keys."""
    actuator = SERVICES["fuse-actuator"]

    assert actuator["profiles"] == ["actuator"]
    assert not any(volume.startswith("keys:") for volume in actuator["volumes"])
    assert not {"SPARKFUSE_SIGNING_KEY", "SPARKFUSE_APPROVE_KEY"} & actuator["environment"].keys()
    assert yaml.safe_load((ROOT / "deploy" / "actuator.yaml").read_text())["mode"] == "shadow"


def test_grafana_gets_all_provisioning_variables():
    """Every variable of the provisioning files is set in the Grafana service."""
    text = "".join(path.read_text() for path in (ROOT / "dashboards" / "provisioning").rglob("*.yaml"))
    wanted = set(re.findall(r"\$(SPARKFUSE_[A-Z_]+)", text))

    assert wanted
    assert wanted <= SERVICES["grafana"]["environment"].keys()


def test_broker_version_equals_the_tested_one():
    """The Kafka image has the version of the jars that the tests use."""
    pom = ET.parse(ROOT / "cli" / "kafka" / "pom.xml")
    version = pom.findtext(".//{http://maven.apache.org/POM/4.0.0}kafka.version")

    assert SERVICES["kafka"]["image"] == f"apache/kafka:{version}"
