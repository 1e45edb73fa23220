"""``python -m sparkfuse_stream_jobs.detect`` runs the detect job until it is stopped."""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from sparkfuse_contracts.kafka_access import require_access
from sparkfuse_contracts.settings import Settings
from sparkfuse_rules.catalog import Catalog, load_catalog
from sparkfuse_rules.errors import RuleError
from sparkfuse_rules.owners import read_owners
from sparkfuse_rules.prices import read_prices
from sparkfuse_stream_jobs.detect.alerts import MIN_FIRING_MS, RESEND_MS, RESOLVED_FOR_MS, PublishIntervals
from sparkfuse_stream_jobs.detect.job import NAME, UIDS, Options, build
from sparkfuse_stream_jobs.errors import StartError
from sparkfuse_stream_jobs.job_metrics import serve_metrics
from sparkfuse_stream_jobs.operator_uids import start
from sparkfuse_stream_jobs.placement import runs_beside_job
from sparkfuse_stream_jobs.process import run_job

LOG = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the detect job as a process. Returns an exit code of ``run_job``; 2 may also mean an invalid rule."""
    return run_job(NAME, partial(submit, _options(arguments)))


@contextlib.contextmanager
def submit(options: Options, settings: Settings) -> Iterator[Any]:
    """Start the job and yield its client.

    Raises StartError for an invalid rule, MissingPartError if a jar, Java or the metrics port is not available, and
    KafkaUnavailableError.
    """
    catalog = _catalog(options, settings)
    require_access(settings, NAME)
    job = start(*build(settings, catalog, options), UIDS)
    if runs_beside_job():
        serve_metrics(settings)
    LOG.info("detect evaluates %d rules: %s", len(catalog), ", ".join(catalog))
    yield job


def _catalog(options: Options, settings: Settings) -> Catalog:
    try:
        # An invalid sparkfuse.yaml must raise an error before the job runs.
        read_owners(settings.config_file)
        read_prices(settings.config_file)
        return load_catalog(options.catalog, settings.config_file)
    except RuleError as error:
        raise StartError(str(error)) from error


def _options(arguments: Sequence[str] | None) -> Options:
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_stream_jobs.detect", description=__doc__)
    parser.add_argument(
        "--parallelism",
        type=_positive,
        default=1,
        help="parallel instances of each step in the mini cluster (default 1)",
    )
    parser.add_argument("--catalog", type=Path, help="folder of rules, instead of the built-in rules")
    for name, default, text in (
        ("resend", RESEND_MS, "interval at which a firing finding is published again, in ms"),
        ("resolved-for", RESOLVED_FOR_MS, "how long a resolved finding is published, in ms"),
        ("min-firing", MIN_FIRING_MS, "shortest time that a finding is published as firing, in ms"),
    ):
        parser.add_argument(f"--{name}-ms", type=_positive, default=default, help=f"{text} (default {default})")
    given = parser.parse_args(arguments)
    intervals = PublishIntervals(
        resend_ms=given.resend_ms, resolved_for_ms=given.resolved_for_ms, min_firing_ms=given.min_firing_ms
    )
    return Options(given.parallelism, given.catalog, intervals)


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
