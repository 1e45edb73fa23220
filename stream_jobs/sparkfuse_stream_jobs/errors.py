"""Errors of a start that cannot succeed, sorted by what the caller can do."""

from __future__ import annotations


class StartError(Exception):
    """The job cannot start; the text is one sentence for the person who started it."""

    exit_code = 2


class MissingPartError(StartError):
    """A part that the job needs is not there, not reachable or not set as it must be."""

    exit_code = 3
