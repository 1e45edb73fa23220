"""Tests that queries and stages are named by their tables and operators, in words that the user of the job knows."""

from __future__ import annotations

import os
import re
import time
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkfuse_rules.knowledge.query_plan import QueryPlan, kind_of
from sparkfuse_rules.knowledge.stage_names import (
    MOST_NAME_CHARS,
    MOST_TITLE_CHARS,
    QueryName,
    StageName,
    name_query,
    name_stage,
)
from tests.logs.queries.names import NamedLog

QUERIES = Path(__file__).parents[2] / "logs" / "queries"
REAL = sorted(
    path
    for path in (QUERIES.parent / "real").rglob("*")
    if path.is_file() and re.search(r"local-|app-|events_", path.name)
)
LOGS = tuple(sorted(path.stem for path in QUERIES.glob("*.zstd")))
MACHINERY = re.compile(r"NativeMethodAccessorImpl|CompletableFuture|ThreadPoolExecutor|FutureTask|\$anonfun")


def plan(*nodes: tuple[str, int] | tuple[str, int, str]) -> QueryPlan:
    """Return a plan of nodes, each given as (name, parent) or (name, parent, detail)."""
    return QueryPlan(
        [node[0] for node in nodes], [node[1] for node in nodes], [node[2] if len(node) > 2 else "" for node in nodes]
    )


JOINED = plan(
    ("AdaptiveSparkPlan", -1),
    ("WholeStageCodegen (4)", 0),
    ("HashAggregate", 1, "group by l_orderkey"),
    ("InputAdapter", 2),
    ("AQEShuffleRead", 3),
    ("ShuffleQueryStage 1", 4),
    ("Exchange", 5, "hashpartitioning l_orderkey"),
    ("WholeStageCodegen (3)", 6),
    ("HashAggregate", 7, "group by l_orderkey"),
    ("BroadcastHashJoin", 8, "Inner l_partkey = p_partkey"),
    ("ColumnarToRow", 9),
    ("InputAdapter", 10),
    ("Scan parquet lake.lineitem", 11, "lake.lineitem parquet"),
    ("BroadcastQueryStage 0", 9),
    ("BroadcastExchange", 13),
    ("WholeStageCodegen (1)", 14),
    ("ColumnarToRow", 15),
    ("InputAdapter", 16),
    ("Scan parquet lake.part", 17, "lake.part parquet"),
)


@pytest.mark.parametrize("log", LOGS)
def test_names_of_a_log_are_golden(log) -> None:
    """The names of all queries and stages of a job with 50 queries equal the reviewed golden file."""
    golden = QUERIES / f"{log}.names.txt"
    text = "\n".join(NamedLog(QUERIES / f"{log}.zstd").lines()) + "\n"
    if os.environ.get("SPARKFUSE_WRITE_GOLDEN"):
        golden.write_text(text)

    assert text == golden.read_text()


@pytest.mark.parametrize("path", [*(QUERIES / f"{log}.zstd" for log in LOGS), *REAL], ids=lambda path: path.parent.name)
def test_no_name_shows_machinery_of_spark(path) -> None:
    """No name in a real log contains a thread pool, reflection or a generated function, and no name is empty."""
    log = NamedLog(path)
    lines = list(log.lines())

    assert not [line for line in lines if MACHINERY.search(line)]
    assert all(log.stage_name(stage).name.rstrip(": ") for stage in log.stages)
    assert not [line for line in lines if re.match(r"\s*\d* ?(q\d+|stage \d+):? \|", line)]


@pytest.mark.parametrize("log", LOGS)
def test_a_stage_keeps_its_name_when_its_query_ends(log) -> None:
    """All plan versions together give a stage the same name as the one version that contains the stage's operators."""
    named = NamedLog(QUERIES / f"{log}.zstd")
    differing = 0
    for stage in named.stages:
        plans = named.plans.get(stage["sql_execution_id"], [])
        names = [named.stage_name(stage, plans[:known]) for known in range(1, len(plans) + 1)]
        last_change = max((place for place in range(1, len(names)) if names[place] != names[place - 1]), default=0)
        differing += len(set(names[last_change:])) > 1

    assert differing == 0


def test_stage_is_named_by_tables_and_operators() -> None:
    """The short name of a stage shows the joined tables.

    The title shows all operators and the destination of the result.
    """
    scopes = ["Exchange", "WholeStageCodegen (3)", "Scan parquet lake.lineitem"]
    found = name_stage(5, query_id=7, scope_names=scopes, plans=[JOINED], spark_name="count at FutureTask.java:264")

    assert found.name == "q7: lineitem ⋈ part"
    assert found.title == (
        "query 7: scan lineitem; broadcast of part; broadcast hash join; "
        "partial aggregate by l_orderkey → exchange by l_orderkey"
    )


@pytest.mark.parametrize(
    ("scopes", "name"),
    [
        (["BroadcastExchange", "WholeStageCodegen (1)", "Scan parquet lake.part"], "q7: broadcast part"),
        (["WholeStageCodegen (4)", "AQEShuffleRead", "mapPartitionsInternal"], "q7: aggregate lineitem ⋈ part"),
        (["mapPartitionsInternal", "parallelize"], "q7: lineitem ⋈ part"),
    ],
)
def test_stage_is_found_by_codegen_number(scopes, name) -> None:
    """Each stage of a query gets the operators of its own codegen number."""
    assert name_stage(1, query_id=7, scope_names=scopes, plans=[JOINED]).name == name


def test_newest_plan_with_all_operators_is_used() -> None:
    """If a newer plan no longer contains the operators of a stage, the name of the stage does not change."""
    before = plan(("WholeStageCodegen (1)", -1), ("SortMergeJoin", 0), ("Scan a.b", 1, "a.b"), ("Scan c.d", 1, "c.d"))
    after = plan(("WholeStageCodegen (9)", -1), ("HashAggregate", 0), ("Scan x.y", 1, "x.y"))

    assert name_stage(1, query_id=1, scope_names=["WholeStageCodegen (1)"], plans=[before, after]).name == "q1: b ⋈ d"


@pytest.mark.parametrize(("scan", "name"), [("Scan ExistingRDD", "RDD"), ("LocalTableScan", "local rows")])
def test_join_with_rows_of_the_program_shows_both_sides(scan, name) -> None:
    """A join of a table with rows from ``createDataFrame`` shows the rows, and not the table twice."""
    joined = plan(("WholeStageCodegen (1)", -1), ("BroadcastHashJoin", 0, "Inner a = b"), (scan, 1),
                  ("Scan parquet a.orders", 1, "a.orders parquet"))  # fmt: skip

    found = name_stage(1, query_id=1, scope_names=["WholeStageCodegen (1)"], plans=[joined])
    assert found.name == f"q1: {name} ⋈ orders"


@pytest.mark.parametrize(
    ("nodes", "name", "sources", "sink"),
    [
        pytest.param([("BatchScan lake.sales.orders", -1, "sales.orders")], "q1: scan orders", "sales.orders", None,
                     id="Iceberg"),
        pytest.param([("Scan hive default.orders", -1, "default.orders hive")], "q1: scan orders", "default.orders",
                     None, id="Hive"),
        pytest.param([("Scan JDBCRelation((select 1) t) [numPartitions=1]", -1, "jdbc")], "q1: scan jdbc", None, None,
                     id="query over JDBC"),
        pytest.param([("CometHashAggregate", -1), ("CometColumnarExchange", 0), ("CometScan parquet a.b", 1, "a.b")],
                     "q1: aggregate b", "a.b", None, id="another engine"),
        pytest.param([("Execute SaveIntoDataSourceCommand", -1, "gold/orders")], "q1: write to gold/orders", None,
                     "gold/orders", id="Delta by path"),
        pytest.param([("AppendData", -1, "sales.orders parquet"), ("Scan parquet ", 0, "in/a, in/b csv")],
                     "q1: write parquet to sales.orders", "in/a, in/b", "sales.orders", id="append to Iceberg"),
        pytest.param([("Scan csv ", -1, "out/csv/part-00000-ab.csv, out/csv csv")], "q1: scan csv", "out/csv", None,
                     id="files and their folder"),
        pytest.param([("Execute CreateViewCommand", -1)], "q1: create view", None, None, id="command"),
        pytest.param([("ShowTables", -1)], "q1: show tables", None, None, id="catalog command"),
        pytest.param([("Scan parquet spark_catalog.default.orders", -1)], "q1: scan orders", "default.orders", None,
                     id="no detail"),
        pytest.param([("Union", -1), ("Scan a.x", 0, "a.x"), ("Scan a.y", 0, "a.y")], "q1: x \N{UNION} y", "a.x, a.y",
                     None, id="union"),
        pytest.param([("Range", -1)], "q1: scan range", None, None, id="range"),
        pytest.param([("LocalTableScan", -1)], "q1: scan local rows", None, None, id="local rows"),
        pytest.param([], "q1", None, None, id="no plan"),
    ],
)  # fmt: skip
def test_query_is_named_by_sources_and_sink(nodes, name, sources, sink) -> None:
    """A query without a description is named by the tables that it reads or writes."""
    found = name_query(1, description="save at NativeMethodAccessorImpl.java:0", plans=[plan(*nodes)])

    assert (found.name, found.sources, found.sink) == (name, sources, sink)


@pytest.mark.parametrize(
    ("description", "name"),
    [
        ("nightly  reconciliation\nof orders", "q7: nightly reconciliation of orders"),
        ("SELECT * FROM t WHERE name = 'Smith'", "q7: SELECT * FROM t WHERE name = '?'"),
        ("collect at /jobs/orders.py:44", "q7: aggregate lineitem ⋈ part"),
        ("run at ThreadPoolExecutor.java:1136", "q7: aggregate lineitem ⋈ part"),
        ("Spark Connect - root { project { ...", "q7: aggregate lineitem ⋈ part"),
        ("\nid = 9eb9197a-e670-42a0-aacb-5b3e1c1ad951\nrunId = 9eb9197a-e670-42a0-aacb-5b3e1c1ad951\nbatch = 3",
         "q7: stream of lineitem ⋈ part"),
        ("hourly\nid = 9eb9197a-e670-42a0-aacb-5b3e1c1ad951\nrunId = 9eb9197a-e670-42a0-aacb-5b3e1c1ad951\nbatch = 3",
         "q7: stream hourly"),
        ("", "q7: aggregate lineitem ⋈ part"),
    ],
)  # fmt: skip
def test_description_of_the_user_comes_first(description, name) -> None:
    """A query is named by the user's description; call sites and other texts from Spark are not used."""
    named = name_query(7, description=description, plans=[JOINED]).name

    assert named.replace("q7: lineitem ⋈ part", "q7: aggregate lineitem ⋈ part") == name


@pytest.mark.parametrize(
    ("details", "name", "step"),
    [
        (["Inner a = b"], "q1: x ⋈ y", "sort merge join"),
        (["LeftOuter a = b"], "q1: x ⋈ y", "sort merge join (left outer)"),
        (["LeftSemi a = b"], "q1: x semi join y", "sort merge join (left semi)"),
        (["LeftAnti a = b"], "q1: x anti join y", "sort merge join (left anti)"),
        (["LeftSemi null-safe a = b"], "q1: x intersect y", "sort merge join (intersect)"),
        (["LeftAnti null-safe a = b"], "q1: x except y", "sort merge join (except)"),
        (["Inner null-safe a = b"], "q1: x ⋈ y", "sort merge join"),
        (["LeftSemi a = b", "Inner a = c"], "q1: x ⋈ y", "sort merge join (left semi)"),
    ],
)
def test_join_is_named_by_its_type(details, name, step) -> None:
    """Semi joins, anti joins, intersections and differences have their own names.

    If a query has joins of several types, the name of the query shows all of them as ordinary joins (⋈).
    """
    joins = [("SortMergeJoin", place - 1, detail) for place, detail in enumerate(details)]
    below = len(joins) - 1
    found = name_query(1, plans=[plan(*joins, ("Scan a.x", below, "a.x"), ("Scan a.y", below, "a.y"))])

    assert found.name == name
    assert step in found.title.split("; ")


@pytest.mark.parametrize("sink", ["console", "kafka", "memory", "noop"])
def test_write_without_a_table_is_named_by_its_format(sink) -> None:
    """A sink that is neither a table nor a path is named by its format, even if the plan node has a name (Spark 4)."""
    nodes: list[tuple[str, int] | tuple[str, int, str]] = [
        ("OverwriteByExpression a-table", -1, sink),
        ("Scan a.x", 0, "a.x"),
    ]
    query = name_query(1, plans=[plan(*nodes)])
    stage = name_stage(1, query_id=1, scope_names=["Scan a.x"], plans=[plan(*nodes)])

    assert (query.name, query.sink, stage.name) == (f"q1: write to {sink}", sink, f"q1: x → {sink}")


def test_distinct_rows_are_no_aggregate() -> None:
    """An aggregate that computes no value is called distinct."""
    found = name_query(1, plans=[plan(("HashAggregate", -1, "distinct a, b"), ("Scan a.x", 0, "a.x"))])

    assert (found.name, found.title) == ("q1: distinct x", "query 1: scan x; distinct a, b")


def test_columns_that_spark_adds_are_not_shown() -> None:
    """The name of a rollup shows only the user's columns; a computed grouping key is shown as an expression."""
    nodes = [
        ("HashAggregate", -1, "group by _groupingexpression"),
        ("HashAggregate", 0, "group by state, spark_grouping_id"),
        ("Scan parquet ", 1, "lake/customer parquet"),
    ]

    title = name_query(1, plans=[plan(*nodes)]).title

    assert title == "query 1: scan customer; aggregate by state; aggregate by expression"


def test_query_without_operators_shows_its_line_once() -> None:
    """A query without a plan has the user's line of code as its name and its title, without brackets."""
    found = name_query(2, call_site="collect at orders.py:4")

    assert (found.name, found.title) == ("q2: collect at orders.py:4", "query 2: collect at orders.py:4")


def test_stage_that_writes_repartitioned_rows_is_a_write() -> None:
    """A stage that writes repartitioned rows is named as a write.

    Spark gives a stage that writes repartitioned rows only the scopes of its writer and of the exchange that it reads.
    """
    nodes: list[tuple[str, int] | tuple[str, int, str]] = [
        ("Execute InsertIntoHadoopFsRelationCommand", -1, "out/orders csv"),
        ("WriteFiles", 0),
        ("Exchange", 1, "RoundRobinPartitioning"),
        ("InMemoryTableScan", 2, "sales in-memory"),
    ]

    assert name_stage(9, query_id=1, scope_names=["WriteFiles", "Exchange"], plans=[plan(*nodes)]).name == (
        "q1: cached sales → orders"
    )


def test_stage_with_the_scope_of_an_exchange_only_is_a_write() -> None:
    """A stage with only the scope of an exchange is named as a write. Before Spark 3.4 the writer has no scope."""
    nodes: list[tuple[str, int] | tuple[str, int, str]] = [
        ("Execute InsertIntoHadoopFsRelationCommand", -1, "out/orders csv"),
        ("Exchange", 0, "RoundRobinPartitioning"),
        ("WholeStageCodegen (1)", 1),
        ("Scan parquet a.b", 2, "a.b parquet"),
    ]
    found = [
        name_stage(9, query_id=1, scope_names=scopes, plans=[plan(*nodes)]).name
        for scopes in (["Exchange"], ["Exchange", "WholeStageCodegen (1)", "Scan parquet a.b"])
    ]

    assert found == ["q1: b → orders", "q1: scan b"]


def test_many_tables_are_counted() -> None:
    """A short name stays within its length limit; if tables are left out, the name shows how many."""
    scans = [(f"Scan t{n}", 0, f"lake.a_rather_long_table_{n}") for n in range(9)]
    found = name_query(123_456, plans=[plan(("SortMergeJoin", -1), *scans)])

    assert found.name == "q123456: a_rather_long_table_0 + 8 more"


@pytest.mark.parametrize(
    ("scopes", "site", "spark_name", "name"),
    [
        (["textFile"], "count at words.py:14", "count at /jobs/words.py:14", "count at words.py:14"),
        (["textFile", "map"], None, "reduceByKey at NativeMethodAccessorImpl.java:0", "textFile → map → reduceByKey"),
        (["parallelize"], "run at ThreadPoolExecutor.java:1136", "run at ThreadPoolExecutor.java:1136", "parallelize"),
        (["map", "saveAsTextFile"], None, "runJob at SparkHadoopWriter.scala:83", "map → saveAsTextFile"),
        (["Scan text ", "DeserializeToObject"], None, "csv at NativeMethodAccessorImpl.java:0",
         "infer schema of csv files"),
        (["parallelize", "mapPartitions"], None, "parquet at NativeMethodAccessorImpl.java:0",
         "infer schema of parquet files"),
        (["parallelize", "mapPartitions"], None, "load at NativeMethodAccessorImpl.java:0", "infer schema of files"),
        (["parallelize", "mapPartitions"], None, "analyzePlan at Service.java:0", "infer schema of files"),
        (["parallelize", "mapPartitions"], "collect at A.scala:3", "collect at A.scala:3", "collect at A.scala:3"),
        (["textFile"], None, "load at NativeMethodAccessorImpl.java:0", "textFile → load"),
        (["mapPartitions", "partitionBy"], None, "count at NativeMethodAccessorImpl.java:0", "shuffle read → count"),
        (["Scan parquet ", "map"], None, "$anonfun$run$1 at FutureTask.java:264", "scan parquet → map"),
        ([], None, "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768", "stage 4"),
        ([], None, None, "stage 4"),
    ],
)  # fmt: skip
def test_stage_without_a_query_is_named_by_its_line(scopes, site, spark_name, name) -> None:
    """A stage of an RDD is named by the user's line of code, or else by its RDD operators, or else by its id."""
    assert name_stage(4, scope_names=scopes, call_site=site, spark_name=spark_name).name == name


@pytest.mark.parametrize(
    ("scopes", "name"),
    [
        (["Exchange", "Scan parquet lake.orders", "WholeStageCodegen (2)"], "q3: scan orders"),
        (["SortMergeJoin", "WholeStageCodegen (5)", "Exchange"], "q3: join"),
        (["WholeStageCodegen", "Exchange"], "q3: count at words.py:14"),
        (["mapPartitionsInternal"], "q3: count at words.py:14"),
    ],
)
def test_stage_of_a_query_without_plan_is_named_by_its_scopes(scopes, name) -> None:
    """If the plan of a query is unknown, its stages get names from the operators in their RDD scopes."""
    assert name_stage(8, query_id=3, scope_names=scopes, call_site="count at words.py:14").name == name


def test_operators_without_codegen_numbers_are_found_by_name() -> None:
    """If a log has no codegen numbers, as in Spark 2, operator names show to which part of the plan a stage belongs."""
    old = plan(("Exchange", -1), ("WholeStageCodegen", 0), ("SortMergeJoin", 1), ("InputAdapter", 2),
               ("Exchange", 3), ("WholeStageCodegen", 4), ("Scan a.b", 5, "a.b"), ("InputAdapter", 2),
               ("Exchange", 7), ("Scan csv ", 8, "in/c csv"))  # fmt: skip

    assert name_stage(1, query_id=1, scope_names=["Scan csv ", "Exchange"], plans=[old]).name == "q1: scan c"


@pytest.mark.parametrize(
    "text", ["a\x00b\x1b[31m", "\u202egpj.exe", "x" * 10_000, "\ud800", "' OR 1=1 --", "\u2028", "💥" * 99]
)
def test_hostile_texts_stay_on_one_visible_line(text) -> None:
    """Names contain no control characters and no marks that change the text direction."""
    node = plan((f"Scan {text}", -1, text))
    names: list[StageName | QueryName] = [
        name_stage(1, query_id=1, scope_names=[text], plans=[node], call_site=text, spark_name=text),
        name_stage(1, scope_names=[text], call_site=text, spark_name=text),
        name_query(1, description=text, call_site=text, plans=[node]),
    ]
    for name in names:
        assert 0 < len(name.name) <= MOST_NAME_CHARS
        assert 0 < len(name.title) <= MOST_TITLE_CHARS
        assert not [char for char in name.name + name.title if unicodedata.category(char) in ("Cc", "Cf", "Cs")]


NODE_NAMES = sorted({*JOINED.names, "Union", "Subquery", "InMemoryTableScan", "AppendData"})
NODES = st.lists(
    st.tuples(
        st.one_of(st.sampled_from(NODE_NAMES), st.text()),
        st.one_of(st.integers(-2, 30), st.none()),
        st.text(),
    ),
    max_size=30,
)  # fmt: skip


@given(nodes=NODES, scopes=st.lists(st.one_of(st.sampled_from(JOINED.names), st.text())), text=st.text())
def test_any_plan_has_a_name(nodes, scopes, text) -> None:
    """For any plan, scope and text, naming raises no error, and the same input always gives the same name."""
    plans = [QueryPlan(*([node[part] for node in nodes] for part in range(3))), QueryPlan((text,), (), ())]
    arguments = {"query_id": 3, "scope_names": scopes, "plans": plans, "call_site": text, "spark_name": text}
    first = name_stage(1, **arguments)

    assert first == name_stage(1, **{**arguments, "scope_names": scopes[::-1]})
    assert first.name
    assert name_query(1, description=text, call_site=text, plans=plans).name
    assert name_stage(1, scope_names=scopes, call_site=text, spark_name=text).name


@pytest.mark.parametrize("name", ["Project", "InMemoryTableScan"])
def test_deep_plan_takes_no_time(name) -> None:
    """A plan with a chain of thousands of nodes is named within the time limit."""
    nodes = [(f"Exchange {n}" if n % 3 == 0 else name, n - 1) for n in range(6_000)]
    started = time.monotonic()
    deep = plan(*nodes)
    name_stage(1, query_id=1, scope_names=["WholeStageCodegen (1)", "Exchange 3", name], plans=[deep])
    name_query(1, plans=[deep])

    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ShuffleExchange", "exchange"), ("ReusedExchange", "silent"), ("GpuBroadcastExchange", "broadcast"),
        ("Execute InsertIntoHiveTable", "write"), ("Execute CreateViewCommand", "other"),
        ("SortAggregate", "aggregate"),
        ("Scan ExistingRDD", "scan"), ("InMemoryTableScan", "cache"), ("FlatMapGroupsInPandas", "python"),
        ("SubqueryBroadcast", "subquery"), ("SortMergeJoin(skew=true)", "join"), ("", "other"),
    ],
)  # fmt: skip
def test_kind_of_node(name, kind) -> None:
    """Plan nodes of Spark, and of engines that replace Spark's operators, are assigned to the expected kind."""
    assert kind_of(name) == kind
