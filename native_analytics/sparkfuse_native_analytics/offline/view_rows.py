"""Builds an Arrow table for each view of one application that an event log can fill."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparkfuse_contracts.columns import view_specs
from sparkfuse_native_analytics.offline import (
    application_row,
    failure_rows,
    job_rows,
    loss_rows,
    query_rows,
    stage_rows,
)
from sparkfuse_native_analytics.offline.application import Application

if TYPE_CHECKING:
    import pyarrow as pa

# Values by column name of the view.
Columns = Mapping[str, object]


@dataclass(frozen=True)
class ViewRows:
    """The rows of one application by view, as Arrow tables, and the completeness of each row.

    ``job_key`` selects the variants of rules for this job.
    """

    views: Mapping[str, pa.Table]
    completeness: Mapping[str, Sequence[float]]
    job_key: str | None = None


def view_rows(
    application: Application, stage_expectations: Sequence[Columns], application_expectation: Columns
) -> ViewRows:
    """Return all views of the application, with the expected values of its stages and of the application filled in.

    Views that no event log can fill (hosts across applications, executor samples, running tasks) are left out.
    """
    rows: dict[str, Sequence[Columns]] = {
        application_row.VIEW: [{**application.row, **application_expectation}],
        failure_rows.VIEW: failure_rows.failure_rows(application),
        job_rows.VIEW: job_rows.job_rows(application),
        loss_rows.VIEW: loss_rows.loss_rows(application),
        query_rows.VIEW: query_rows.query_rows(application),
    }
    views = {stage_rows.VIEW: stage_rows.with_columns(application.stage_rows, stage_expectations)}
    views |= {view: _table(view, of_view) for view, of_view in rows.items()}
    completeness: dict[str, Sequence[float]] = {
        view: [application.completeness] * len(of_view) for view, of_view in rows.items()
    }
    completeness[stage_rows.VIEW] = application.stage_completeness
    return ViewRows(views, completeness, application.job_key)


def _table(view: str, rows: Sequence[Columns]) -> pa.Table:
    """Return rows as an Arrow table with all columns of the view; columns that a row lacks are NULL."""
    import pyarrow as pa

    types = stage_rows.arrow_types()
    columns = view_specs()[view].columns
    return pa.table({
        name: pa.array([_clamped(row.get(name)) for row in rows], types[column.type])
        for name, column in columns.items()
    })  # fmt: skip


def _clamped(value: object) -> object:
    """Limit an integer to 64 bits, because differences of invalid timestamps can be larger."""
    return stage_rows.clamp_int64(value) if type(value) is int else value
