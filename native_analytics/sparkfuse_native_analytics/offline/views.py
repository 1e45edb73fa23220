"""The rows that rules read of one application offline: each view that a log can fill, as an Arrow table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sparkfuse_contracts.columns import view_specs
from sparkfuse_native_analytics.offline import application_row, failure_rows, job_rows, loss_rows, stage_rows
from sparkfuse_native_analytics.offline.application import Application
from sparkfuse_native_analytics.offline.judge import Rows

Columns = Mapping[str, Any]


def rows_of(application: Application, of_stages: Sequence[Columns], of_application: Columns) -> Rows:
    """All views of the application, with what was expected of its stages and of the whole.

    What is not there (hosts across applications, samples of executors, running tasks) no log tells of.
    """
    told = {
        application_row.VIEW: [{**application.row, **of_application}],
        failure_rows.VIEW: failure_rows.failure_rows(application),
        job_rows.VIEW: job_rows.job_rows(application),
        loss_rows.VIEW: loss_rows.loss_rows(application),
    }
    views = {stage_rows.VIEW: stage_rows.with_columns(application.stage_rows, of_stages)}
    views |= {view: _table(view, rows) for view, rows in told.items()}
    completeness: dict[str, Sequence[float]] = {view: [application.completeness] * len(told[view]) for view in told}
    completeness[stage_rows.VIEW] = application.stage_completeness
    return Rows(views, completeness, application.job_key)


def _table(view: str, rows: Sequence[Columns]) -> Any:
    """Rows as an Arrow table with all columns of the view; what a row lacks is NULL."""
    import pyarrow as pa

    types = stage_rows.arrow_types()
    columns = view_specs()[view].columns
    return pa.table({
        name: pa.array([_fitting(row.get(name)) for row in rows], types[column.type])
        for name, column in columns.items()
    })  # fmt: skip


def _fitting(value: Any) -> Any:
    """The value as a column can hold it: differences of absurd moments leave 64 bits."""
    return stage_rows.held(value) if type(value) is int else value
