"""``python -m sparkfuse_stream_jobs.detect`` runs the detect job until it is told to stop."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.catalog import Catalog, load_catalog
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.owners import read_owners
from sparkfuse_stream_jobs.detect.alerts import RESEND_MS, RESOLVED_FOR_MS, SHORTEST_MS, Pace
from sparkfuse_stream_jobs.detect.job import NAME, Options, build
from sparkfuse_stream_jobs.detect.meters import meters
from sparkfuse_stream_jobs.errors import MissingPartError, StartError
from sparkfuse_stream_jobs.process import run_job
from sparkfuse_stream_jobs.topic_check import check_topics

LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the detect job as a process; exit codes as run_job has them, 2 also for a rule that cannot be used."""
    return run_job(NAME, partial(submit, _options(arguments)))


@contextlib.contextmanager
def submit(options: Options, settings: Settings) -> Iterator[Any]:
    """Start the job; yields its client.

    Raises StartError for a rule that cannot be used, MissingPartError for a topic, a jar, Java, the broker or the
    metrics port.
    """
    catalog = _catalog(options, settings)
    check_topics(settings, ["live", "findings", "baselines"])
    serve_metrics(settings)
    result = build(settings, catalog, options).execute()
    LOG.info("detect asks %d rules: %s", len(catalog), ", ".join(catalog))
    yield result.get_job_client()


def serve_metrics(settings: Settings) -> None:
    """Serve this process's metrics on the port of the settings, if any. Raises MissingPartError when it is taken."""
    from prometheus_client import start_http_server

    if not settings.metrics_port:
        return
    meters()  # not with the first row that reaches a step: ticks are counted before that
    try:
        start_http_server(settings.metrics_port, addr=settings.metrics_address)
    except OSError as error:
        raise MissingPartError(f"SPARKFUSE_METRICS_PORT={settings.metrics_port} cannot be used: {error}") from error


def _catalog(options: Options, settings: Settings) -> Catalog:
    try:
        read_owners(settings.config_file)  # refused here, not while the job runs
        return load_catalog(options.catalog, settings.config_file)
    except RuleError as error:
        raise StartError(str(error)) from error


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_stream_jobs.detect", description=__doc__)
    parser.add_argument("--parallelism", type=_positive, default=1, help="parallel pieces of each step (default 1)")
    parser.add_argument("--catalog", type=Path, help="folder of rules instead of the product's")
    for name, default, what in (
        ("resend", RESEND_MS, "a firing finding is told again each so many milliseconds"),
        ("resolved-for", RESOLVED_FOR_MS, "a resolved finding is told for so many milliseconds"),
        ("shortest", SHORTEST_MS, "what fires is told for at least so many milliseconds"),
    ):
        parser.add_argument(f"--{name}-ms", type=_positive, default=default, help=f"{what} (default {default})")
    given = parser.parse_args(arguments)
    pace = Pace(resend_ms=given.resend_ms, resolved_for_ms=given.resolved_for_ms, shortest_ms=given.shortest_ms)
    return Options(given.parallelism, given.catalog, pace)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from 1")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
