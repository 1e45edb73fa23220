"""Rejects rows that a step cannot process, so that one invalid value does not stop the job."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from sparkfuse_stream_jobs.detect.dead_letters import DeadLetters

Result = TypeVar("Result")
Parsed = TypeVar("Parsed", bound=Message)


def usable(results: Iterator[Result], letters: DeadLetters, content: bytes = b"") -> Iterator[Result]:
    """Return the results of a row up to the first invalid value; then reject the row, and skip its other results.

    ``content`` is the encoded row; it is empty for a timer. If the error were raised, the job would fail at the same
    value after each restart. Errors of other kinds are raised.
    """
    try:
        yield from results
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        letters.reject(error, content)


def parsed(message_class: type[Parsed], content: bytes) -> Parsed:
    """Return the message. Raises ValueError for bytes that are not a valid message."""
    try:
        return message_class.FromString(content)
    except DecodeError as error:
        raise ValueError(f"not a {message_class.__name__}: {error}") from error
