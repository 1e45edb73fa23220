"""Renders the page as one file; its content security policy allows only the page's own scripts and style."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from sparkfuse_contracts.assets import asset
from sparkfuse_dashboards.report.text import script_json

_IMPORT = "import { ascending, isString, DisallowedObjectProperties } from 'vega-util';"
_EXPORT = "export { expression as expressionInterpreter };"
_SOURCE_MAP = "//# sourceMappingURL="


def page(content: Mapping[str, Any], charts: Mapping[str, Any]) -> str:
    """Return the HTML of the report.

    Args:
        content: the values of the template; the template escapes all strings.
        charts: Vega specifications by the name of their place on the page.

    The content security policy allows the scripts and the style of this page by their hashes, and nothing else. So the
    browser blocks other addresses, ``eval``, and style or script attributes. Even if a script from a log were not
    escaped, the browser would not run this script.
    """
    style, scripts = _text(asset("sparkfuse_dashboards", "report", "page.css")), _scripts()
    return _template().render(
        content,
        style=style,
        scripts=scripts,
        licences=_text(asset("sparkfuse_dashboards", "vendor", "LICENSES.txt")),
        charts=script_json(charts),
        policy=_policy(style, scripts),
    )


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    return "; ".join((
        "default-src 'none'",
        "script-src " + " ".join(map(_source, scripts)),
        f"style-src {_source(style)}",
        "base-uri 'none'",
        "form-action 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    ))  # fmt: skip


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


@cache
def _scripts() -> tuple[str, ...]:
    return (
        _text(asset("sparkfuse_dashboards", "vendor", "vega.min.js")),
        interpreter(_text(asset("sparkfuse_dashboards", "vendor", "vega-interpreter.js"))),
        _text(asset("sparkfuse_dashboards", "report", "charts.js")),
    )


def interpreter(module: str) -> str:
    """Return Vega's expression interpreter as a script.

    The interpreter is published as a module, which a page opened from a local file cannot import.

    Raises:
        ValueError: this version of the interpreter has other imports or exports than expected.
    """
    body, source_map, _ = module.partition(_SOURCE_MAP)
    if module.count(_IMPORT) != 1 or module.count(_EXPORT) != 1 or not source_map:
        raise ValueError("the imports or exports of vega-interpreter.js are not the expected ones")
    inside = body.replace(_IMPORT, _IMPORT.replace("import", "const").replace("from 'vega-util'", "= vega"))
    return "{\n" + inside.replace(_EXPORT, "vega.expressionInterpreter = expression;") + "}\n"


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text(asset("sparkfuse_dashboards", "report", "page.html")))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
