"""How much of a large run one page shows; what is left out is counted on the page."""

from __future__ import annotations

MAX_FINDINGS = 100
"""Findings in full; a person reads a dozen."""

MAX_TABLE_STAGES = 300
"""Rows of the stage table, the costliest first."""

MAX_BARS = 600
"""Bars of one kind in the timeline, the longest first: below that SVG stays smooth on a laptop."""

MAX_LANES = 24
"""Lines of one kind in the timeline: with more of them nobody sees one line beside another."""

MAX_EXECUTOR_ROWS = 200
MAX_JOB_ROWS = 200
"""Rows of the tables behind the timeline."""

MAX_WORST_STAGES = 8
"""Stages whose distributions are drawn."""

MAX_POINTS = 400
"""Tasks of one stage drawn as single points: failed and longest first, then every k-th."""

MAX_PRESSURE_STAGES = 15
"""Stages in the charts of spill and garbage collection."""

MAX_EVIDENCE_ROWS = 50
"""Files, malformed lines and kinds of events that are listed."""

MAX_TEXT = 300
"""Characters of one text of the log: call sites and descriptions may hold whole queries."""
