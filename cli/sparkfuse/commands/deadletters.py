"""`sparkfuse deadletters`: the records that a component could not process; replay them after the cause is corrected."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from sparkfuse.analysis.terminal_text import printable
from sparkfuse.commands.history import DEFAULT_HOME, Home, moment
from sparkfuse.commands.options import duration_ms, settings_of_stack
from sparkfuse.commands.output import Json, print_json, print_table
from sparkfuse.stack.errors import MISSING, USAGE, StartError

if TYPE_CHECKING:
    from sparkfuse_native_analytics.dead_letters import StoredLetter

Answer = TypeVar("Answer")
MAX_SHOWN_BYTES = 2_000
commands = typer.Typer(help="List, show and replay records that a component could not process.")
Since = Annotated[
    str, typer.Option("--since", help="Only dead letters that are at most this old, such as 30m, 24h or 7d.")
]
Topic = Annotated[str, typer.Option("--topic", help="Only dead letters from this topic, named without the prefix.")]
Component = Annotated[str, typer.Option("--component", help="Only dead letters of this component, such as windows.")]
Reason = Annotated[str, typer.Option("--reason", help="Only dead letters whose reason contains this text.")]
LetterId = Annotated[str, typer.Argument(help="Id of a dead letter, as shown by `sparkfuse deadletters list`.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print how many records would be replayed.")]


@commands.command("list")
def list_(
    home: Home = DEFAULT_HOME,
    since: Since = "7d",
    topic: Topic = "",
    component: Component = "",
    reason: Reason = "",
    as_json: Json = False,
) -> None:
    """List the dead letters by component, topic and reason, the most frequent first."""
    from sparkfuse_native_analytics.dead_letters import group_letters

    groups = group_letters(_letters(home, since, topic, component, reason))
    if as_json:
        print_json([dataclasses.asdict(group) for group in groups])
        return
    if not groups:
        typer.echo(f"there are no dead letters from the last {since}")
        return
    print_table(
        f"Dead letters of the last {since}",
        ["count", "component", "topic", "reason", "first", "last", "newest id"],
        [
            (f"{group.count:,}", group.component, group.topic, group.reason, moment(group.first_ms),
             moment(group.last_ms), group.newest_id)
            for group in groups
        ],
    )  # fmt: skip


@commands.command()
def show(letter_id: LetterId, home: Home = DEFAULT_HOME, as_json: Json = False) -> None:
    """Show one dead letter, with the value of the rejected record."""
    found = next((each for each in _letters(home, "7d", "", "", "") if each.letter_id == letter_id), None)
    if found is None:
        raise StartError(f"there is no dead letter {letter_id!r}; `sparkfuse deadletters list` shows ids", USAGE)
    letter, origin = found.letter, found.origin
    if as_json:
        values = {field.name: value for field, value in letter.ListFields()}
        print_json({**values, "payload": _text(letter.payload, None)})
        return
    place = f", partition {origin.partition}, offset {origin.offset}" if origin else ""
    typer.echo(f"component: {printable(letter.component)}")
    typer.echo(f"record:    topic {printable(letter.topic)}{place}")
    typer.echo(f"reason:    {printable(letter.reason)}")
    typer.echo(f"written:   {moment(letter.seen_ms)}")
    typer.echo(f"value:     {_text(letter.payload)}")


@commands.command()
def replay(
    topic: Annotated[str, typer.Option("--topic", help="Topic of the records: facts, live or findings.")],
    home: Home = DEFAULT_HOME,
    since: Since = "24h",
    component: Component = "",
    reason: Reason = "",
    dry_run: DryRun = False,
) -> None:
    """Append the rejected records to their topic again, after the cause is corrected.

    A record that is still invalid becomes a dead letter again. A record that was already processed is recognized, so a
    second replay does no harm.
    """
    from sparkfuse_native_analytics.dead_letters import REPLAYABLE
    from sparkfuse_native_analytics.dead_letters import replay as append_again

    if topic not in REPLAYABLE:
        raise StartError(f"--topic must be one of {', '.join(REPLAYABLE)}; records of {topic} are not replayed", USAGE)
    letters = _letters(home, since, topic, component, reason)
    if dry_run:
        typer.echo(f"{len(letters):,} records would be replayed")
        return
    done = _ask(lambda: append_again(settings_of_stack(home), letters))
    typer.echo(f"{done.appended:,} of {len(letters):,} records were replayed")
    if done.deleted:
        count, example = len(done.deleted), done.deleted[0]
        typer.echo(f"not replayed, because Kafka no longer has the record: {count:,}, for example letter {example}")
    if done.incomplete:
        count, example = len(done.incomplete), done.incomplete[0]
        typer.echo(f"not replayed, because the letter lacks a part of the record: {count:,}, for example {example}")


def _letters(home: Path, since: str, topic: str, component: str, reason: str) -> Sequence[StoredLetter]:
    from sparkfuse_native_analytics.dead_letters import read_letters

    since_ms = time.time_ns() // 1_000_000 - duration_ms("--since", since)
    return _ask(
        lambda: read_letters(settings_of_stack(home), since_ms, topic=topic, component=component, reason=reason)
    )


def _ask(question: Callable[[], Answer]) -> Answer:
    from sparkfuse_native_analytics.topic_records import TopicError

    try:
        return question()
    except TopicError as error:
        raise StartError(str(error), MISSING) from error


def _text(value: bytes, limit: int | None = MAX_SHOWN_BYTES) -> str:
    """Return readable UTF-8 text as it is, and other bytes as hexadecimal digits, with at most ``limit`` bytes."""
    shown, more = value[:limit], limit is not None and len(value) > limit
    try:
        text = shown.decode("utf-8", "strict" if not more else "ignore")
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (shown and not text):
        text = shown.hex(" ")
    return f"{text} … ({len(value):,} bytes)" if more else text
