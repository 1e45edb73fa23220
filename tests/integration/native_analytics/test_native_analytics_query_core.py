"""Tests the answers of the query core over runs of real event logs and over the examples of the contract."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import jsonschema
import pytest
from clickhouse_connect.driver.client import Client
from typer.testing import CliRunner

from sparkfuse.commands.application import application as commands
from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_contracts.settings import Settings
from sparkfuse_kernel.event_logs.find import find_logs
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.compare import compare
from sparkfuse_native_analytics.compare.run_from_log import read_run
from sparkfuse_native_analytics.compare.simulation import predictions
from sparkfuse_native_analytics.offline.application import Application, read_application
from sparkfuse_native_analytics.offline.history_rows import baseline_messages, display_name_messages, history_rows
from sparkfuse_native_analytics.queries.openapi import openapi
from sparkfuse_native_analytics.queries.questions import QUESTIONS, Context, QuestionError, as_json
from sparkfuse_native_analytics.store.client import connect
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.prices import Prices
from tests.integration.console.rows import (
    ADVISED_JOB,
    TEAM,
    WASTING_TEAM,
    fill_console,
    store,
    store_real_run,
    store_skewed_runs,
)
from tests.integration.dashboards.scenario import APP, arrow_rows, fill

LOGS = Path(__file__).parent / "compare" / "logs"
EXAMPLES = examples_of(LiveRow)
FAILED = Path(__file__).parents[2] / "logs" / "detection" / "user-error.zstd"
REAL = Path(__file__).parents[2] / "logs" / "runs" / "healthy-1.zstd"
SAME_JOB = ("usual", "skewed_key")
PRICES = Prices("USD", 0.05, 0.005, "test prices")
BY_NAME = {question.name: question for question in QUESTIONS}


@dataclasses.dataclass(frozen=True)
class Filled:
    """A store, and the applications whose logs it has."""

    client: Client
    usual: Application
    slower: Application
    failed: Application
    real: Application

    def ask(self, name: str, **values: object):
        """Return the answer to a question as JSON."""
        return BY_NAME[name].answer_to(Context(self.client, PRICES), values)


def backfill(client: Client, path: Path) -> Application:
    """Store what `sparkfuse backfill` sends about a log."""
    (log,) = find_logs(str(path)).logs
    application = read_application(log)
    store(client, "history", history_rows(application, "prod", "team"))
    store(client, "names", display_name_messages(application, "prod", "team", 1))
    return application


@pytest.fixture(scope="module")
def filled(module_settings: Settings) -> Filled:
    """Return a store with runs of real logs, hostile text, many findings, and baselines of the usual run's job."""
    client = connect(module_settings)
    migrate(client)
    fill(client)
    fill_console(client)
    store_skewed_runs(client)
    usual, slower = (backfill(client, LOGS / f"{name}.zstd") for name in ("usual", "slower_code"))
    failed, real = backfill(client, FAILED), store_real_run(client)
    known = list(baseline_messages(usual, "prod", "team"))
    for baseline in known:
        (sample,) = baseline.samples
        del baseline.samples[:]
        for number in range(6):
            sample.run_key, sample.learned_ms = f"earlier-{number}", number + 1
            baseline.samples.append(sample)
    client.insert_arrow("baselines", arrow_rows("baselines", known))
    return Filled(client, usual, slower, failed, real)


def pages(filled: Filled, name: str, key: str, **values: object) -> list:
    """Return the rows of all pages of a list."""
    rows, cursor = [], ""
    while True:
        answer = filled.ask(name, cursor=cursor, **values)
        rows += answer[key]
        cursor = answer["next_cursor"] or ""
        if not cursor:
            return rows


@pytest.mark.parametrize(
    ("name", "key", "row_id", "values"),
    [
        ("search_runs", "runs", "app_id", {"days": 400}),
        ("list_findings", "findings", "finding_id", {}),
        ("list_stages", "stages", "stage", {"app_id": "real"}),
        ("list_queries", "queries", "query_id", {"app_id": "real"}),
    ],
)
def test_pages_have_each_row_once(filled: Filled, name: str, key: str, row_id: str, values: dict) -> None:
    """The pages of a list have the rows of one large page, in the same order and each once."""
    values = {**values, "app_id": filled.real.app_id} if "app_id" in values else values
    rows = pages(filled, name, key, limit=7, **values)
    whole = pages(filled, name, key, limit=200, **values)
    ids = [json.dumps(row[row_id]) for row in rows]

    assert rows == whole
    assert len(ids) == len(set(ids)) > 7 or name == "search_runs"


def test_comparison_of_stored_runs_agrees_with_the_logs(filled: Filled) -> None:
    """The difference, the matched stages and the first cause are those of the event logs, and the parts add up."""
    found = filled.ask("compare_runs", before=filled.usual.app_id, after=filled.slower.app_id)
    logs = [find_logs(str(LOGS / f"{name}.zstd")).logs[0] for name in ("usual", "slower_code")]
    expected = compare(*map(read_run, logs))

    assert found["difference_ms"] == expected.difference_ms > 0
    assert sum(each["difference_ms"] for each in found["stages"] + found["outside"]) == found["difference_ms"]
    assert sum(each["difference_ms"] for each in found["causes"]) == found["difference_ms"]
    assert found["causes"][0]["cause"] == expected.causes[0][0]
    assert {each["fingerprint"] for each in found["stages"]} == {each.stage.fingerprint for each in expected.stages}
    assert any("no executors" in each for each in found["before"]["limits"])


def test_explanation_names_stages_above_their_expectation(filled: Filled) -> None:
    """A slower run of a job with a baseline is slow; its stages are listed by excess, with completeness."""
    found = filled.ask("explain_run", app_id=filled.slower.app_id)
    usual = filled.ask("explain_run", app_id=filled.usual.app_id)
    excess = [each["excess_ms"] for each in found["excess"]]

    assert (found["verdict"], usual["verdict"]) == ("slow", "as_expected")
    assert found["excess_ms"] == pytest.approx(found["run"]["elapsed_ms"] - found["expected"]["expected_ms"])
    assert excess == sorted(excess, reverse=True)
    assert excess[0] > 10_000
    assert found["completeness"] == found["excess"][0]["completeness"] == 1.0


def test_explanation_splits_the_difference_from_the_usual_run(filled: Filled) -> None:
    """A slower run is compared with the usual one: causes and queries add up, and slower code is the first cause."""
    found = filled.ask("explain_run", app_id=filled.slower.app_id)["usual"]
    first = filled.ask("explain_run", app_id=filled.usual.app_id)["usual"]

    assert (found["app_id"], found["runs"], first) == (filled.usual.app_id, 1, None)
    assert found["difference_ms"] > 30_000
    assert sum(each["difference_ms"] for each in found["causes"]) == found["difference_ms"]
    in_queries = sum(each["difference_ms"] for each in found["queries"])
    assert in_queries + found["outside_queries_ms"] == found["difference_ms"]
    assert found["causes"][0]["cause"] == "cost"


def test_explanation_predicts_the_duration_under_changes(filled: Filled) -> None:
    """Predictions of a stored run are those of its event log, as far as the store has the evidence.

    The store has no executors of a backfilled run, so it predicts nothing about their number.
    """
    (log,) = find_logs(str(LOGS / "slower_code.zstd")).logs
    stored = filled.ask("explain_run", app_id=filled.slower.app_id)["predictions"]
    expected = {each.change: each.saved_ms for each in predictions(read_run(log))}

    assert [each["change"] for each in stored] == ["no_stragglers"]
    assert stored[0]["saved_ms"] == pytest.approx(expected["no_stragglers"], rel=0.1)
    assert {"half_executors", "twice_executors"} < set(expected)


def test_advice_of_stored_runs(filled: Filled) -> None:
    """Runs in the store give the advice of their logs, with the prediction for each run; a single run gives none."""
    found = filled.ask("advise", job_key=ADVISED_JOB)
    none = filled.ask("advise", job_key=filled.usual.job_key)

    assert [each["kind"] for each in found["advice"]] == ["skew"]
    assert found["advice"][0]["predicted_ms"] < 0.9 * found["advice"][0]["usual_ms"]
    assert len(found["advice"][0]["evidence"]) == found["runs"] == 5
    assert (none["advice"], none["runs"] < 5) == ([], True)


def test_explanation_of_a_failed_run_has_the_first_cause(filled: Filled) -> None:
    """The first cause of a failed run is the innermost exception, with its class."""
    found = filled.ask("explain_run", app_id=filled.failed.app_id)

    assert found["verdict"] == "failed"
    assert "Traceback" not in found["first_cause"]["first_cause"]
    assert found["first_cause"]["failure_kind"] in ("user_code", "data", "unknown")
    assert found["first_cause"]["first_cause"]


def test_run_report_has_findings_expectations_and_cost(filled: Filled) -> None:
    """A run has its findings, the expected durations of its stages, and a cost or the reason why it is unknown."""
    live, logged = filled.ask("get_run", app_id=APP), filled.ask("get_run", app_id=filled.usual.app_id, limit=2)

    assert live["findings"]
    assert live["fuse_steps"]
    assert (live["cost"]["amount"] is None) != (live["cost"]["unknown_reason"] is None)
    assert len(logged["stages"]) == 2 < logged["stages_total"]
    assert logged["stages"][0]["expected"]["runs"] == 6
    assert abs(logged["stages"][0]["excess_ms"]) < 50
    assert "event logs" in filled.ask("cost", app_id=filled.usual.app_id)["unknown_reason"]


def test_cost_of_a_live_run_is_that_of_its_executors(filled: Filled) -> None:
    """Cores and memory of a run are those of its executors for as long as they were allocated."""
    found = filled.ask("cost", app_id=APP)
    run = queries.run(filled.client, APP).run
    added, removed = EXAMPLES["executor_added"].executor_added, EXAMPLES["executor_removed"].executor_removed
    allocated_ms = min(removed.removed_ms, run.ended_ms or run.window_end_ms) - added.added_ms
    # Without settings, YARN allocates a heap of 1,024 MiB and an overhead of 384 MiB.
    memory_mib = 1_024 + 384

    assert (found["core_ms"], found["memory_mib_ms"]) == (added.cores * allocated_ms, memory_mib * allocated_ms)
    assert found["amount"] > 0
    assert found["unknown_reason"] is None


def test_job_history_has_runs_and_baselines(filled: Filled) -> None:
    """A job has its runs and the expected durations of its next run, the whole application first."""
    found = filled.ask("job_history", job_key=filled.usual.job_key)

    assert found["baselines"][0]["stage_fingerprint"] == "application"
    assert found["baselines"][0]["expected_ms"] > 0
    assert found["baselines_total"] == len(found["baselines"]) > 3


def test_fleet_is_counted(filled: Filled) -> None:
    """Coverage separates observed runs from those of logs; the state of the fuse counts its steps."""
    covered, fuse = filled.ask("coverage", days=400), filled.ask("fuse_status", days=400)

    assert covered["runs"] == covered["observed_runs"] + covered["logged_runs"]
    assert covered["logged_runs"] > 0 < covered["observed_runs"]
    assert sum(fuse["counts"].values()) == len(fuse["steps"]) > 0


def test_filters_select_runs(filled: Filled) -> None:
    """Runs are selected by status, user, team, cluster and time; quotes and wildcards have no special meaning."""

    def ids(**values: object) -> set[str]:
        return {each["app_id"] for each in filled.ask("search_runs", days=400, **values)["runs"]}

    user = filled.ask("get_run", app_id=filled.usual.app_id)["run"]["user_name"]
    assert filled.failed.app_id in ids(status="failed")
    assert filled.usual.app_id not in ids(status="failed")
    assert filled.usual.app_id in ids(user=user, cluster="prod")
    assert ids(cluster="prod' OR 1=1 --") == ids(team="%") == ids(user="'") == set()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.name)
def test_answers_match_the_contract(filled: Filled, question) -> None:
    """Each answer is valid for its JSON Schema, and no field is missing in the schema."""
    names = {"app_id": APP, "job_key": filled.usual.job_key, "finding_id": "a1b2c3d4e5f60718",
             "text": "a", "before": filled.usual.app_id, "after": filled.slower.app_id}  # fmt: skip
    required = {name for name in names if f"{{{name}}}" in question.path or (name in ("before", "after")
                and question.name == "compare_runs") or (name, question.name) == ("text", "search")}  # fmt: skip
    answer = filled.ask(question.name, **{name: names[name] for name in required})
    content = openapi()["paths"][f"/api/v1{question.path}"]["get"]["responses"]["200"]["content"]
    schema = {**content["application/json"]["schema"], "components": openapi()["components"]}

    assert answer
    jsonschema.Draft202012Validator(schema).validate(answer)


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each.missing], ids=lambda each: each.name)
def test_unknown_things_have_no_answer(filled: Filled, question) -> None:
    """The answer about an unknown thing is None, also for hostile ids."""
    for name in ("nothing", "' OR 1=1 --", "\x00\u202e", "数" * 300):
        values = dict.fromkeys(("app_id", "job_key", "finding_id", "before", "after"), name)
        known = {key: value for key, value in values.items() if key in question.parameters.__dataclass_fields__}

        assert filled.ask(question.name, **known) is None


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("search_runs", {"limit": 201}, "limit is wrong: input should be less than or equal to 200"),
        ("search_runs", {"limit": "x"}, "limit is wrong"),
        ("search_runs", {"status": "dead"}, "status is wrong"),
        ("search_runs", {"order": "1"}, "order is unknown"),
        ("search_runs", {"days": -1}, "days is wrong"),
        ("get_run", {}, "app_id is required"),
        ("get_run", {"app_id": "x" * 301}, "app_id is wrong"),
    ],
)
def test_wrong_parameters_are_named(name: str, values: dict, message: str) -> None:
    """A wrong parameter is an error that names it, before the store is asked."""
    with pytest.raises(QuestionError, match=message):
        BY_NAME[name].wanted(values)


@pytest.mark.parametrize("cursor", ["x", "W10", "WyJmaW5kaW5ncyIsMSwyLCJhIl0", "////", "é", "A" * 999])
def test_cursor_of_another_list_is_refused(filled: Filled, cursor: str) -> None:
    """A damaged cursor, and one of another list, is one clear error."""
    with pytest.raises(queries.CursorError, match="cursor"):
        filled.ask("search_runs", cursor=cursor)


def test_commands_show_the_answers(filled: Filled, module_settings: Settings, monkeypatch, tmp_path) -> None:
    """`run`, `explain`, `runs` and `compare` print the answers; `compare --fail-on` sets the exit code."""
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", module_settings.clickhouse_url)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str):
        return CliRunner().invoke(commands, list(arguments))

    ids = [filled.usual.app_id or "", filled.slower.app_id or ""]
    assert "findings" in run("run", APP).output
    assert "expected, p95" in run("run", ids[0]).output
    explained = run("explain", ids[1]).output
    assert "The run is slower than expected" in explained
    assert f"Compared with {ids[0]}, the most usual of 1 earlier run: +45.3 s" in explained
    assert "no stragglers" in explained
    assert "First cause" in run("explain", filled.failed.app_id or "").output
    assert json.loads(run("run", ids[0], "--json").output)["run"]["app_id"] == ids[0]
    page = json.loads(run("runs", "--limit", "1", "--json").output)
    following = json.loads(run("runs", "--limit", "1", "--cursor", page["next_cursor"], "--json").output)
    assert following["runs"][0]["app_id"] != page["runs"][0]["app_id"]
    assert "not one of runs" in str(run("runs", "--cursor", "x").exception)
    torn = tmp_path / "torn.zstd"
    whole = (LOGS / "usual.zstd").read_bytes()
    torn.write_bytes(whole[: len(whole) // 2])
    assert "Left out: 1 run(s)" in run("advise", str(LOGS / "usual.zstd"), str(torn)).output
    assert "skew: In stage" in run("advise", ADVISED_JOB).output
    assert "Advice needs 5 successful runs" in run("advise", *[str(LOGS / f"{each}.zstd") for each in SAME_JOB]).output
    assert "of several jobs" in str(run("advise", str(LOGS / "usual.zstd"), str(REAL)).exception)
    assert "no run of a job 'nothing'" in str(run("advise", "nothing").exception)
    assert run("compare", *ids).exit_code == 0
    assert run("compare", *ids, "--fail-on", "20%").exit_code == 1
    assert run("compare", *reversed(ids), "--fail-on", "20%").exit_code == 0
    assert run("compare", ids[0], str(LOGS / "slower_code.zstd"), "--fail-on", "10000%").exit_code == 0
    assert "percentage" in str(run("compare", *ids, "--fail-on", "many").exception)
    assert "it is no path of an event log either" in str(run("compare", "nothing", ids[0]).exception)


def test_commands_show_costs_and_outcomes(filled: Filled, module_settings: Settings, monkeypatch) -> None:
    """`cost`, `digest` and `advise --outcomes` print the answers; a wrong value is one sentence."""
    monkeypatch.setenv("SPARKFUSE_CLICKHOUSE_URL", module_settings.clickhouse_url)
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str):
        return CliRunner().invoke(commands, list(arguments))

    assert "No advice is proposed" in run("advise", ADVISED_JOB, "--outcomes").output
    assert "needs one job key" in str(run("advise", str(REAL), "--outcomes").exception)
    assert "no run of a job 'nothing'" in str(run("advise", "nothing", "--outcomes").exception)
    teams, jobs = run("cost").output, json.loads(run("cost", "--by", "job", "--team", WASTING_TEAM, "--json").output)
    assert "unknown" in next(line for line in teams.splitlines() if "unpriced" in line)
    assert [each["name"] for each in jobs["rows"]] == ["wasting/other", ADVISED_JOB]
    digest = json.loads(run("digest", "--team", WASTING_TEAM, "--json").output)
    assert [each["name"] for each in digest["jobs"]] == ["wasting/other", ADVISED_JOB]
    assert "Firing findings: 230; 0 of the 200 most severe ones started" in run("digest", "--team", TEAM).output
    assert "0 ended runs" in run("digest", "--team", "' OR 1=1 --").output
    assert "--team must name a team" in str(run("digest", "--team", " ").exception)
    assert "--by must be team or job" in str(run("cost", "--by", "user").exception)


def test_numbers_that_are_not_finite_become_null() -> None:
    """JSON has no infinity, so it becomes null."""
    assert as_json({"ratio": float("inf"), "other": [float("nan"), 1.5]}) == {"ratio": None, "other": [None, 1.5]}
