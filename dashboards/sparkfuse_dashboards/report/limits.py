"""Limits of what the page shows of a large run; the page states how much is omitted."""

from __future__ import annotations

MAX_FINDINGS = 100
"""Findings that are shown in full."""

MAX_QUERIES = 50
"""Queries, the most expensive first."""

MAX_QUERY_STAGES = 30
"""Stages listed for one query."""

MAX_TABLE_STAGES = 300
"""Rows of the stage table, the most expensive first."""

MAX_BARS = 600
"""Bars of one kind in the timeline, the longest first; with more, SVG becomes slow on a laptop."""

MAX_LANES = 24
"""Lines of one kind in the timeline; with more, lines are too thin to distinguish."""

MAX_EXECUTOR_ROWS = 200
MAX_JOB_ROWS = 200
"""Rows of the tables below the timeline."""

MAX_WORST_STAGES = 8
"""Stages whose distributions are drawn."""

MAX_POINTS = 400
"""Tasks of one stage drawn as points: failed and longest first, then each k-th."""

MAX_PRESSURE_STAGES = 15
"""Stages in the charts of spill and garbage collection."""

MAX_EVIDENCE_ROWS = 50
"""Files, malformed lines and kinds of events that are listed."""

MAX_TEXT = 300
"""Characters of one text of the log; descriptions may contain whole queries."""
