"""Tests `sparkfuse analyze` on real logs of Spark: its findings, healthy runs, and the shape of its output."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from sparkfuse_contracts.assets import asset
from sparkfuse_native_analytics.event_logs.scrubbed import TEXTS
from tests.oracle.event_log import read_event_log
from tests.oracle.find import find_logs

ROOT = Path(__file__).parents[3]
RUNS = Path("tests/logs/runs")
REAL = Path("tests/logs/real")
HISTORY = [f"{RUNS}/healthy-{number}.zstd" for number in range(1, 7)]


def ask(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the command in the checkout, as a user does."""
    return subprocess.run(
        [sys.executable, "-m", "sparkfuse.main", "analyze", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )


def analyses(*arguments: object) -> list[dict]:
    done = ask("--json", *arguments)

    assert done.returncode in (0, 1), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@functools.cache
def of_runs() -> dict[str, dict]:
    """Return the analyses of all runs of the job by file name; each analysis uses the healthy runs as history."""
    found = analyses(RUNS, "--history", *HISTORY)
    return {Path(each["evidence"]["files"][0]["name"]).stem: each for each in found}


def findings(run: str) -> set[tuple[str, str, int | None]]:
    return {(each["rule"], each["severity"], each["stage_id"]) for each in of_runs()[run]["findings"]}


@pytest.mark.parametrize("run", [*(f"healthy-{number}" for number in range(1, 7)), "noisy", "grown"])
def test_healthy_run_has_no_finding(run: str):
    """Runs with cold JVMs, on a busy host, or with three times the rows have no finding."""
    assert findings(run) == set()


def test_waiting_run_is_slow_at_the_right_stage():
    """For a run that waits, the stage that waits is reported as slow: wall time grows and CPU time does not."""
    assert findings("waits") == {("stage_slow", "warning", 1)}
    assert of_runs()["waits"]["findings"][0]["evidence"]["moved"] == "wall"


def test_skewed_run_is_found_at_the_right_stage():
    """Skew is reported for the stage in which one key has most of the data and its task delays the stage."""
    assert ("stage_skew", "warning", 1) in findings("skewed")


def test_stages_are_recognised_in_each_run():
    """The same two stages are recognised in all runs of the job."""
    fingerprints = {tuple(stage["fingerprint"] for stage in each["stages"]) for each in of_runs().values()}

    assert len(fingerprints) == 1
    assert {each["application"]["job_key"] for each in of_runs().values()} == {"nightly orders"}


def scrubbed(row: dict) -> dict:
    texts = {name: TEXTS["stages"][name](row[name]) for name in TEXTS["stages"] if row.get(name) is not None}
    return {**row, **texts}


@functools.cache
def schema() -> dict:
    return json.loads(asset("sparkfuse_contracts", "generated", "json_schema", "analysis.json").read_text())


def test_each_real_log_matches_the_schema():
    """The JSON matches its schema for each real log: all Spark versions, codecs, killed drivers and lost executors."""
    found = analyses(REAL)

    assert len(found) > 10
    for each in found:
        jsonschema.Draft202012Validator(schema()).validate(each)


def test_numbers_equal_those_of_the_oracle():
    """For each real log, each column of each stage attempt equals the value of the oracle in plain Python.

    The oracle does not remove secrets from texts, so the test removes them as the analysis does.
    """
    logs = dict(find_logs([ROOT / REAL, ROOT / RUNS]))
    printed = {Path(each["evidence"]["files"][0]["name"]).name: each["stages"] for each in analyses(REAL, RUNS)}
    compared = 0
    for pieces in logs.values():
        oracle = {(row["stage_id"], row["stage_attempt"]): scrubbed(row) for row in read_event_log(pieces).stages}
        stages = printed[pieces[0].name]
        names = set(stages[0]) & set(next(iter(oracle.values())))
        expected = {key: {name: row[name] for name in names} for key, row in oracle.items()}
        actual = {(row["stage_id"], row["stage_attempt"]): {name: row[name] for name in names} for row in stages}
        compared += len(actual)

        assert len(names) >= 38
        assert actual == expected

    assert compared > 60


def normal(value: object) -> object:
    """Return the analysis without the runbooks of rules, because other tests cover the runbooks."""
    if isinstance(value, dict):
        return {name: normal(each) for name, each in value.items() if name != "runbook"}
    return [normal(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    ("example", "log", "history"),
    [
        pytest.param("slow_run", RUNS / "waits.zstd", HISTORY, id="a finding against history"),
        pytest.param("lost_executor", REAL / "lost-executor-4", [], id="executors and stages that failed"),
        pytest.param("failed_query", REAL / "queries-35", [], id="SQL and a failed job"),
        pytest.param(
            "query_call_site",
            Path("tests/logs/detection/cross-join.zstd"),
            [],
            id="call sites of the user",
        ),
    ],
)
def test_contract_examples_equal_the_output(example: str, log: Path, history: list[str]):
    """The output equals the golden objects, so a changed name, number or shape is visible.

    ``SPARKFUSE_WRITE_GOLDEN=1`` rewrites the golden objects; review the differences.
    """
    (actual,) = analyses(log, *(["--history", *history] if history else []))
    path = asset("sparkfuse_contracts", "examples", "analysis") / f"{example}.json"
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        path.write_text(json.dumps(actual, indent=2, ensure_ascii=False) + "\n")

    assert normal(actual) == normal(json.loads(path.read_text()))


def test_url_gives_the_same_as_the_file():
    """A log that is streamed from a URL gives the same analysis as the local file."""
    here = analyses(REAL / "queries-35")[0]
    log = Path(here["evidence"]["files"][0]["name"])
    there = analyses(f"local://{ROOT / log}")[0]
    for each in (here, there):
        each["evidence"]["files"][0].pop("name")

    assert here == there


def test_json_output_survives_a_closed_pipe():
    """`| head -c 1` ends the command without a traceback."""
    command = f"{sys.executable} -m sparkfuse.main analyze --json {RUNS} {RUNS} {RUNS} | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (done.stdout, done.stderr) == ("{", "")


def documented(language: str) -> list[str]:
    """Return the examples of docs/analyze.md in a language; each line of shell is one example."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / "analyze.md").read_text(), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()] if language == "sh" else blocks


@pytest.fixture
def like_the_checkout(tmp_path: Path) -> Path:
    """Return a writable folder with logs at the paths that the documentation uses."""
    (tmp_path / "tests").symlink_to(ROOT / "tests")
    return tmp_path


@pytest.mark.parametrize("command", [line for line in documented("sh") if "| jq" not in line])
def test_examples_of_the_documentation_run(like_the_checkout: Path, command: str):
    """The commands in the documentation work as printed."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        command, shell=True, cwd=like_the_checkout, env=environment, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (1, "")


def test_python_example_of_the_documentation_runs(like_the_checkout: Path):
    """The Python example prints one line per log."""
    (code,) = documented("python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=like_the_checkout, capture_output=True, text=True, check=True
    )

    assert len(done.stdout.splitlines()) == 10
