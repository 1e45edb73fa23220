"""Tests `sparkfuse feedback` and `sparkfuse rules precision` with a real broker, loader and store."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from confluent_kafka import Producer
from typer.testing import CliRunner, Result

from sparkfuse.commands.application import application
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse.stack.topics import ensure_topics
from sparkfuse_contracts.generated.feedback_pb2 import Feedback
from sparkfuse_contracts.generated.finding_pb2 import Finding
from sparkfuse_contracts.kafka_clients import producer_configuration
from sparkfuse_contracts.settings import Settings
from sparkfuse_contracts.wire import record_key, to_json
from sparkfuse_native_analytics.store.client import connect
from tests.kafka import settings_of
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(600)
LOADING_SECONDS = 180
FINDINGS = 6


@dataclass(frozen=True)
class Stack:
    """A broker, a loader and a store with six findings of one rule and team."""

    environment: dict[str, str]

    def run(self, *arguments: str) -> Result:
        """Run `sparkfuse`."""
        return CliRunner(env=self.environment).invoke(application, list(arguments))

    def rows(self, *arguments: str) -> list[dict[str, Any]]:
        """Return the JSON document of a command."""
        found = self.run(*arguments, "--json")
        assert found.exit_code == 0, found.output
        rows: list[dict[str, Any]] = json.loads(found.stdout)
        return rows


@pytest.fixture
def stack(kafka_bootstrap: str, topic_prefix: str, store_url: str, tmp_path) -> Iterator[Stack]:
    """Start the loader, and write the findings."""
    database = f"feedback_{uuid.uuid4().hex[:8]}"
    connect(Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": store_url})).command(f"CREATE DATABASE {database}")
    settings = settings_of(kafka_bootstrap, topic_prefix)
    ensure_topics(settings)
    environment = {
        "SPARKFUSE_KAFKA_BOOTSTRAP": kafka_bootstrap,
        "SPARKFUSE_TOPIC_PREFIX": topic_prefix,
        "SPARKFUSE_CLICKHOUSE_URL": f"{store_url}/{database}",
        "SPARKFUSE_METRICS_PORT": "",
    }
    producer = Producer(producer_configuration(settings, {}))
    for number in range(FINDINGS):
        found = Finding(
            finding_id=f"f{number}", rule="stage_skew", severity="warning", state="firing", job_key=f"job-{number}",
            cluster="prod", team="orders", started_ms=1, updated_ms=2, precision_target=0.4,
        )  # fmt: skip
        producer.produce(f"{topic_prefix}.findings", to_json(found), record_key("findings", found))
    # Refused, because it would replace all later verdicts of this person on this finding.
    future_ms = time.time_ns() // 1_000_000 + 86_400_000
    ahead = Feedback(finding_id="f0", person="ada", verdict="not-useful", at_ms=future_ms, rule="stage_skew")
    producer.produce(f"{topic_prefix}.feedback", to_json(ahead), record_key("feedback", ahead))
    assert producer.flush(60) == 0
    with (tmp_path / "loader.log").open("wb") as log:
        command = [sys.executable, "-m", "sparkfuse_native_analytics.loader"]
        loader = subprocess.Popen(command, env=os.environ | environment, stdout=log, stderr=log)
    running = Stack(environment)
    try:
        wait_for(lambda: _findings(running, loader) == FINDINGS, LOADING_SECONDS, "the findings in the store")
        yield running
    finally:
        loader.terminate()
        loader.wait(90)


def _findings(stack: Stack, loader: subprocess.Popen[bytes]) -> int:
    assert loader.poll() is None
    found = stack.run("findings", "--json")
    return len(json.loads(found.stdout)) if found.exit_code == 0 else 0


def test_verdicts_demote_a_rule_until_people_say_useful(stack):
    """Verdicts of people arrive in the store, the last one counts, and the rule is demoted and restored."""
    for number in range(FINDINGS):
        for person in ("ada", "grace"):
            found = stack.run("feedback", f"f{number}", "not-useful", "--person", person, "--note", "known")
            assert found.exit_code == 0, found.output
    wait_for(lambda: len(stack.rows("feedback", "list")) == 2 * FINDINGS, LOADING_SECONDS, "all verdicts")
    [demoted] = stack.rows("rules", "precision")
    for number in range(2):
        stack.run("feedback", f"f{number}", "fixed", "--person", "ada")
    wait_for(lambda: stack.rows("rules", "precision")[0]["useful"] == 2, LOADING_SECONDS, "the new verdicts")
    [restored] = stack.rows("rules", "precision", "--rule", "stage_skew")

    assert demoted == {
        "rule": "stage_skew", "cluster": "prod", "tenant": "default", "team": "orders", "useful": 0, "not_useful": 6,
        "lower": 0.0, "upper": 0.3903, "target": 0.4, "demoted": True,
    }  # fmt: skip
    assert (restored["useful"], restored["not_useful"], restored["demoted"]) == (2, 4, False)
    assert len(stack.rows("feedback", "list", "--rule", "stage_skew")) == 2 * FINDINGS
    assert "demoted to info" not in stack.run("rules", "precision").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["f1", "great"], "the verdict must be one of useful, not-useful, fixed, accepted, but is 'great'"),
        (["f1"], "the verdict must be one of"),
        (["nothing", "useful"], "the store has no finding 'nothing'"),
        (["f1", "useful", "--note", "x" * 1001], "a note has at most 1000 characters"),
    ],
)
def test_wrong_use_is_explained(stack, arguments, message):
    """An unknown verdict or finding, and a text that is too long, is one sentence and exit code 2."""
    found = stack.run("feedback", *arguments)

    assert isinstance(found.exception, StartError)
    assert message in str(found.exception)
    assert found.exception.exit_code == USAGE


def test_unavailable_broker_is_explained(stack):
    """If the broker does not store a verdict, the command fails with exit code 3 and says so."""
    elsewhere = Stack({**stack.environment, "SPARKFUSE_KAFKA_BOOTSTRAP": "127.0.0.1:1"})
    found = elsewhere.run("feedback", "f1", "useful")

    assert isinstance(found.exception, StartError)
    assert found.exception.exit_code == MISSING
    assert "did not store the record in feedback" in str(found.exception)
