"""Tests that the modules of the Rust kernel have no circular imports."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "native_analytics" / "kernel" / "src"
USE = re.compile(r"\bcrate((?:::\w+)+)(::\{[^;]*?\})?")
FIRST_NAME = re.compile(r"(?:^|[{,])\s*(\w+)")
Module = tuple[str, ...]


@cache
def modules() -> dict[Module, Path]:
    """Return every module of the crate by its path, without the crate's root."""
    files = sorted(SOURCES.rglob("*.rs"))
    return {path.relative_to(SOURCES).with_suffix("").parts: path for path in files if path.name != "lib.rs"}


def uses(path: Path) -> Iterator[Module]:
    """Return the paths of the modules that a file imports, without the prefix `crate`."""
    for prefix, group in USE.findall(path.read_text("utf-8")):
        base = tuple(prefix.removeprefix("::").split("::"))
        names = FIRST_NAME.findall(group.removeprefix("::")) if group else [""]
        yield from (base + ((name,) if name else ()) for name in names)


def siblings(package: Module) -> dict[Module, set[Module]]:
    """Return each module of a package with the sibling modules that it or one of its submodules imports."""
    depth = len(package) + 1
    graph: dict[Module, set[Module]] = {}
    for module, path in modules().items():
        if module[: depth - 1] == package and len(module) >= depth:
            own = module[:depth]
            used = {use[:depth] for use in uses(path) if use[: depth - 1] == package and use[:depth] in modules()}
            graph.setdefault(own, set()).update(used - {own})
    return graph


PACKAGES = sorted({module[:-1] for module in modules()})


@pytest.mark.parametrize("package", PACKAGES, ids="::".join)
def test_kernel_modules_have_no_import_cycle(package: Module) -> None:
    """No module of a package imports a sibling that directly or indirectly imports it."""
    try:
        order = list(TopologicalSorter(siblings(package)).static_order())
    except CycleError as error:
        pytest.fail("modules use each other: " + " -> ".join("::".join(module) for module in error.args[1]))

    assert order


def test_imports_between_kernel_modules_are_found() -> None:
    """The parser of imports finds at least the known import of `json` in `decoder`."""
    graph = siblings(("event_log",))

    assert ("event_log", "json") in graph["event_log", "decoder"]
