"""Tests that both jobs restore the savepoints of the last release, and refuse those that do not fit."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sparkfuse.stack.layout import free_ports
from sparkfuse_contracts.assets import asset
from tests.integration.stream_jobs import upgrade_facts, upgrade_rows
from tests.integration.stream_jobs.detect_job import DetectJob
from tests.integration.stream_jobs.savepoints import (
    PREFIX,
    SavepointJob,
    create_topics,
    environment_of,
    start_from,
)
from tests.integration.stream_jobs.upgrade_facts import APP_ID, START_MS, TASKS, TimedFact, facts_after, facts_before
from tests.integration.stream_jobs.windows_seen import Seen
from tests.unit.stream_jobs.detect_rows import WINDOW_MS
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)
PRODUCER_TIME = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}


SAVEPOINT = "tests/savepoints/windows"
LATER = ["--release", "later"]
NEW_RULE = """
summary: A stage runs
view: stage_live
params: {min_elapsed_ms: {default: 20000, unit: ms, why: "the stage of the test runs longer"}}
when: "elapsed_ms >= :min_elapsed_ms AND work_records > 0"
severity: info
for: 0s
description: "The stage runs for {elapsed_ms:duration}."
runbook: "1. Look at it."
fuse: none
cases: [{name: at once, given: {elapsed_ms: 20000, work_records: 1}, expect: info}]
"""


class Upgrade:
    """Runs windows jobs of two releases, one after the other, between the same topics."""

    def __init__(self, bootstrap: str, folder: Path) -> None:
        self.folder = folder
        create_topics(bootstrap, PRODUCER_TIME)
        upgrade_facts.send(bootstrap, f"{PREFIX}.facts", upgrade_facts.placeholders(facts_before()))
        self.seen = Seen(bootstrap, PREFIX)
        self._jobs: list[SavepointJob] = []

    def run(self, savepoint: Path | None, arguments: Sequence[str] = ()) -> SavepointJob:
        """Run a windows job from a savepoint, or without saved state."""
        job = self.start(savepoint, arguments)
        job.wait_until_running()
        return job

    def start(self, savepoint: Path | None, arguments: Sequence[str]) -> SavepointJob:
        """Start a windows job, and do not wait for it."""
        home = self.folder / f"job-{len(self._jobs)}"
        home.mkdir(parents=True)
        environment = environment_of("windows", self.seen.bootstrap, home)
        if savepoint is not None:
            start_from(savepoint, "windows", home / "windows")
        self._jobs.append(SavepointJob(["windows", *arguments], environment, home / "output.log"))
        return self._jobs[-1]

    def send(self, facts: Sequence[TimedFact]) -> None:
        """Send facts after the upgrade."""
        upgrade_facts.send(self.seen.bootstrap, f"{PREFIX}.facts", facts)

    def refuses(self, savepoint: Path, release: str) -> None:
        """Assert that a release refuses a savepoint, and that its log names the ways to continue."""
        code, log = self.start(savepoint, ["--watch", "--release", release]).wait_until_ended()

        assert "windows: the saved state does not fit this release" in log
        assert "run both releases side by side, each with its own epochs, then switch" in log
        assert code == 2

    def epochs(self, view: str) -> set[int]:
        """Return the epochs of the rows of a view."""
        self.seen.read()
        return {row.row_epoch_ms for row in self.seen.live if (row.app_id, row.view) == (APP_ID, view)}

    def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs:
            job.stop()
        self.seen.close()


@pytest.fixture
def upgrade(kafka_bootstrap: str, tmp_path: Path) -> Iterator[Upgrade]:
    """Return topics whose first facts can only come from a savepoint."""
    found = Upgrade(kafka_bootstrap, tmp_path)
    yield found
    found.close()


@pytest.mark.parametrize(
    "arguments", [[], pytest.param(LATER, marks=pytest.mark.long)], ids=["this release", "later release"]
)
def test_savepoint_of_the_last_release_is_restored(
    upgrade: Upgrade, repository: Path, arguments: Sequence[str]
) -> None:
    """The job continues from the savepoint of the last release: no fact is lost or counted twice.

    The later release has one more column and one more aggregate.
    """
    upgrade.run(repository / SAVEPOINT, arguments)
    upgrade.send(facts_after())
    ended = upgrade.seen.wait_for(APP_ID, "application_ended", lambda row: True)

    assert_exact(upgrade.seen)
    assert ended.row_epoch_ms == START_MS + 5_000


@pytest.mark.long
def test_rollback_from_the_savepoint_before_the_upgrade(upgrade: Upgrade, repository: Path) -> None:
    """The release refuses the savepoint of a later one with other aggregates.

    From the savepoint before the upgrade, it reads the facts since then again, and all sums are exact.
    """
    later = upgrade.run(repository / SAVEPOINT, LATER)
    upgrade.send(facts_after()[:2])
    upgrade.seen.wait_for(APP_ID, "stage_live", lambda row: row.stage.finished_tasks == TASKS - 1)
    after = later.stop_with_savepoint(upgrade.folder)
    upgrade.refuses(after, "this")
    upgrade.run(repository / SAVEPOINT)
    upgrade.send(facts_after()[2:])
    upgrade.seen.wait_for(APP_ID, "application_ended", lambda row: True)

    assert_exact(upgrade.seen)


@pytest.mark.long
def test_aggregates_that_changed_in_place_are_refused(upgrade: Upgrade, repository: Path) -> None:
    """A release that changes aggregates without the recipe ends with exit code 2, and names the ways to continue."""
    upgrade.refuses(repository / SAVEPOINT, "incompatible")


@pytest.mark.long
def test_two_releases_run_side_by_side(upgrade: Upgrade, repository: Path) -> None:
    """A release without saved state starts a later epoch beside the last one, and continues after it stopped."""
    last = upgrade.run(repository / SAVEPOINT)
    upgrade.run(None, LATER)
    upgrade.send(facts_after()[:2])
    epochs = {START_MS + 5_000, START_MS + 15_000}
    wait_for(lambda: upgrade.epochs("stage_live") == epochs, 180, "rows of both releases")
    last.stop()
    upgrade.send(facts_after()[2:])
    wait_for(lambda: max(epochs) in upgrade.epochs("application_ended"), 180, "the end in the later epoch")
    rows = sorted(upgrade.seen.live, key=lambda row: (row.row_epoch_ms, row.row_seq))

    assert rows[-1].view == "application_ended"
    assert {row.incomplete_since_ms for row in rows if row.view == "stage_live"} == {0, max(epochs)}
    assert max(row.stage.finished_tasks for row in rows if row.row_epoch_ms == min(epochs)) == TASKS - 1


@pytest.mark.parametrize("later", [False, pytest.param(True, marks=pytest.mark.long)], ids=["this", "later"])
def test_finding_of_the_last_release_keeps_firing_until_its_end(
    kafka_bootstrap: str, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    """The detect job continues from the savepoint of the last release, also with changed rules.

    The finding that fired keeps its id and its start, and resolves three windows after the end of its stage.
    """
    before, after = upgrade_rows.rows()
    create_topics(kafka_bootstrap, {})
    upgrade_rows.send(kafka_bootstrap, upgrade_rows.placeholders(before), upgrade_rows.FIRING_MS)
    monkeypatch.setenv("JVM_ARGS", environment_of("detect", kafka_bootstrap, tmp_path)["JVM_ARGS"])
    start_from(repository / "tests" / "savepoints" / "detect", "detect", tmp_path / "detect")
    arguments = ["--min-firing-ms", "1000", *(["--catalog", str(changed_rules(tmp_path))] if later else [])]
    detect = DetectJob(kafka_bootstrap, PREFIX, tmp_path / "detect", arguments, free_ports(1)[0])
    try:
        detect.start()
        upgrade_rows.send(kafka_bootstrap, after, upgrade_rows.END_MS + 60_000)
        job = upgrade_rows.JOB
        detect.wait_for_finding("stage_spill", job, lambda each: each.state == "resolved", "the end of the stage")
        found = detect.findings("stage_spill", job)
        added = detect.wait_for_finding("stage_runs", job, lambda each: True, "the new rule") if later else None
    finally:
        detect.close()

    assert {(each.finding_id, each.started_ms) for each in found} == {(found[-1].finding_id, upgrade_rows.FIRING_MS)}
    assert found[-1].resolved_ms == upgrade_rows.END_MS + 3 * WINDOW_MS
    assert added is None or added.started_ms == upgrade_rows.AFTER_MS


def changed_rules(folder: Path) -> Path:
    """Return the rules of a later release: one has another threshold, and one is new."""
    shutil.copytree(asset("sparkfuse_rules", "catalog"), folder / "catalog")
    rule = folder / "catalog" / "stage_spill.yaml"
    rule.write_text(rule.read_text().replace("default: 268435456", "default: 268435457"))
    (folder / "catalog" / "stage_runs.yaml").write_text(NEW_RULE)
    return folder / "catalog"


def assert_exact(seen: Seen) -> None:
    """Assert that the last row of the stage has the sums of all facts, and that the rows continue those before."""
    stage = seen.of(APP_ID, "stage_live")[-1]
    expected = upgrade_facts.sums()
    numbers = sorted({row.row_seq for row in seen.live if row.app_id == APP_ID})

    assert {name: getattr(stage.stage, name) for name in expected} == expected
    assert (stage.completeness, stage.stage.status, stage.incomplete_since_ms) == (1.0, "succeeded", 0)
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] > 1
