"""Measure the work of a stage or application, live and offline; the expected duration depends on this work.

The reasons for these measures and their order are in docs/rules.md, "Work".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BYTES = "bytes"
RECORDS = "records"
ROWS = "rows"
NONE = "none"
MEASURES = (BYTES, RECORDS, ROWS)


@dataclass(frozen=True)
class Work:
    """The work of a stage or application; None and 0 both mean not reported.

    ``read_bytes`` and ``records`` are input and shuffle read. ``operator_rows`` is the result of the function
    ``operator_rows`` for a stage, and the sum over its stages for an application.
    """

    read_bytes: int | None = None
    records: int | None = None
    operator_rows: int | None = None

    def size(self, measure: str) -> float | None:
        """Return the logarithm of the work in one measure (bytes, records or rows), or None if it is not reported.

        Rows include the records read, so that the rows of an application are the sum of the rows of its stages.
        """
        amount = {BYTES: self.read_bytes, RECORDS: self.records, ROWS: self._rows()}[measure]
        return math.log(amount) if amount and amount > 0 else None

    def sizes(self) -> dict[str, float]:
        """Return the logarithm of the work in each reported measure."""
        return {measure: size for measure in MEASURES if (size := self.size(measure)) is not None}

    def _rows(self) -> int | None:
        return (self.records or 0) + self.operator_rows if self.operator_rows else None


def operator_rows(stage: Mapping[str, Any]) -> int | None:
    """Return the rows of SQL operators of a stage that read neither bytes nor records; None for all other stages.

    ``stage`` has the columns of stage_live; absent columns are missing or None.
    """
    if stage.get("work_bytes") or stage.get("work_records"):
        return None
    return stage.get("operator_rows_max") or None


def work_of(columns: Mapping[str, Any]) -> Work:
    """Return the work of a stage from its columns of stage_live, or of an application from those of app_live."""
    rows = columns.get("operator_rows") or operator_rows(columns)
    return Work(columns.get("work_bytes"), columns.get("work_records"), rows)
