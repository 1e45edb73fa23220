"""The largest numbers of items that the page shows for a large run; the page states how many items are omitted."""

from __future__ import annotations

MAX_FINDINGS = 100
"""The largest number of findings that are shown in full."""

MAX_QUERIES = 50
"""The largest number of queries that are shown, the most expensive first."""

MAX_QUERY_STAGES = 30
"""The largest number of stages that are listed for one query."""

MAX_TABLE_STAGES = 300
"""The largest number of rows in the stage table, the most expensive stages first."""

MAX_BARS = 600
"""The largest number of bars of one kind in the timeline, the longest first; more bars would slow the SVG down."""

MAX_LANES = 24
"""The largest number of lines of one kind in the timeline; more lines would be too thin to distinguish."""

MAX_EXECUTOR_ROWS = 200
MAX_JOB_ROWS = 200
"""The largest number of rows in each table below the timeline."""

MAX_WORST_STAGES = 8
"""The largest number of stages whose distributions are drawn."""

MAX_POINTS = 400
"""The largest number of tasks of one stage drawn as points: failed and longest tasks first, then every k-th."""

MAX_PRESSURE_STAGES = 15
"""The largest number of stages in each chart of spill and garbage collection."""

MAX_EVIDENCE_ROWS = 50
"""The largest number of files, malformed lines and kinds of events that are listed."""

MAX_TEXT = 300
"""The largest number of characters of one string from the log, because descriptions may contain whole queries."""
