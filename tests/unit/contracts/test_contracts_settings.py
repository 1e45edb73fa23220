"""Tests that a process with an invalid setting does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_contracts.settings import SettingError, Settings


def test_defaults_are_the_addresses_of_the_local_stack(tmp_path, monkeypatch) -> None:
    """Without variables a process uses the stack of `sparkfuse up`; an empty value means the default."""
    monkeypatch.chdir(tmp_path)
    settings = Settings.from_environment({"SPARKFUSE_HOME": " "})

    assert settings == Settings(
        kafka_bootstrap="127.0.0.1:19092",
        kafka_config_file=None,
        topic_prefix="sparkfuse",
        clickhouse_url="http://127.0.0.1:18123",
        home=Path(".sparkfuse"),
        alertmanager_urls=("http://127.0.0.1:19093",),
        metrics_port=0,
        metrics_address="127.0.0.1",
        config_file=None,
        window_ms=5000,
        checkpoint_ms=5000,
        windows_state_backend="rocksdb",
        flink_libs=Path("build/flink-libs"),
        signing_key_file=None,
        approve_key_file=None,
        public_keys="",
        fuse_mode="shadow",
        console_url="http://127.0.0.1:19080",
        dashboard_url="",
        runbook_url="http://127.0.0.1:19080/docs",
        pages_per_day=10,
        keep_facts_days=30,
        keep_live_days=90,
        keep_runs_days=400,
    )


def test_environment_overrides_the_defaults(tmp_path, monkeypatch) -> None:
    """Environment variables override the defaults, and a sparkfuse.yaml in the working folder is found."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sparkfuse.yaml").write_text("")
    settings = Settings.from_environment({
        "SPARKFUSE_KAFKA_BOOTSTRAP": "kafka-1:9092,[::1]:9093",
        "SPARKFUSE_ALERTMANAGER_URLS": "http://a:9093/, https://b",
        "SPARKFUSE_METRICS_PORT": "9100",
    })  # fmt: skip

    assert settings.kafka_bootstrap == "kafka-1:9092,[::1]:9093"
    assert settings.alertmanager_urls == ("http://a:9093", "https://b")
    assert settings.metrics_port == 9100
    assert settings.config_file == Path("sparkfuse.yaml")


def test_source_has_its_own_broker_and_login(tmp_path) -> None:
    """Settings at a source have the broker and the file of the source; all other settings are those of the process."""
    eu, us = tmp_path / "eu.properties", tmp_path / "us.properties"
    eu.write_text("bootstrap.servers=eu:9092\nsasl.mechanism=PLAIN\n")
    us.write_text("bootstrap.servers=us:9092\n")
    home = Settings.from_environment({"SPARKFUSE_SOURCES": f"eu={eu}, us = {us}", "SPARKFUSE_SOURCE": "us"})

    assert [source.name for source in home.sources] == ["eu", "us"]
    assert (home.at_source().kafka_bootstrap, home.at_source().kafka_config_file) == ("us:9092", us)
    assert home.at_source("eu").kafka_bootstrap == "eu:9092"
    assert home.at_source("") == home
    assert (home.job_name("windows"), Settings.from_environment({}).job_name("windows")) == ("windows-us", "windows")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("security.protocol=SSL\n", "bootstrap.servers=''"),
        ("bootstrap.servers=eu\n", "bootstrap.servers='eu'"),
        ("bootstrap.servers=eu:1\nacks=all\n", "acks"),
    ],
)
def test_error_names_the_source_and_the_property(tmp_path, text, key) -> None:
    """The error for the file of a source names the source, the file and the property."""
    file = tmp_path / "eu.properties"
    file.write_text(text)
    settings = Settings.from_environment({"SPARKFUSE_SOURCES": f"eu={file}"})

    with pytest.raises(SettingError) as refused:
        settings.at_source("eu")

    assert str(refused.value).startswith("SPARKFUSE_SOURCES: eu=")
    assert str(file) in str(refused.value)
    assert key in str(refused.value)


@pytest.mark.parametrize(
    "value", ["eu", "eu=/nowhere", "EU={file}", "eu={file},eu={file}", "eu={file},", "{long}={file}"]
)
def test_list_of_sources_is_checked(tmp_path, value) -> None:
    """Each source has a short name that occurs once, and a file that is there."""
    file = tmp_path / "eu.properties"
    file.write_text("")

    with pytest.raises(SettingError, match=r"^SPARKFUSE_SOURCES=.* is invalid: it must be name=file"):
        Settings.from_environment({"SPARKFUSE_SOURCES": value.replace("{file}", str(file)).replace("{long}", "e" * 21)})


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("SPARKFUSE_KAFKA_BOOTSTRAP", "localhost", "host:port"),
        ("SPARKFUSE_KAFKA_CONFIG", "/nowhere/kafka.properties", "a file that is there"),
        ("SPARKFUSE_SOURCE", "eu", "one of the names in SPARKFUSE_SOURCES: none is set"),
        ("SPARKFUSE_TOPIC_PREFIX", "a b", "letters, digits"),
        ("SPARKFUSE_CLICKHOUSE_URL", "127.0.0.1:18123", "http://127.0.0.1:18123"),
        ("SPARKFUSE_ALERTMANAGER_URLS", "http://a,b", "addresses like"),
        ("SPARKFUSE_METRICS_PORT", "seventy", "a port from 1 to 65535"),
        ("SPARKFUSE_METRICS_PORT", "65536", "a port from 1 to 65535"),
        ("SPARKFUSE_METRICS_ADDRESS", "everywhere", "an address to listen on"),
        ("SPARKFUSE_CONFIG", "/nowhere/sparkfuse.yaml", "a file that is there"),
        ("SPARKFUSE_WINDOW_MS", "5", "milliseconds from 100 to 600000"),
        ("SPARKFUSE_CHECKPOINT_MS", "never", "milliseconds from 100 to 600000"),
        ("SPARKFUSE_WINDOWS_STATE_BACKEND", "heap", "one of rocksdb, hashmap"),
        ("SPARKFUSE_SIGNING_KEY", "/nowhere/key.pem", "a key file that is there"),
        ("SPARKFUSE_FUSE_MODE", "kill", "one of off, shadow, warn, act"),
        ("SPARKFUSE_CONSOLE_URL", "console", "an address like"),
        ("SPARKFUSE_DASHBOARD_URL", "grafana", "an address like"),
    ],
)
def test_error_contains_key_value_and_what_is_valid(key, value, right) -> None:
    """The error for an invalid setting contains its key, its value and the valid values."""
    with pytest.raises(SettingError) as refused:
        Settings.from_environment({key: value})

    assert f"{key}={value!r}" in str(refused.value)
    assert right in str(refused.value)
