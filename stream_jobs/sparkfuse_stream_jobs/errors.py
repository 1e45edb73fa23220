"""Errors that prevent the start of a job; each class requires a different reaction of the caller."""

from __future__ import annotations


class StartError(Exception):
    """The job cannot start; the message is one sentence for the user."""

    exit_code = 2


class MissingPartError(StartError):
    """Something that the job needs (Java, a jar, a port) is not available, or the job is already running."""

    exit_code = 3
