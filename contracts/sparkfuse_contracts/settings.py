"""The settings that all processes share; a process reads them from the environment and checks them at its start."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from ipaddress import ip_address
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from sparkfuse_contracts.kafka_properties import BOOTSTRAP, KafkaPropertyError, librdkafka_properties
from sparkfuse_contracts.links import docs_url
from sparkfuse_contracts.properties_file import PropertiesFileError, read_properties

FUSE_MODES = ("off", "shadow", "warn", "act")
STATE_BACKENDS = ("rocksdb", "hashmap")
DEFAULTS: Mapping[str, str] = {
    "SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:19092",
    "SPARKFUSE_KAFKA_CONFIG": "",
    "SPARKFUSE_SOURCES": "",
    "SPARKFUSE_SOURCE": "",
    "SPARKFUSE_TOPIC_PREFIX": "sparkfuse",
    "SPARKFUSE_CLICKHOUSE_URL": "http://127.0.0.1:18123",
    "SPARKFUSE_HOME": ".sparkfuse",
    "SPARKFUSE_ALERTMANAGER_URLS": "http://127.0.0.1:19093",
    "SPARKFUSE_METRICS_PORT": "0",
    "SPARKFUSE_METRICS_ADDRESS": "127.0.0.1",
    "SPARKFUSE_CONFIG": "",
    "SPARKFUSE_WINDOW_MS": "5000",
    "SPARKFUSE_CHECKPOINT_MS": "5000",
    "SPARKFUSE_WINDOWS_STATE_BACKEND": STATE_BACKENDS[0],
    "SPARKFUSE_FLINK_LIBS": "build/flink-libs",
    "SPARKFUSE_SIGNING_KEY": "",
    "SPARKFUSE_APPROVE_KEY": "",
    "SPARKFUSE_PUBLIC_KEYS": "",
    "SPARKFUSE_FUSE_MODE": "shadow",
    "SPARKFUSE_CONSOLE_URL": "http://127.0.0.1:19080",
    # Grafana; without an address, alerts have no link to a dashboard.
    "SPARKFUSE_DASHBOARD_URL": "",
    # Where the folder docs is published; without an address, the console publishes it.
    "SPARKFUSE_RUNBOOK_URL": "",
    # Google's SRE book limits a shift of 12 hours to two incidents, and one incident causes a few pages.
    "SPARKFUSE_PAGES_PER_DAY": "10",
    # Days for which the store keeps facts about tasks and so on, live rows, and the rows of runs and findings.
    "SPARKFUSE_KEEP_FACTS_DAYS": "30",
    "SPARKFUSE_KEEP_LIVE_DAYS": "90",
    "SPARKFUSE_KEEP_RUNS_DAYS": "400",
}
_ADDRESS = re.compile(r"[^\s:,/]+:\d{1,5}|\[[0-9a-fA-F:]+\]:\d{1,5}")
_SOURCES_FORM = (
    "name=file, or several with commas; each name has at most 20 of a-z, 0-9 and '-', starts with a letter and occurs "
    "once, and each file is there"
)
_DAYS_FORM = "a number of days from 1 to 36500"
Value = TypeVar("Value")
_PREFIX = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
# A source's name is part of the names of processes, consumer groups and Kubernetes objects, which are limited.
_SOURCE = re.compile(r"[a-z]([a-z0-9-]{0,18}[a-z0-9])?")


class SettingError(ValueError):
    """A setting has an invalid value; the message contains the key, the value and the valid values."""


@dataclass(frozen=True)
class Source:
    """A Kafka cluster with facts, in addition to the home cluster: its name, and the properties file of its clients."""

    name: str
    kafka_config_file: Path


@dataclass(frozen=True)
class Settings:
    """The settings that all processes share, such as the addresses of Kafka and ClickHouse.

    ``source`` is the name of the source whose facts this process handles; it is empty for the home cluster.
    ``kafka_name`` is the name of the source at ``kafka_bootstrap``; it is empty for the home cluster.
    """

    kafka_bootstrap: str
    kafka_config_file: Path | None
    topic_prefix: str
    clickhouse_url: str
    home: Path
    alertmanager_urls: tuple[str, ...]
    metrics_port: int
    metrics_address: str
    config_file: Path | None
    window_ms: int
    checkpoint_ms: int
    windows_state_backend: str
    flink_libs: Path
    signing_key_file: Path | None
    approve_key_file: Path | None
    public_keys: str
    fuse_mode: str
    console_url: str
    dashboard_url: str
    runbook_url: str
    pages_per_day: int
    keep_facts_days: int
    keep_live_days: int
    keep_runs_days: int
    sources: tuple[Source, ...] = ()
    source: str = ""
    kafka_name: str = ""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Settings:
        """Return the settings of ``environment`` (default: that of the process); an empty value selects the default.

        Raises SettingError for the first invalid value.
        """
        given = os.environ if environment is None else environment
        values = {key: given.get(key, "").strip() or default for key, default in DEFAULTS.items()}

        def read(key: str, parse: Callable[[str], Value], right: str) -> Value:
            try:
                return parse(values[key])
            except (ValueError, OSError) as error:
                raise SettingError(f"{key}={values[key]!r} is invalid: it must be {right}") from error

        kafka_config_file = read("SPARKFUSE_KAFKA_CONFIG", _optional_file, "the path of a file that is there")
        file_bootstrap = kafka_file_properties(kafka_config_file).get(BOOTSTRAP)
        if file_bootstrap and not given.get("SPARKFUSE_KAFKA_BOOTSTRAP", "").strip():
            values["SPARKFUSE_KAFKA_BOOTSTRAP"] = file_bootstrap
        sources = read("SPARKFUSE_SOURCES", _sources, _SOURCES_FORM)
        names = [each.name for each in sources]
        one_of = f"one of the names in SPARKFUSE_SOURCES: {', '.join(names) or 'none is set'}"
        return cls(
            sources=sources,
            source=read("SPARKFUSE_SOURCE", lambda text: _checked(text, not text or text in names), one_of),
            kafka_config_file=kafka_config_file,
            kafka_bootstrap=read("SPARKFUSE_KAFKA_BOOTSTRAP", _addresses, "host:port, or several with commas"),
            topic_prefix=read("SPARKFUSE_TOPIC_PREFIX", _prefix, "letters, digits, '.', '_' and '-', at most 200"),
            clickhouse_url=read("SPARKFUSE_CLICKHOUSE_URL", _url, "an address like http://127.0.0.1:18123"),
            home=Path(values["SPARKFUSE_HOME"]),
            alertmanager_urls=read("SPARKFUSE_ALERTMANAGER_URLS", _urls, "addresses like http://127.0.0.1:19093"),
            metrics_port=read("SPARKFUSE_METRICS_PORT", _port, "a port from 1 to 65535, or 0 for none"),
            metrics_address=read("SPARKFUSE_METRICS_ADDRESS", _ip_address, "an address to listen on, like 127.0.0.1"),
            config_file=read("SPARKFUSE_CONFIG", _config_file, "the path of a file that is there"),
            window_ms=read("SPARKFUSE_WINDOW_MS", _window, "milliseconds from 100 to 600000"),
            checkpoint_ms=read("SPARKFUSE_CHECKPOINT_MS", _window, "milliseconds from 100 to 600000"),
            windows_state_backend=read(
                "SPARKFUSE_WINDOWS_STATE_BACKEND", _backend, f"one of {', '.join(STATE_BACKENDS)}"
            ),
            flink_libs=Path(values["SPARKFUSE_FLINK_LIBS"]),
            signing_key_file=read("SPARKFUSE_SIGNING_KEY", _optional_file, "the path of a key file that is there"),
            approve_key_file=read("SPARKFUSE_APPROVE_KEY", _optional_file, "the path of a key file that is there"),
            public_keys=values["SPARKFUSE_PUBLIC_KEYS"],
            fuse_mode=read("SPARKFUSE_FUSE_MODE", _mode, f"one of {', '.join(FUSE_MODES)}"),
            console_url=(console_url := read("SPARKFUSE_CONSOLE_URL", _url, "an address like http://127.0.0.1:19080")),
            dashboard_url=read("SPARKFUSE_DASHBOARD_URL", _optional_url, "an address like http://127.0.0.1:3000"),
            runbook_url=read("SPARKFUSE_RUNBOOK_URL", _optional_url, "an address like https://wiki.company/sparkfuse")
            or docs_url(console_url),
            keep_facts_days=read("SPARKFUSE_KEEP_FACTS_DAYS", _days, _DAYS_FORM),
            keep_live_days=read("SPARKFUSE_KEEP_LIVE_DAYS", _days, _DAYS_FORM),
            keep_runs_days=read("SPARKFUSE_KEEP_RUNS_DAYS", _days, _DAYS_FORM),
            pages_per_day=read("SPARKFUSE_PAGES_PER_DAY", _pages, "a number from 1 to 10000, or 0 for no limit"),
        )

    def job_name(self, job: str) -> str:
        """Return the name of this process if it runs ``job``, such as ``windows`` or ``windows-eu``."""
        return f"{job}-{self.source}" if self.source else job

    def at_source(self, name: str | None = None) -> Settings:
        """Return these settings with the Kafka cluster of a source, by default of this process's source.

        Returns the settings unchanged for the home cluster, whose name is empty. Raises SettingError if the source's
        file cannot be used or has no valid ``bootstrap.servers``.
        """
        chosen = self.source if name is None else name
        if not chosen:
            return self
        file = next(each.kafka_config_file for each in self.sources if each.name == chosen)
        address = kafka_file_properties(file, setting=f"SPARKFUSE_SOURCES: {chosen}").get(BOOTSTRAP, "")
        try:
            bootstrap = _addresses(address)
        except ValueError as error:
            raise SettingError(
                f"SPARKFUSE_SOURCES: {chosen}={str(file)!r} is invalid: {BOOTSTRAP}={address!r} must be host:port, or "
                "several with commas"
            ) from error
        return replace(self, kafka_bootstrap=bootstrap, kafka_config_file=file, kafka_name=chosen)


def kafka_file_properties(
    path: Path | None,
    names: Callable[[Mapping[str, str]], Mapping[str, str]] = librdkafka_properties,
    setting: str = "SPARKFUSE_KAFKA_CONFIG",
) -> Mapping[str, str]:
    """Return the properties in the file of ``setting``, translated by ``names``; empty if there is no file.

    Raises SettingError if the file cannot be used.
    """
    try:
        return names(read_properties(path)) if path else {}
    except (PropertiesFileError, KafkaPropertyError) as error:
        raise SettingError(f"{setting}={str(path)!r} is invalid: {error}") from error


def read_sources(text: str) -> tuple[Source, ...]:
    """Return the sources in a value of SPARKFUSE_SOURCES. Raises SettingError."""
    return Settings.from_environment({"SPARKFUSE_SOURCES": text}).sources


def _checked(text: str, holds: bool) -> str:
    if not holds:
        raise ValueError(text)
    return text


def _addresses(text: str) -> str:
    return _checked(text, all(_ADDRESS.fullmatch(part.strip()) for part in text.split(",")))


def _sources(text: str) -> tuple[Source, ...]:
    pairs = [entry.partition("=") for entry in text.split(",")] if text else []
    found = tuple(Source(name.strip(), Path(file.strip())) for name, _, file in pairs)
    holds = all(_SOURCE.fullmatch(each.name) and each.kafka_config_file.is_file() for each in found)
    _checked(text, holds and len({each.name for each in found}) == len(found))
    return found


def _prefix(text: str) -> str:
    return _checked(text, _PREFIX.fullmatch(text) is not None)


def _url(text: str) -> str:
    parts = urlsplit(text)
    return _checked(text, parts.scheme in ("http", "https") and bool(parts.hostname)).rstrip("/")


def _optional_url(text: str) -> str:
    return _url(text) if text else ""


def _urls(text: str) -> tuple[str, ...]:
    return tuple(_url(part.strip()) for part in text.split(","))


def _whole_number(text: str, lowest: int, highest: int) -> int:
    _checked(text, lowest <= int(text) <= highest)
    return int(text)


def _ip_address(text: str) -> str:
    return str(ip_address(text))


def _port(text: str) -> int:
    return _whole_number(text, 0, 65535)


def _window(text: str) -> int:
    return _whole_number(text, 100, 600_000)


def _days(text: str) -> int:
    if not 1 <= int(text) <= 36_500:
        raise ValueError(text)
    return int(text)


def _pages(text: str) -> int:
    return _whole_number(text, 0, 10_000)


def _optional_file(text: str) -> Path | None:
    if not text:
        return None
    _checked(text, Path(text).is_file())
    return Path(text)


def _config_file(text: str) -> Path | None:
    beside = Path("sparkfuse.yaml")
    return _optional_file(text) or (beside if beside.is_file() else None)


def _mode(text: str) -> str:
    return _checked(text, text in FUSE_MODES)


def _backend(text: str) -> str:
    return _checked(text, text in STATE_BACKENDS)
