"""`sparkfuse ship` sends event logs to the pipeline while they grow, `sparkfuse backfill` after they ended."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_contracts.settings import Settings

if TYPE_CHECKING:
    from sparkfuse_collectors.ship.backfill import Summary
    from sparkfuse_native_analytics.history.reader import HistoryReader

FENCED = 4
INCOMPLETE = 1
PROGRESS_SECONDS = 1.0
Places = Annotated[
    list[str], typer.Argument(help="Folders of event logs, or URLs that fsspec supports.", metavar="DIR...")
]
Paths = Annotated[
    list[str], typer.Argument(help="Logs, folders of logs, or URLs that fsspec supports.", metavar="PATH...")
]
Home = Annotated[Path, typer.Option("--home", envvar="SPARKFUSE_HOME", help="Folder of the running stack.")]
Cluster = Annotated[str, typer.Option("--cluster", envvar="SPARKFUSE_CLUSTER", help="Cluster that produced the logs.")]
Tenant = Annotated[str, typer.Option("--tenant", envvar="SPARKFUSE_TENANT", help="Tenant or team that owns the data.")]
Name = Annotated[str, typer.Option("--name", help="Unique name of this shipper, the same after a restart.")]
Once = Annotated[bool, typer.Option("--once", help="Stop when all events of the logs have been sent.")]
Look = Annotated[float, typer.Option("--look", min=0.05, help="Seconds between two scans of the folders.")]
Ended = Annotated[
    float,
    typer.Option("--ended-within", min=0.0, help="Send a log as live facts if it ended at most this many seconds ago."),
]
Abandoned = Annotated[
    float,
    typer.Option(
        "--abandoned-after", min=0.0, help="Treat logs in progress as ended after this many seconds without a change."
    ),
]
Workers = Annotated[int, typer.Option("--workers", min=1, max=64, help="Number of logs that are read in parallel.")]
Again = Annotated[
    bool, typer.Option("--again", help="Also send logs that an earlier backfill with this name has sent.")
]
DEFAULT_HOME = Path(".sparkfuse")


def add_to(application: typer.Typer) -> None:
    """Add the commands of this file."""
    application.command()(ship)
    application.command()(backfill)


def ship(
    places: Places,
    home: Home = DEFAULT_HOME,
    name: Name = "shipper",
    cluster: Cluster = "default",
    tenant: Tenant = "default",
    once: Once = False,
    look: Look = 2.0,
    ended_within: Ended = 600.0,
    abandoned_after: Abandoned = 86_400.0,
) -> None:
    """Follow folders of event logs: send live facts of applications without the plugin, and the history of the others.

    The command runs until SIGTERM or Ctrl-C. After a kill, a shipper with the same name continues after the last
    transaction.
    """
    from sparkfuse_collectors.ship.folders import Ages
    from sparkfuse_collectors.ship.process import Options
    from sparkfuse_collectors.ship.process import ship as ship_logs
    from sparkfuse_collectors.ship.shipper import Pace

    settings = settings_of_stack(home)
    with _start_errors(settings):
        ages, pace = Ages(ended=ended_within, abandoned=abandoned_after), Pace(scan_seconds=look)
        options = Options(tuple(places), name, cluster, tenant, once, ages, pace)
        stop = _stopped_by_signals()
        histories = _history_reader(settings, cluster, tenant)
        try:
            ship_logs(options, settings, histories, stop)
        finally:
            histories.close()


def backfill(
    paths: Paths,
    home: Home = DEFAULT_HOME,
    name: Name = "backfill",
    cluster: Cluster = "default",
    tenant: Tenant = "default",
    workers: Workers = 2,
    again: Again = False,
    as_json: Json = False,
) -> None:
    """Send the history of ended logs to the store, and update the baselines.

    After a stop or a kill, the next run skips the logs that were already sent.
    """
    settings = settings_of_stack(home)
    console = Console(stderr=True)
    with _start_errors(settings):
        summary = _backfill(settings, paths, name, (cluster, tenant), workers, again, console)
    if as_json:
        print_json(_document(summary))
    else:
        _print_summary(console, summary)
    if summary.skipped["unreadable"]:
        raise typer.Exit(INCOMPLETE)


def _backfill(
    settings: Settings,
    paths: list[str],
    name: str,
    owner: tuple[str, str],
    workers: int,
    again: bool,
    console: Console,
) -> Summary:
    from sparkfuse_collectors.ship.backfill import Backfill
    from sparkfuse_collectors.ship.broker import Broker
    from sparkfuse_collectors.ship.positions import read_positions
    from sparkfuse_collectors.ship.process import Options
    from sparkfuse_contracts.kafka_access import require_access

    options = Options(tuple(paths), name, *owner)
    stop = _stopped_by_signals()
    require_access(settings, "shipper")
    broker = Broker(settings, options.name, stop, lambda _error: None)
    histories = _history_reader(settings, *owner, workers)
    try:
        broker.start()
        positions = read_positions(settings, options.name, lambda _error: None)
        work = Backfill(options.name, broker, histories, positions, stop, again, _progress(console))
        summary = work.run(options.places)
        if stop.is_set():
            raise KeyboardInterrupt
        return summary
    finally:
        histories.close()
        broker.close()


def _history_reader(settings: Settings, cluster: str, tenant: str, workers: int = 1) -> HistoryReader:
    from sparkfuse_native_analytics.history.reader import HistoryReader
    from sparkfuse_native_analytics.history.workers import HistoryWorkers
    from sparkfuse_stream_jobs.detect.baseline_backfill import newest_samples, update_baselines

    return HistoryReader(
        HistoryWorkers(cluster, tenant, workers),
        lambda samples: update_baselines(settings, newest_samples(samples)),
        threading.Event(),
    )


def _stopped_by_signals() -> threading.Event:
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


@contextmanager
def _start_errors(settings: Settings) -> Iterator[None]:
    """Convert errors that a user can fix to one sentence and an exit code."""
    from confluent_kafka import KafkaException

    from sparkfuse_collectors.ship.errors import (
        BrokerLostError,
        FencedError,
        InvalidOptionError,
        StoppedError,
        UnavailableError,
    )
    from sparkfuse_contracts.kafka_access import KafkaUnavailableError, explain
    from sparkfuse_kernel.event_logs.log import UnreadableLogError

    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    try:
        yield
    except InvalidOptionError as refused:
        raise StartError(str(refused), USAGE) from refused
    except (UnreadableLogError, UnavailableError, KafkaUnavailableError, BrokerLostError) as error:
        raise StartError(str(error), MISSING) from error
    except KafkaException as error:
        raise StartError(explain(settings, error.args[0]), MISSING) from error
    except FencedError as fenced:
        raise StartError(str(fenced), FENCED) from fenced
    except StoppedError as stopped:
        raise KeyboardInterrupt from stopped


def _progress(console: Console) -> Any:
    """Return a function that prints the progress at most once a second."""
    printed_at = [time.monotonic()]

    def show(summary: Summary, waiting: int) -> None:
        if time.monotonic() - printed_at[0] >= PROGRESS_SECONDS:
            printed_at[0] = time.monotonic()
            skipped = sum(summary.skipped.values())
            line = f"{summary.sent} of {summary.logs} logs sent, {skipped} skipped, {waiting} waiting"
            console.print(line, markup=False, highlight=False)

    return show


def _document(summary: Summary) -> dict[str, Any]:
    return {
        "logs": summary.logs,
        "sent": summary.sent,
        "rows": summary.rows,
        "without_end": summary.without_end,
        "stages_learned": summary.updated_stages,
        "skipped": dict(summary.skipped),
        "reasons": summary.reasons,
    }


def _print_summary(console: Console, summary: Summary) -> None:
    parts = [f"{summary.sent} of {summary.logs} logs sent, {summary.rows} rows"]
    parts += [f"{count} skipped: {kind}" for kind, count in summary.skipped.items()]
    parts.append(f"{summary.updated_stages} stages updated in the baselines")
    console.print("\n".join([*summary.reasons, ", ".join(parts)]), markup=False, highlight=False, soft_wrap=True)
