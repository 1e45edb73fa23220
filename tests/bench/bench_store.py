"""Measures what the panels and the commands read in a store that has the rows of a generated company.

``python -m tests.bench.bench_store`` fills an embedded store, which it deletes afterwards. The share is the number of
rows that a query reads divided by the rows of the tables that it reads; for a derived table, by the rows of its source.
"""

from __future__ import annotations

import argparse
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from clickhouse_connect.driver.client import Client

from sparkfuse_contracts.settings import Settings
from sparkfuse_dashboards.fleet import fleet
from sparkfuse_dashboards.macros import TimeRange, expand
from sparkfuse_dashboards.running_job import running_job
from sparkfuse_native_analytics import queries
from sparkfuse_native_analytics.queries import FindingFilter, RunFilter
from sparkfuse_native_analytics.queries.questions import QUESTIONS, Context
from sparkfuse_native_analytics.store.migrate import migrate
from sparkfuse_rules.catalog import load_catalog
from tests.bench.bench_kernel import machine
from tests.bench.bench_loader import client_when_ready
from tests.bench.store_company import DAY_MS, MINUTE_MS, Company, fill

LEAST_FREE_BYTES = 14_000_000_000
LONGEST_SECONDS = 20.0
HOUR_MS = 60 * MINUTE_MS
# The source of each derived table, which contains some rows or columns of its source.
_SOURCES = {"application_rows": "live", "host_executors": "live", "ended_stages": "live", "logged_stages": "history",
            "current_findings": "findings", "finding_runs": "findings", "finding_hosts": "findings",
            "job_runs": "live", "run_resources": "live"}  # fmt: skip
_TABLES = re.compile(r"\b(?:FROM|JOIN)\s+(?:`?\w+`?\.)?`?(\w+)`?", re.IGNORECASE)


@dataclass(frozen=True)
class Measured:
    """What one panel or command read; ``seconds`` are sorted, one value for each repetition."""

    name: str
    read_rows: int
    table_rows: int
    seconds: tuple[float, ...]

    @property
    def share(self) -> float:
        """Read rows divided by the rows of the tables."""
        return self.read_rows / max(1, self.table_rows)

    @property
    def p95_seconds(self) -> float:
        """The 95th percentile of the time."""
        return self.seconds[min(len(self.seconds) - 1, int(len(self.seconds) * 0.95))]


class CountingClient:
    """Passes queries to a client, and adds up the rows that they read."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.read_rows = 0
        self.statements: list[str] = []

    def query(self, sql: str, **options: object):
        """Run a query as the client does, but without what the engine remembers of an equal query before."""
        result = self._client.query(sql, settings={"use_query_condition_cache": 0}, **options)
        self.read_rows += int(result.summary["read_rows"])
        self.statements.append(sql)
        return result


def panels(company: Company) -> Iterator[tuple[str, Callable[[Client], object]]]:
    """Yield the query of each panel: the fleet's over 6 hours, those of the newest application over one hour."""
    seen = set()
    for title, spec, hours in (("fleet", fleet(load_catalog()), 6), ("job", running_job(), 1)):
        span = TimeRange(company.end_ms - hours * HOUR_MS, company.end_ms, 60_000)
        values = {"app_id": company.app_id(company.applications - 1)}
        found = [*((panel.title, panel.sql) for panel in spec.panels), *((v.name, v.sql) for v in spec.variables)]
        for name, sql in found:
            kind = re.sub(r"rule = '\w+'", "", sql)
            if kind not in seen:  # the panels of the rules differ only in the id of the rule
                seen.add(kind)
                yield (
                    f"{title}: {name}",
                    lambda client, sql=sql, span=span, values=values: client.query(expand(sql, span, values)),
                )


def commands(company: Company, client: Client) -> Iterator[tuple[str, Callable[[Client], object]]]:
    """Yield the queries of the commands and of the console's pages."""
    newest, ended = company.app_id(company.applications - 1), company.app_id(company.applications // 2)
    found = queries.run(client, newest)
    assert found is not None
    attempt, day_ago, month_ago = found.run, company.end_ms - DAY_MS, company.end_ms - 30 * DAY_MS
    finding = str(client.query("SELECT finding_id FROM findings ORDER BY updated_ms DESC LIMIT 1").first_row[0])
    yield "runs", queries.runs
    yield "runs --job", lambda client: queries.runs(client, job_key="job-7")
    yield "runs page, one day", lambda client: queries.find_runs(client, RunFilter(since_ms=day_ago), 50)
    yield (
        "runs page, running",
        lambda client: queries.find_runs(client, RunFilter(since_ms=day_ago, status="running"), 50),
    )
    yield (
        "job page, runs of 30 days",
        lambda client: queries.find_runs(client, RunFilter(since_ms=month_ago, job_key="job-7"), 50),
    )
    yield "run, running", lambda client: queries.run(client, newest)
    yield "run, ended", lambda client: queries.run(client, ended)
    yield "executors", lambda client: queries.executors(client, attempt, 100)
    yield "allocation", lambda client: queries.allocation(client, attempt)
    yield "host page, runs", lambda client: queries.runs_on_host(client, "node-7", day_ago, 50)
    yield (
        "host page, findings",
        lambda client: queries.latest_findings(client, FindingFilter(host="node-7", since_ms=day_ago), 50),
    )
    yield "findings", queries.findings
    yield "findings --app", lambda client: queries.findings(client, app_id=newest)
    yield "findings page, firing", lambda client: queries.severest_findings(client, FindingFilter(state="firing"), 50)
    yield "findings page, counts", lambda client: queries.count_findings(client, FindingFilter(state="firing"))
    yield "finding", lambda client: queries.finding(client, finding)
    yield "fuse steps of a run", lambda client: queries.fuse_steps(client, app_id=newest)
    yield "fuse steps, one day", lambda client: queries.fuse_steps(client, since_ms=day_ago)
    yield "runs page, team", lambda client: queries.find_runs(client, RunFilter(since_ms=month_ago, team="team-3"), 50)
    yield "runs page, user", lambda client: queries.find_runs(client, RunFilter(since_ms=month_ago, who="user-3"), 50)
    for name, values in _answers(newest, ended, finding):
        (question,) = [each for each in QUESTIONS if each.name == name]
        yield (
            f"question: {name} {values.get('text', values.get('team', ''))}".rstrip(),
            lambda client, question=question, values=values: question.answer_to(
                Context(client, None, company.end_ms), values
            ),
        )


def _answers(newest: str, ended: str, finding: str) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield the questions of REST and MCP with their parameters."""
    yield "search", {"text": "job-7"}
    yield "search", {"text": "no such thing"}
    yield "search", {"text": "node-7"}
    yield "search_runs", {"days": 30, "team": "team-3", "job": "job", "status": "succeeded"}
    for name in ("get_run", "explain_run", "list_queries", "list_stages", "cost"):
        yield name, {"app_id": ended}
    yield "compare_runs", {"before": ended, "after": newest}
    yield "job_history", {"job_key": "job-7"}
    yield "list_findings", {"team": "team-3", "job": "job-7"}
    yield "get_finding", {"finding_id": finding}
    yield "fuse_status", {"days": 1}
    yield "coverage", {"days": 7}
    yield "advice_outcomes", {"job_key": "job-7"}
    yield "costs", {"by": "team", "days": 30}
    yield "costs", {"by": "job", "team": "team-3", "days": 30}


def measure(client: Client, name: str, ask: Callable[[Client], object], rows: TableRows, repeats: int) -> Measured:
    """Run one panel or command several times, but not again after ``LONGEST_SECONDS``."""
    seconds: list[float] = []
    while len(seconds) < repeats and sum(seconds) < LONGEST_SECONDS:
        counting = CountingClient(client)
        started = time.perf_counter()
        ask(counting)
        seconds.append(time.perf_counter() - started)
    return Measured(name, counting.read_rows, rows.behind(counting.statements), tuple(sorted(seconds)))


class TableRows:
    """The number of rows of each table, and the tables that a statement reads, also through views."""

    def __init__(self, client: Client) -> None:
        found = client.query("SELECT name, engine, as_select, ifNull(total_rows, 0) FROM system.tables "
                             "WHERE database = currentDatabase()").result_rows  # fmt: skip
        self._views: Mapping[str, str] = {name: text for name, engine, text, _ in found if engine == "View"}
        self._rows: Mapping[str, int] = {name: rows for name, engine, _, rows in found if engine != "View"}

    def behind(self, statements: list[str]) -> int:
        """Return the rows of all tables that the statements read, or from which those tables are derived."""
        wanted, known = list(statements), set()
        while wanted:
            for name in _TABLES.findall(wanted.pop()):
                if name in self._views and name not in known:
                    wanted.append(self._views[name])
                known.add(name)
        return sum(self._rows.get(name, 0) for name in {_SOURCES.get(name, name) for name in known})


def report(client: Client, company: Company, repeats: int) -> None:
    """Print the size of each table, and a line for each panel and command."""
    print("| table | rows | bytes | bytes a row | parts |\n| --- | --- | --- | --- | --- |")
    _print_sizes(client)
    rows = TableRows(client)
    print("\n| query | rows read | share of the tables | p95 ms |\n| --- | --- | --- | --- |")
    for name, ask in (*panels(company), *commands(company, client)):
        found = measure(client, name, ask, rows, repeats)
        print(f"| {found.name} | {found.read_rows:,} | {found.share:.2%} | {found.p95_seconds * 1000:,.0f} |",
              flush=True)  # fmt: skip
    # How much of the size is due to parts that the engine has not merged yet.
    client.command("OPTIMIZE TABLE live FINAL")
    _print_sizes(client, "live", " after OPTIMIZE FINAL")


def _print_sizes(client: Client, only: str = "", when: str = "") -> None:
    sizes = client.query("SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts WHERE active AND "
                         "database = currentDatabase() GROUP BY table ORDER BY table").result_rows  # fmt: skip
    for table, rows, size, parts in sizes:
        if only in ("", table):
            print(f"| {table}{when} | {rows:,} | {size:,} | {size / rows:.1f} | {parts} |", flush=True)


def main() -> None:
    """Fill a store, and print what each query reads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=10_000_000, help="facts about ended tasks")
    parser.add_argument("--days", type=int, default=89, help="days of live rows; they are kept for 90")
    parser.add_argument("--repeats", type=int, default=5, help="measurements of each query")
    parser.add_argument("--folder", type=Path, help="parent of the store's folder; by default, the system's")
    options = parser.parse_args()
    print(machine())
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if shutil.disk_usage(folder).free < LEAST_FREE_BYTES:
            sys.exit(f"bench_store: {folder} has less than {LEAST_FREE_BYTES // 10**9} GB free; use --folder")
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        server = [sys.executable, "-m", "sparkfuse_native_analytics.store.server"]
        store = subprocess.Popen([*server, "--path", folder, "--port", str(port)], stderr=subprocess.DEVNULL)
        try:
            settings = Settings.from_environment({"SPARKFUSE_CLICKHOUSE_URL": f"http://127.0.0.1:{port}"})
            client = client_when_ready(settings)
            migrate(client)
            company = Company(options.tasks, options.days, time.time_ns() // 10**6 // MINUTE_MS * MINUTE_MS)
            started = time.perf_counter()
            for table, count in fill(client, company):
                print(f"{time.perf_counter() - started:6.0f} s {table}: {count:,} rows", file=sys.stderr, flush=True)
            report(client, company, options.repeats)
        finally:
            store.terminate()
            store.wait()


if __name__ == "__main__":
    main()
