"""Errors that prevent the start of a job; each class requires a different reaction of the caller."""

from __future__ import annotations


class StartError(Exception):
    """The job cannot start; the message is one sentence for the user."""

    exit_code = 2


class MissingPartError(StartError):
    """A part that the job needs is missing, not reachable or wrongly configured."""

    exit_code = 3
