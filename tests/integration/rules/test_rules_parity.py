"""Tests every case of every rule, and every function that all engines have, on the three real engines."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from itertools import chain, product

import pytest
import yaml

from sparkfuse_rules.cases import run_cases
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.compiler import job_matches
from sparkfuse_rules.dialects import Dialect

# Flink plans a statement of twenty rules in a few seconds; the time grows faster than the number of rules.
pytestmark = pytest.mark.timeout(900)
RULES_PER_STATEMENT = 20
ENGINES: tuple[Dialect, ...] = ("datafusion", "clickhouse", "flink")
JOB_KEY_TYPES = {"flink": "STRING", "datafusion": "VARCHAR", "clickhouse": "Nullable(String)"}
# Values for which engines give different results if a predicate is not rewritten.
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
def rules_and_predicates(tmp_path_factory):
    """Return the built-in rules, and one generated rule for each predicate, with each row as a case."""
    folder = tmp_path_factory.mktemp("rules")
    for number, predicate in enumerate(PREDICATES):
        cases = [{"name": f"row {place}", "given": row, "expect": "quiet"} for place, row in enumerate(ROWS)]
        rule = {
            "summary": "generated", "view": "stage_live", "severity": {"warning": True, "critical": "elapsed_ms > 4"},
            "params": {"share": {"default": 0.25, "unit": "ratio", "why": "generated"}}, "when": predicate, "for": "0s",
            "description": "generated", "runbook": "generated", "fuse": "none", "cases": cases,
        }  # fmt: skip
        (folder / f"predicate_{number:02}.yaml").write_text(yaml.safe_dump(rule))
    return list(chain(load_catalog().values(), load_catalog(folder).values()))


@pytest.fixture(scope="module")
def results(rules_and_predicates):
    """Return the results of all cases by engine; each engine evaluates them once."""
    by_view = sorted(rules_and_predicates, key=lambda rule: rule.view)
    parts = [by_view[first : first + RULES_PER_STATEMENT] for first in range(0, len(by_view), RULES_PER_STATEMENT)]
    return {
        engine: [result for part in parts for result in run_cases(part, engine, globals()[f"ask_{engine}"])]
        for engine in ENGINES
    }


def ask_datafusion(sql):
    from datafusion import SessionContext

    return [(row["case_number"], row["severity"]) for row in SessionContext().sql(sql).to_pylist()]


def ask_clickhouse(sql):
    from chdb.session import Session

    with Session() as session:
        # All cases of the catalog in one statement exceed the default limit of 256 KiB.
        session.query("SET max_query_size = 16777216")
        return [(row["case_number"], row["severity"]) for row in json.loads(str(session.query(sql, "JSON")))["data"]]


def ask_flink(sql):
    from pyflink.table import EnvironmentSettings, TableEnvironment

    environment = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    environment.get_config().set("parallelism.default", "1")
    with environment.execute_sql(sql).collect() as rows:
        return [(row[0], row[1]) for row in rows]


@pytest.mark.parametrize("engine", ENGINES)
def test_every_case_has_its_expected_severity(results, engine):
    """Each case of each rule has its expected severity live, offline and in history."""
    wrong = [
        f"{result.rule.id}: {result.case.name}: {result.actual}"
        for result in results[engine]
        if not result.rule.id.startswith("predicate_") and not result.passed
    ]

    assert wrong == []


@pytest.mark.parametrize("engine", ["clickhouse", "flink"])
def test_every_function_has_one_result_in_all_engines(results, engine):
    """Each function gives equal results in all engines.

    The tested values are NULL, zero, negative, fractional and huge numbers, and text with quotes.
    """
    differing = [
        f"{one.rule.when} on {dict(one.case.given)}: datafusion {one.actual}, {engine} {other.actual}"
        for one, other in zip(results["datafusion"], results[engine], strict=True)
        if one.actual != other.actual
    ]

    assert differing == []


def test_generated_predicates_are_not_trivial(results):
    """Nearly every predicate is true for some rows and false for others."""
    severities: dict[str, set[str]] = {}
    for result in results["datafusion"]:
        severities.setdefault(result.rule.id, set()).add(result.actual)
    trivial = [rule for rule, actual in severities.items() if rule.startswith("predicate_") and len(actual) == 1]

    assert len(trivial) <= 2, trivial


PATTERNS = ["etl_*", "a?c", "*", "1.5 (new)", "it's+{x}|$y", "team/*/daily"]
KEYS = ["etl_x", "etlyx", "abc", "ac", "", "1.5 (new)", "1x5 (new)", "it's+{x}|$y", "team/é/daily", "A"]


def quoted(text):
    return text.replace("'", "''")


@pytest.mark.parametrize("engine", ENGINES)
def test_job_patterns_match_the_same_jobs(engine):
    """An override for `etl_*` applies to the same jobs in every engine."""
    pairs = list(product(PATTERNS, KEYS))
    quote = {"flink": "`", "datafusion": '"', "clickhouse": "`"}[engine]
    sql = "\nUNION ALL\n".join(
        f"SELECT {place} AS case_number, CASE WHEN {job_matches(pattern, engine)} THEN 'yes' END AS severity FROM"
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
