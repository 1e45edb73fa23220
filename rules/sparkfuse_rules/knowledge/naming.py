"""Remove from names the parts that vary between runs: dates, times, ids, hashes and numbers."""

from __future__ import annotations

import re

_UUID = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?![0-9a-z])", re.IGNORECASE
)
# 2024-05-01, 2024_05_01, 2024/05/01, 20240501, each with or without a following time and zone.
_DATE = re.compile(
    r"(?<!\d)(?:19|20)\d{2}([-_/.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])"
    r"(?:[tT _-]?\d{2}[:_-]?\d{2}(?:[:_-]?\d{2}(?:[.,]\d+)?)?)?(?:Z|(?<=\d)[+-]\d{2}:?\d{2})?(?![0-9])"
)
_TIME = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?(?!\d)")
# A hash contains digits and letters, and has at least seven characters, like git's short form. A string that contains
# only the letters a to f counts as a word.
_HASH = re.compile(r"(?<![0-9a-z])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,}(?![0-9a-z])", re.IGNORECASE)
# Only digits that are not next to letters: the digits of v2, s3 and q66 are part of a name.
_NUMBER = re.compile(r"(?<![0-9A-Za-z])\d+(?![0-9A-Za-z])")
# Numbers that distinguish jobs that run side by side: etl_shard_07, orders us-east-1, load step 2.
_KEPT = re.compile(
    r"(?<![0-9A-Za-z])(?:(?:shard|partition|part|bucket|slice|segment|zone|region|tenant|phase|step|stage|layer|tier"
    r"|level|version|query)[\s\-_.:#=]?\d{1,4}|[a-z]{2}(?:-(?:gov|iso[a-z]?))?-(?:north|south|east|west|central)+-\d)"
    r"(?![0-9A-Za-z])",
    re.IGNORECASE,
)
_SEPARATORS = re.compile(r"[\s\-_./:,;#=+]*([\s\-_./:,;#=+])")
_EMPTY_BRACKETS = re.compile(r"\(\W*\)|\[\W*\]|\{\W*\}|<\W*>")
_SPACE_IN_BRACKETS = re.compile(r"(?<=[(\[{<])\s+|\s+(?=[)\]}>])")
_EDGES = " \t\r\n-_./:,;#=+"


def without_varying_parts(name: str) -> str:
    """Return ``name`` without dates, times, UUIDs, hashes and free-standing numbers; the result may be empty.

    ``daily_sales_2024-05-01`` and ``daily_sales_2024-05-02`` both give ``daily_sales``. ``orders-v2`` keeps its number,
    because the number is part of a word, and so do ``etl_shard_07`` and ``us-east-1``, which run side by side with
    other shards and regions. Applying the function to its own result changes nothing.
    """
    before, after = None, name
    while after != before:
        before, after = after, _once(after)
    return after


def _once(name: str) -> str:
    for pattern in (_UUID, _DATE, _TIME, _HASH):
        name = pattern.sub("", name)
    kept = {place for found in _KEPT.finditer(name) for place in range(*found.span())}
    name = _NUMBER.sub(lambda found: found[0] if found.start() in kept else "", name)
    name = _EMPTY_BRACKETS.sub("", name)
    return _SPACE_IN_BRACKETS.sub("", _SEPARATORS.sub(r"\1", name)).strip(_EDGES)
