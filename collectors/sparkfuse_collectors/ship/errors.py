"""Errors of the shipper and of the pod watcher; each class requires a different reaction of the caller."""

from __future__ import annotations


class InvalidOptionError(ValueError):
    """An option has a value that cannot be used; the text names the option and the valid values."""


class UnavailableError(RuntimeError):
    """Something that the process needs is missing; the text is one sentence."""


class StoppedError(Exception):
    """The shipper was stopped before it sent a batch; the batch is read again after the next start."""


class FencedError(RuntimeError):
    """Another shipper with the same name has started; the text is one sentence."""


class BrokerLostError(RuntimeError):
    """The result of the last commit is unknown, so the shipper must read the positions again."""
