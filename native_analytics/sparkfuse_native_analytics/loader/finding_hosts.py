"""Derives the hosts that a finding names, so that the page of a host does not read the text of all findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from sparkfuse_native_analytics.store.columns import FINDING_HOSTS

_SCOPE = "host:"
_WORD = re.compile(r"[A-Za-z0-9._-]+")
# A word that can be the name of a host: it has a letter, and a digit, dot or hyphen; or it is an IPv4 address.
_HOST_NAME = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9.-]).+|\d+(\.\d+){3}")
_COLUMNS = ("finding_id", "updated_ms", "scope", "description", "runs")
_SCHEMA = pa.schema({"host": pa.string(), "finding_id": pa.string(), "updated_ms": pa.int64()})


def finding_hosts(findings: pa.Table) -> tuple[str, pa.Table]:
    """Return the hosts that each finding names: in its scope, in the evidence of its runs, and in its description.

    Words of the description that look like the name of a host, such as ``q7`` or ``job.py``, are included.
    """
    names = [name for name in _COLUMNS if name in findings.column_names]
    rows = [
        {"host": host, "finding_id": finding["finding_id"], "updated_ms": finding["updated_ms"]}
        for finding in findings.select(names).to_pylist()
        for host in dict.fromkeys(_hosts(finding))
    ]
    return FINDING_HOSTS, pa.Table.from_pylist(rows, schema=_SCHEMA)


def _hosts(finding: Mapping[str, Any]) -> Iterator[str]:
    scope = finding.get("scope") or ""
    if scope.startswith(_SCOPE):
        yield scope.removeprefix(_SCOPE)
    for run in finding.get("runs") or ():
        for name, value in dict(run.get("evidence") or ()).items():
            if value and (name == "host" or name.endswith("_host")):
                yield value
    for word in _WORD.findall(finding.get("description") or ""):
        if _HOST_NAME.fullmatch(name := word.rstrip(".")):
            yield name
