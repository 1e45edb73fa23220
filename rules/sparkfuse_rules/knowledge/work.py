"""How much a stage, or a whole application, had to do: what its time is held against, live and offline alike.

Why these measures, and why in this order: docs/rules.md, "How much work it was".
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
    """What was read, and where nothing was, what its SQL operators put out; None and 0 alike where nothing was told.

    ``read_bytes`` and ``records`` are input and shuffle read. ``operator_rows`` is what ``operator_rows`` says of a
    stage; of an application the sum over its stages.
    """

    read_bytes: int | None = None
    records: int | None = None
    operator_rows: int | None = None

    def size(self, measure: str) -> float | None:
        """The logarithm of one measure, bytes, records or rows; None where there is none of it.

        Rows count what was read too, so that an application's can be the sum over its stages.
        """
        amount = {BYTES: self.read_bytes, RECORDS: self.records, ROWS: self._rows()}[measure]
        return math.log(amount) if amount and amount > 0 else None

    def sizes(self) -> dict[str, float]:
        """The measures that there are, each with its logarithm."""
        return {measure: size for measure in MEASURES if (size := self.size(measure)) is not None}

    def _rows(self) -> int | None:
        return (self.records or 0) + self.operator_rows if self.operator_rows else None


def operator_rows(stage: Mapping[str, Any]) -> int | None:
    """The rows that measure the work of a stage that read neither bytes nor records; None for every other stage.

    ``stage`` has columns of stage_live, absent ones left out or None.
    """
    if stage.get("work_bytes") or stage.get("work_records"):
        return None
    return stage.get("operator_rows_max") or None


def work_of(columns: Mapping[str, Any]) -> Work:
    """The work of a stage by its columns of stage_live, or of an application by those of app_live."""
    rows = columns.get("operator_rows") or operator_rows(columns)
    return Work(columns.get("work_bytes"), columns.get("work_records"), rows)
