"""Errors of shipping, by what the caller can do."""

from __future__ import annotations


class InvalidOptionError(ValueError):
    """An option has a value that cannot be used; the text names the option and the valid values."""


class UnavailableError(RuntimeError):
    """Something that the shipper needs at its start is missing; the text is one sentence."""


class StoppedError(Exception):
    """The shipper must stop before a batch was sent; the batch is read again after the next start."""


class FencedError(RuntimeError):
    """Another shipper with the same name has started; the text is one sentence."""


class BrokerLostError(RuntimeError):
    """It is unknown whether the last batch was committed, so the positions must be read again."""
