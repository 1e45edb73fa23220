"""`sparkfuse feedback`: people's verdicts on findings, and `sparkfuse rules precision`."""

from __future__ import annotations

import dataclasses
import getpass
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparkfuse.commands.history import DEFAULT_HOME, Home, Limit, ask, moment
from sparkfuse.commands.options import settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import MISSING, USAGE, StartError
from sparkfuse_rules.knowledge.precision import VERDICTS, Precision

if TYPE_CHECKING:
    from sparkfuse_rules.catalog import Catalog

Note = Annotated[str, typer.Option("--note", help="Your reason, at most 1,000 characters.")]
Person = Annotated[str, typer.Option("--person", help="Your name (default: the user of this shell).")]
Rule = Annotated[str, typer.Option("--rule", help="Only this rule.")]
LIST = "list"


def add_to(application: typer.Typer) -> None:
    """Add the command of this file."""
    application.command()(feedback)


def feedback(
    finding: Annotated[
        str, typer.Argument(help="Id of the finding, from its page or `sparkfuse findings --json`; or list.")
    ],
    verdict: Annotated[str, typer.Argument(help=f"Your verdict: {', '.join(VERDICTS)}; nothing for list.")] = "",
    note: Note = "",
    person: Person = "",
    rule: Rule = "",
    home: Home = DEFAULT_HOME,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """Say whether a finding was useful, or list the verdicts with `sparkfuse feedback list`.

    Your last verdict on a finding counts. If most findings of a rule are not useful to a team, notifications of the
    rule are demoted to info for this team; `sparkfuse rules precision` shows the figures.
    """
    if finding == LIST and not verdict:
        _list(home, rule, limit, as_json)
        return
    from sparkfuse_native_analytics import queries
    from sparkfuse_native_analytics.topic_records import TopicError, TopicWriter
    from sparkfuse_native_analytics.verdicts import VerdictError, record_verdict, verdict_on

    known = ask(home, lambda client: queries.finding(client, finding))
    if known is None:
        raise StartError(f"the store has no finding {finding!r}; `sparkfuse findings --json` lists the ids", USAGE)
    try:
        record = verdict_on(known, verdict, note, person or getpass.getuser(), time.time_ns() // 1_000_000)
        record_verdict(TopicWriter(settings_of_stack(home)), record)
    except VerdictError as error:
        raise StartError(str(error), USAGE) from error
    except TopicError as error:
        raise StartError(f"{error}; `sparkfuse kafka topics` creates missing topics", MISSING) from error
    if as_json:
        print_json({"finding_id": record.finding_id, "person": record.person, "verdict": record.verdict})
        return
    typer.echo(f"Recorded: {record.person} says that finding {record.finding_id} of {record.rule} is {verdict}.")


def _list(home: Any, rule: str, limit: int, as_json: bool) -> None:
    from sparkfuse_native_analytics import queries

    found = ask(home, lambda client: queries.feedback(client, limit, rule=rule or None))
    if as_json:
        print_json([dataclasses.asdict(each) for each in found])
        return
    print_table(
        "Feedback",
        ["finding", "rule", "job", "person", "verdict", "at", "note"],
        [
            (each.finding_id, each.rule, each.job_key, each.person, each.verdict, moment(each.at_ms), each.note)
            for each in found
        ],
    )


def print_precision(catalog: Catalog, home: Any, rule: str, as_json: bool) -> None:
    """Print the precision of each rule in each job class, and which rules are demoted."""
    from sparkfuse_native_analytics import queries

    if rule and rule not in catalog:
        raise StartError(f"there is no rule {rule!r}; `sparkfuse rules list` lists the rules", USAGE)
    found = list(_precision_rows(catalog, ask(home, lambda client: queries.rule_precisions(client, rule=rule or None))))
    if as_json:
        print_json(found)
        return
    print_table(
        "Precision by people's verdicts",
        ["rule", "cluster", "tenant", "team", "useful", "not useful", "lower", "upper", "target", "notifications"],
        [
            (
                each["rule"],
                each["cluster"],
                each["tenant"],
                each["team"] or None,
                each["useful"],
                each["not_useful"],
                _percent(each["lower"]),
                _percent(each["upper"]),
                _percent(each["target"]),
                "demoted to info" if each["demoted"] else "sent",
            )
            for each in found
        ],
    )


def _precision_rows(catalog: Catalog, found: Any) -> Iterator[dict[str, Any]]:
    for (rule_id, job_class), precision in sorted(found.items()):
        assert isinstance(precision, Precision)
        target = catalog[rule_id].precision_target if rule_id in catalog else None
        yield {
            "rule": rule_id,
            **job_class._asdict(),
            "useful": precision.useful,
            "not_useful": precision.judged - precision.useful,
            "lower": round(precision.lower, 4),
            "upper": round(precision.upper, 4),
            "target": target,
            "demoted": target is not None and precision.demotes(target),
        }


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"
