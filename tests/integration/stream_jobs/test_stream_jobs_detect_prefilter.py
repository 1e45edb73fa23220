"""Tests on real Flink what the JVM decodes from a row: severities, the prefilter, and names of subjects."""

from __future__ import annotations

from pathlib import Path

import pytest

from sparkfuse_contracts.columns import view_specs
from sparkfuse_contracts.examples import examples_of
from sparkfuse_contracts.generated.live_pb2 import LiveRow
from sparkfuse_rules.catalog import load_catalog
from sparkfuse_rules.rule import QUIET
from sparkfuse_stream_jobs.detect import prefilter
from sparkfuse_stream_jobs.detect.operators.records import split_record
from sparkfuse_stream_jobs.detect.rule_sql import read_severities, severities_sql
from sparkfuse_stream_jobs.detect.stage_bounds import NOT_MOVED, application_key
from sparkfuse_stream_jobs.detect.subjects import subject_name
from sparkfuse_stream_jobs.environment import jars

pytestmark = pytest.mark.timeout(900)
CATALOG = load_catalog()
CASES = [(rule, case) for rule in CATALOG.values() for case in rule.cases if not case.params]
EXAMPLES = list(examples_of(LiveRow).values())


def row_of(rule, case):
    given = {name: value for name, value in case.given.items() if value is not None}
    row = LiveRow(view=rule.view, app_id="app-1", window_end_ms=1)
    getattr(row, view_specs()[rule.view].row).SetInParent()
    for name, value in given.items():
        setattr(getattr(row, view_specs()[rule.view].row), name, value)
    return row


@pytest.fixture(scope="module")
def read(repository: Path):
    """Return the columns that Flink computes for the row of each rule case and each example.

    The order of the columns is severities, result of the prefilter, app_key, kind, subject.
    """
    from pyflink.table import DataTypes, EnvironmentSettings, TableEnvironment

    tables = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    tables.get_config().set("parallelism.default", "1")
    found = jars(repository / "build" / "flink-libs")
    tables.get_config().set("pipeline.jars", ";".join(jar.as_uri() for jar in found))
    tables.execute_sql(
        f"CREATE TEMPORARY SYSTEM FUNCTION decode_live_row AS '{prefilter.FUNCTIONS['decode_live_row']}' LANGUAGE JAVA"
    )
    rows = [*(row_of(rule, case) for rule, case in CASES), *EXAMPLES]
    type_of_rows = DataTypes.ROW([DataTypes.FIELD("place", DataTypes.INT()), DataTypes.FIELD("row", DataTypes.BYTES())])
    encoded = [(place, bytearray(row.SerializeToString())) for place, row in enumerate(rows)]
    tables.create_temporary_view("encoded", tables.from_elements(encoded, type_of_rows))
    holds = " ".join(
        f"WHEN '{view_specs()[view].row}' THEN {prefilter.may_match_sql(CATALOG, view)}" for view in prefilter.FILTERED
    )
    sql = (
        f"SELECT place, {severities_sql(CATALOG)}, COALESCE(CASE `kind` {holds} END, FALSE), `app_key`, `kind`, "
        "`subject` "
        "FROM encoded, LATERAL TABLE(decode_live_row(`row`))"
    )
    with tables.execute_sql(sql).collect() as answers:
        rows_by_place = {answer[0]: tuple(answer)[1:] for answer in answers}
    assert len(rows_by_place) == len(rows)
    return [rows_by_place[place] for place in range(len(rows))]


def test_every_case_of_every_rule_has_its_severity(read):
    """In the JVM, each case of each rule has its expected severity.

    An absent column is decoded as NULL, and 0 as 0.
    """
    wrong = [
        f"{rule.id}: {case.name}: {read_severities(severities)}"
        for (rule, case), (severities, *_) in zip(CASES, read, strict=False)
        if read_severities(severities).get(rule.id, QUIET) != case.expect
    ]

    assert wrong == []


def test_no_row_that_a_rule_matches_is_dropped(read):
    """The prefilter passes each row that a rule matches, and drops other rows.

    A row of a stage above its p95 is outside the bounds of the stage, so it passes in any case.
    """
    filtered = [
        (f"{rule.id}: {case.name}", severities, holds)
        for (rule, case), (severities, holds, *_) in zip(CASES, read, strict=False)
        if rule.view in prefilter.FILTERED and case.given.get("moved") in {None, NOT_MOVED}
    ]

    assert [name for name, severities, holds in filtered if severities and not holds] == []
    assert sum(not holds for _, _, holds in filtered) > 5


def test_subjects_have_the_same_names_in_jvm_and_python(read):
    """The prefilter in the JVM stores a subject under the same name as the lifecycle in Python."""
    found = [answer[2:] for answer in read[len(CASES) :]]
    wanted = [
        (
            application_key(row),
            row.WhichOneof("row"),
            subject_name(row),
        )
        for row in EXAMPLES
    ]

    assert found == wanted


def test_batching_keeps_all_contents_in_order(repository: Path):
    """Batching delivers each value once, in order within its key, and emits fewer records than it receives."""
    from pyflink.common import Configuration, Types
    from pyflink.datastream import DataStream, StreamExecutionEnvironment
    from pyflink.java_gateway import get_gateway

    flink = Configuration()
    flink.set_string("pipeline.jars", ";".join(jar.as_uri() for jar in jars(repository / "build" / "flink-libs")))
    flink.set_string("parallelism.default", "1")
    environment = StreamExecutionEnvironment.get_execution_environment(flink)
    columns = Types.ROW([Types.STRING(), Types.PRIMITIVE_ARRAY(Types.BYTE())])
    sent = [(f"key-{number % 3}", f"{number}".encode() * (number % 50)) for number in range(5_000)]
    stream = environment.from_collection([(key, bytearray(content)) for key, content in sent], columns)
    gather = get_gateway().jvm.io.sparkfuse.detect.BatchByKey()
    gathered = stream._j_data_stream.transform("gather", columns.get_java_type_info(), gather)
    with DataStream(gathered).execute_and_collect() as records:
        records_received = [
            (record[0], bytes(byte & 0xFF for byte in record[1])) for record in records
        ]  # Java's bytes are signed
    received: dict[str, list[bytes]] = {}
    for key, content in records_received:
        received.setdefault(key, []).extend(split_record(content))

    assert received == {key: [content for of, content in sent if of == key] for key in ("key-0", "key-1", "key-2")}
    assert len(records_received) < len(sent)
