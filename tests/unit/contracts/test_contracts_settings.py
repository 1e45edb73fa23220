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
        flink_libs=Path("build/flink-libs"),
        signing_key_file=None,
        approve_key_file=None,
        public_keys="",
        fuse_mode="shadow",
        console_url="http://127.0.0.1:19080",
        dashboard_url="",
        runbook_url="http://127.0.0.1:19080/docs",
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


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("SPARKFUSE_KAFKA_BOOTSTRAP", "localhost", "host:port"),
        ("SPARKFUSE_KAFKA_CONFIG", "/nowhere/kafka.properties", "a file that is there"),
        ("SPARKFUSE_TOPIC_PREFIX", "a b", "letters, digits"),
        ("SPARKFUSE_CLICKHOUSE_URL", "127.0.0.1:18123", "http://127.0.0.1:18123"),
        ("SPARKFUSE_ALERTMANAGER_URLS", "http://a,b", "addresses like"),
        ("SPARKFUSE_METRICS_PORT", "seventy", "a port from 1 to 65535"),
        ("SPARKFUSE_METRICS_PORT", "65536", "a port from 1 to 65535"),
        ("SPARKFUSE_METRICS_ADDRESS", "everywhere", "an address to listen on"),
        ("SPARKFUSE_CONFIG", "/nowhere/sparkfuse.yaml", "a file that is there"),
        ("SPARKFUSE_WINDOW_MS", "5", "milliseconds from 100 to 600000"),
        ("SPARKFUSE_CHECKPOINT_MS", "never", "milliseconds from 100 to 600000"),
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
