"""Why a rule or a configuration was refused, with the nearest known name."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class RuleError(ValueError):
    """A rule file or sparkfuse.yaml cannot be used; the text names file, key and what would be right."""


def unknown_name(place: str, kind: str, name: object, known: Iterable[str]) -> RuleError:
    """The refusal of an unknown name, with the nearest known one or, when none is near, all of them."""
    names = sorted(known)
    near = get_close_matches(str(name), names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(names) or 'none'}"
    return RuleError(f"{place}: unknown {kind} {str(name)!r}; {hint}")
