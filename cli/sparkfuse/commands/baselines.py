"""`sparkfuse baselines`: training samples of a job, the expected duration of its next run, accepted durations."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home, Job, Limit, ask, duration, moment, size
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.queries.baseline_rows import Baseline
    from sparkfuse_rules.knowledge.explanation import Explanation

MAX_BASELINES = 10_000
# Substrings of the Spark stage names whose call site is in a thread pool or in reflection instead of the user's code.
_INTERNAL = ("MethodAccessor", "$anonfun", "CompletableFuture", "ThreadPoolExecutor", "FutureTask")
# The cluster and the tenant of a plugin or shipper whose configuration sets none.
DEFAULT = "default"
commands = typer.Typer(help="Show baselines of jobs and the durations expected from them, and accept longer durations.")
Cluster = Annotated[str, typer.Option("--cluster", help="Cluster of the job.")]
Tenant = Annotated[str, typer.Option("--tenant", help="Tenant of the job.")]
Name = Annotated[str, typer.Argument(help="Job key, as shown by `sparkfuse runs`.")]
Bytes = Annotated[int | None, typer.Option("--bytes", min=1, help="Bytes that the next run reads (input and shuffle).")]
Records = Annotated[
    int | None, typer.Option("--records", min=1, help="Records that the next run reads (input and shuffle).")
]
Rows = Annotated[
    int | None,
    typer.Option(
        "--rows",
        min=1,
        help="Output rows of SQL operators in the next run, for stages that read neither bytes nor records.",
    ),
]


@commands.callback(invoke_without_command=True)
def list_(
    context: typer.Context, home: Home = DEFAULT_HOME, job: Job = "", limit: Limit = 200, as_json: Json = False
) -> None:
    """List the baseline of each stage."""
    if context.invoked_subcommand:
        return
    found = _known(home, job, limit)
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Baselines",
        ["job", "stage", "fingerprint", "runs", "shortest", "longest", "updated", "level changed"],
        [
            (
                each.job_key,
                _stage(each),
                each.stage_fingerprint,
                len({sample.run_key for sample in each.samples}),
                duration(min((sample.wall_ms for sample in each.samples if sample.wall_ms is not None), default=None)),
                duration(max((sample.wall_ms for sample in each.samples if sample.wall_ms is not None), default=None)),
                moment(each.updated_ms),
                moment(each.level_changed_ms),
            )
            for each in found
        ],
    )


@commands.command()
def show(
    job: Name,
    home: Home = DEFAULT_HOME,
    work_bytes: Bytes = None,
    work_records: Records = None,
    operator_rows: Rows = None,
    as_json: Json = False,
) -> None:
    """Show the expected duration of the next run of a job, stage by stage, and from which samples it was computed."""
    known = _known(home, job, MAX_BASELINES)
    if not known:
        raise StartError(f"there is no baseline of the job {job!r}; `sparkfuse baselines` lists the jobs", USAGE)
    explained = [(each, _explained(each, work_bytes, work_records, operator_rows)) for each in known]
    if as_json:
        print_json([_document(each, explanation) for each, explanation in explained])
        return
    print_table(
        f"Expected duration of the next run of {job}",
        ["stage", "expected", "p95", "CPU", "runs", "ignored", "basis"],
        [_row(each, explanation) for each, explanation in explained],
    )


@commands.command()
def accept(
    job: Name, home: Home = DEFAULT_HOME, cluster: Cluster = DEFAULT, tenant: Tenant = DEFAULT, as_json: Json = False
) -> None:
    """Accept the longer duration of a job: level_changed resolves, and later runs are compared with this duration."""
    from confluent_kafka import KafkaException

    from sparkfuse_contracts.kafka_access import explain
    from sparkfuse_stream_jobs.detect.accepted_levels import NoBaselineError, NoLevelError, accept_level
    from sparkfuse_stream_jobs.detect.baseline_updates import BaselineKey

    settings = settings_of_stack(home)
    try:
        level = accept_level(settings, BaselineKey(cluster, tenant, job, "application"), time.time_ns() // 1_000_000)
    except NoBaselineError as error:
        where = f"of the job {job!r} in cluster {cluster!r} and tenant {tenant!r}"
        hint = "`sparkfuse baselines` lists the jobs, --cluster and --tenant select others"
        raise StartError(f"there is no baseline {where}; {hint}", USAGE) from error
    except NoLevelError as error:
        raise StartError(f"the job {job!r} takes no longer than before; there is nothing to accept", USAGE) from error
    except KafkaException as error:
        raise StartError(explain(settings, error.args[0]), MISSING) from error
    if as_json:
        print_json({"job_key": job, "cluster": cluster, "tenant": tenant, **dataclasses.asdict(level)})
        return
    typer.echo(
        f"Accepted: {job} takes {level.ratio:.1f} times as long since {moment(level.since_ms)} ({level.runs} runs). "
        "Later runs are compared with this duration."
    )


def _known(home: Path, job: str, limit: int) -> Sequence[Baseline]:
    from sparkfuse_native_analytics import queries

    return ask(home, lambda client: queries.baselines(client, limit, job_key=job or None))


def _explained(baseline: Baseline, *work: int | None) -> Explanation:
    """Return the expected duration for these bytes, records and rows; if none is given, for the usual work."""
    from sparkfuse_native_analytics import queries
    from sparkfuse_rules.knowledge.work import Work

    return queries.explained(baseline, time.time_ns() // 1_000_000, Work(*work) if any(work) else None)


def _document(baseline: Baseline, explanation: Explanation) -> dict[str, Any]:
    of = {"job_key": baseline.job_key, "stage": baseline.stage_name, "fingerprint": baseline.stage_fingerprint}
    return {**of, **dataclasses.asdict(explanation)}


def _row(baseline: Baseline, explanation: Explanation) -> tuple[Any, ...]:
    expected = explanation.expected
    return (
        _stage(baseline),
        duration(expected.expected_ms) if expected else None,
        duration(expected.expected_p95_ms) if expected else None,
        duration(expected.expected_cpu_ms) if expected else None,
        len(explanation.training_runs),
        len(explanation.abnormal_runs),
        explanation.missing_reason or "; ".join(_sentences(explanation)),
    )


def _stage(baseline: Baseline) -> str:
    """Return Spark's name of the stage, or its fingerprint if the name is a call site of Spark's own threads."""
    name = baseline.stage_name or ""
    return baseline.stage_fingerprint if not name or any(each in name for each in _INTERNAL) else name


def _sentences(explanation: Explanation) -> list[str]:
    sentences = []
    for growth in explanation.growth:
        usual, least, most = (
            size(each) if growth.measure == "bytes" else f"{each:,} {growth.measure}"
            for each in (growth.usual, growth.smallest, growth.largest)
        )
        sentences.append(
            f"usual work {usual} ({least} to {most}); twice the work takes {growth.doubled:.1f} times as long"
        )
    sentences = sentences or ["its work is not measured, so the bounds are twice as wide"]
    if explanation.between_p95_ms is not None:
        sentences.append(f"p95 of the time without a job: {duration(explanation.between_p95_ms)}")
    return sentences
