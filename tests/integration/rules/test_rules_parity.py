"""Every case of every rule, and every function of the common subset, through the three real engines."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from itertools import chain, product

import pytest
import yaml

from sparkfuse_rules.cases import run_cases
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import job_matches

# Flink plans a statement of fifty rules: half a minute on a quiet machine.
pytestmark = pytest.mark.timeout(900)
ENGINES = ("datafusion", "clickhouse", "flink")
JOB_KEY_TYPES = {"flink": "STRING", "datafusion": "VARCHAR", "clickhouse": "Nullable(String)"}
# Numbers that engines disagree about when a predicate is handed to them as it is written.
ROWS = [
    {},
    {"elapsed_ms": 0, "finished_tasks": 0, "lost_share": 0.0, "name": "", "work_known": False},
    {"elapsed_ms": 7, "finished_tasks": 2, "lost_share": 0.5, "name": "count at job.py", "work_known": True},
    {"elapsed_ms": -7, "finished_tasks": 2, "lost_share": -0.5, "name": "it's 100 % ünïcode", "work_known": True},
    {"elapsed_ms": 5, "finished_tasks": 0, "lost_share": 2.5, "name": "NULL", "work_known": None},
    {"elapsed_ms": 2**53, "finished_tasks": 2**53 - 1, "lost_share": 1e300, "name": "b", "work_known": False},
    {"elapsed_ms": None, "finished_tasks": 3, "lost_share": None, "name": None, "work_known": True},
]
PREDICATES = [
    "elapsed_ms / finished_tasks >= 3.5",
    "elapsed_ms / finished_tasks > 1000",
    "NOT (elapsed_ms / finished_tasks > 1000)",
    "elapsed_ms - finished_tasks * 2 + 1 > 0",
    "elapsed_ms % finished_tasks = 1",
    "elapsed_ms % 2 = -1",
    "-elapsed_ms > 0",
    "COALESCE(elapsed_ms, 0.5) = 0.5",
    "COALESCE(lost_share, 1) >= 1",
    "CASE WHEN work_known THEN 1 ELSE 2.5 END * elapsed_ms > 9",
    "CASE WHEN work_known THEN TRUE WHEN elapsed_ms > 6 THEN FALSE END",
    "work_known",
    "NOT work_known",
    "work_known = FALSE",
    "work_known IS NULL",
    "name IS NOT NULL",
    "name = ''",
    "name <> 'b'",
    "name = 'it''s 100 % ünïcode'",
    "name LIKE 'count%'",
    "NOT name LIKE '%job._y'",
    "name IN ('b', 'NULL')",
    "name NOT IN ('b', 'NULL')",
    "CHAR_LENGTH(name) = 18",
    "elapsed_ms BETWEEN 0 AND 7",
    "elapsed_ms NOT BETWEEN 0 AND 7",
    "elapsed_ms IN (0, 7)",
    "elapsed_ms <> 7",
    "ABS(elapsed_ms) = 7",
    "CEIL(lost_share) = 1",
    "CEIL(lost_share) = 0",
    "FLOOR(lost_share) = -1",
    "LN(elapsed_ms) < 2",
    "LN(lost_share) > 690",
    "LOG10(elapsed_ms) > 0.5",
    "SQRT(lost_share) > 1.5",
    "SQRT(elapsed_ms) >= 0",
    "POWER(elapsed_ms, 2) = 49",
    "POWER(lost_share, 0.5) >= 0",
    "POWER(lost_share, 2) > 1E308",
    "CAST(lost_share AS BIGINT) = 2",
    "CAST(lost_share AS BIGINT) = 0",
    "NULLIF(finished_tasks, 2) > 0",
    "elapsed_ms > finished_tasks OR lost_share > 0",
    "elapsed_ms > finished_tasks AND lost_share > 0",
    "elapsed_ms > 1.5 AND (lost_share > :share OR work_known)",
    "elapsed_ms * 1000000 * 1000000 > 0",
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """The rules of the product, and one made rule for each predicate with each row as a case."""
    folder = tmp_path_factory.mktemp("rules")
    for number, predicate in enumerate(PREDICATES):
        cases = [{"name": f"row {place}", "given": row, "expect": "quiet"} for place, row in enumerate(ROWS)]
        made = {
            "summary": "made", "view": "stage_live", "severity": {"warning": True, "critical": "elapsed_ms > 4"},
            "params": {"share": {"default": 0.25, "unit": "ratio", "why": "made"}}, "when": predicate, "for": "0s",
            "description": "made", "runbook": "made", "fuse": "none", "cases": cases,
        }  # fmt: skip
        (folder / f"predicate_{number:02}.yaml").write_text(yaml.safe_dump(made))
    return list(chain(load_catalog().values(), load_catalog(folder).values()))


@pytest.fixture(scope="module")
def answers(asked):
    """What each engine answers to all cases, each asked once."""
    return {engine: run_cases(asked, engine, globals()[f"ask_{engine}"]) for engine in ENGINES}


def ask_datafusion(sql):
    from datafusion import SessionContext

    return [(row["place"], row["severity"]) for row in SessionContext().sql(sql).to_pylist()]


def ask_clickhouse(sql):
    import chdb

    return [(row["place"], row["severity"]) for row in json.loads(str(chdb.query(sql, "JSON")))["data"]]


def ask_flink(sql):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "1")
    with environment.execute_sql(sql).collect() as rows:
        return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_of_every_rule_answers_as_its_file_says(answers, engine):
    """The rule files mean the same live, offline and in history."""
    wrong = [
        f"{result.rule.id}: {result.case.name}: {result.actual}"
        for result in answers[engine]
        if not result.rule.id.startswith("predicate_") and not result.passed
    ]

    assert wrong == []


@pytest.mark.parametrize("engine", ["clickhouse", "flink"])
def test_every_function_of_the_subset_means_the_same(answers, engine):
    """NULL, zero, negative, broken and huge numbers, text with quotes: one answer in all engines."""
    differing = [
        f"{one.rule.when} on {dict(one.case.given)}: datafusion {one.actual}, {engine} {other.actual}"
        for one, other in zip(answers["datafusion"], answers[engine], strict=True)
        if one.actual != other.actual
    ]

    assert differing == []


def test_the_made_predicates_decide_something(answers):
    """The comparison is of answers, not of silence: nearly every predicate holds for some row and not for another."""
    said = {}
    for result in answers["datafusion"]:
        said.setdefault(result.rule.id, set()).add(result.actual)
    silent = [rule for rule, actual in said.items() if rule.startswith("predicate_") and len(actual) == 1]

    assert len(silent) <= 2, silent


PATTERNS = ["etl_*", "a?c", "*", "1.5 (new)", "it's+{x}|$y", "team/*/daily"]
KEYS = ["etl_x", "etlyx", "abc", "ac", "", "1.5 (new)", "1x5 (new)", "it's+{x}|$y", "team/é/daily", "A"]


def quoted(text):
    return text.replace("'", "''")


@pytest.mark.parametrize("engine", ENGINES)
def test_patterns_of_jobs_mean_the_same(engine):
    """A rule that is set otherwise for `etl_*` is so for the same jobs in every engine, as the shell reads it."""
    pairs = list(product(PATTERNS, KEYS))
    quote = {"flink": "`", "datafusion": '"', "clickhouse": "`"}[engine]
    sql = "\nUNION ALL\n".join(
        f"SELECT {place} AS place, CASE WHEN {job_matches(pattern, engine)} THEN 'yes' END AS severity FROM"
        f" (SELECT CAST('{quoted(key)}' AS {JOB_KEY_TYPES[engine]}) AS {quote}job_key{quote}) AS t"
        for place, (pattern, key) in enumerate(pairs)
    )
    answers = dict(globals()[f"ask_{engine}"](sql))
    differing = [
        f"{key!r} like {pattern!r}: {answers[place]}"
        for place, (pattern, key) in enumerate(pairs)
        if (answers[place] == "yes") != fnmatchcase(key, pattern)
    ]

    assert differing == []
