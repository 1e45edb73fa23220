"""Starts a job whose operators have the uids under which savepoints store their state.

Flink's planner numbers the operators of SQL, and uses the numbers in their uids: a new operator shifts all later
numbers. Then Flink would not find the state of an operator in a savepoint of the last release, or would restore the
state of another operator. So each SQL operator with state gets a fixed uid here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyflink.common import JobClient
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.table import StatementSet

STATELESS = frozenset(
    {"calc", "constraint-validator", "correlate", "exchange", "external-datastream", "local-window-aggregate"}
)
"""The kinds of SQL operators that store nothing in a savepoint, so their uids may change."""
_GENERATED = re.compile(r"\d+_(?P<kind>[a-z-]+)")


class OperatorUidError(RuntimeError):
    """The plan of a job and its table of uids differ: a change of the program forgot the table."""


@dataclass(frozen=True)
class Operator:
    """One operator of a plan: what Flink's plan shows about it, and its uid."""

    text: str
    uid: str | None


def fixed_uids(operators: Iterable[Operator], patterns: Mapping[str, str]) -> list[str | None]:
    """Return the uid of each operator; ``patterns`` has a regular expression of the operator for each fixed uid.

    Raises OperatorUidError if an operator with state has no fixed uid, or a fixed uid does not have one operator.
    """
    uids = [_fixed_uid(operator, patterns) for operator in operators]
    wrong = sorted(uid for uid in patterns if uids.count(uid) != 1)
    if wrong:
        raise OperatorUidError(f"not exactly one operator has the uid {', '.join(wrong)}")
    return uids


def start(environment: StreamExecutionEnvironment, statements: StatementSet, patterns: Mapping[str, str]) -> JobClient:
    """Start the job of all statements with fixed uids, and return its client. Raises OperatorUidError."""
    from pyflink.common import JobClient

    attach(environment, statements, patterns)
    # PyFlink's execute_async would replace the name of the job by a default.
    flink = environment._j_stream_execution_environment  # noqa: SLF001
    return JobClient(flink.executeAsync(flink.getStreamGraph()))


def attach(environment: StreamExecutionEnvironment, statements: StatementSet, patterns: Mapping[str, str]) -> None:
    """Add the operators of all statements, with fixed uids, to the environment. Raises OperatorUidError."""
    statements.attach_as_datastream()
    # PyFlink has no public access to the operators of a statement.
    sinks = environment._j_stream_execution_environment.getTransformations()  # noqa: SLF001
    found = {each.getId(): each for sink in sinks.toArray() for each in sink.getTransitivePredecessors().toArray()}
    operators = [found[number] for number in sorted(found) if not _moves_records(found[number])]
    for operator, uid in zip(operators, fixed_uids(map(_described, operators), patterns), strict=True):
        operator.setUid(uid)


def _fixed_uid(operator: Operator, patterns: Mapping[str, str]) -> str | None:
    matching = [uid for uid, pattern in patterns.items() if re.search(pattern, operator.text)]
    if len(matching) > 1:
        raise OperatorUidError(f"{operator.text} has the uids {', '.join(matching)}")
    if matching:
        return matching[0]
    generated = _GENERATED.fullmatch(operator.uid or "")
    if operator.uid is None or (generated and generated["kind"] not in STATELESS):
        raise OperatorUidError(f"{operator.text} may have state, but no fixed uid")
    return operator.uid


def _moves_records(transformation: Any) -> bool:
    """Whether the transformation is only an edge of the graph: a union or the partitioning of a stream."""
    return str(transformation.getClass().getSimpleName()) in {"PartitionTransformation", "UnionTransformation"}


def _described(transformation: Any) -> Operator:
    text = f"{transformation.getName()} {transformation.getDescription() or ''}"
    return Operator(text.strip(), transformation.getUid())
