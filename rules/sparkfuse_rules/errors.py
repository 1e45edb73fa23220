"""The error for invalid rules and configuration; its message suggests the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RuleError(ValueError):
    """A rule file or sparkfuse.yaml is invalid; the message names the file, the key and a valid value."""


def unknown_name(place: str, kind: str, name: object, known: Iterable[str]) -> RuleError:
    """Return the error for an unknown name: it suggests the nearest known name, or lists all of them."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"valid names: {', '.join(names) or 'none'}"
    return RuleError(f"{place}: unknown {kind} {str(name)!r}; {hint}")
