"""Renders the pages of the folder docs as HTML."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markupsafe import Markup, escape

from sparkfuse_contracts.assets import AssetMissingError, asset

_NOT_IN_IDS = re.compile(r"[^\w\- ]")
_IMAGES = frozenset({".png", ".svg"})


@dataclasses.dataclass(frozen=True)
class Document:
    """One page: its path below docs, its title, and its HTML."""

    path: str
    title: str
    body: Markup


def docs_folder() -> Path:
    """Return the folder docs: in a wheel, that of the package; in a checkout, that of the repository.

    Raises AssetMissingError.
    """
    try:
        return asset("sparkfuse_console", "docs")
    except AssetMissingError:
        folder = Path(__file__).parents[2] / "docs"
        if folder.is_dir():
            return folder
        raise


class Documents:
    """The pages of a folder, which are listed once; a path that is not in this list has no page.

    Args:
        folder: the folder docs; the console publishes it below ``/docs/``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        found = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
        self._files: Mapping[str, Path] = {each.relative_to(folder).as_posix(): each for each in found}
        self._page = functools.lru_cache(maxsize=None)(self._read)

    def page(self, path: str) -> Document | None:
        """Return the page of a Markdown file; None if there is none."""
        return self._page(path) if path.endswith(".md") and path in self._files else None

    def image(self, path: str) -> Path | None:
        """Return the file of an image; None if there is none."""
        found = self._files.get(path)
        return found if found is not None and found.suffix in _IMAGES else None

    def paths(self, folder: str = "") -> Sequence[str]:
        """Return the paths of the Markdown files directly in one folder, sorted."""
        return sorted(
            path for path in self._files if path.endswith(".md") and str(PurePosixPath(path).parent) == (folder or ".")
        )

    def folders(self) -> Sequence[str]:
        """Return the folders that have Markdown files, sorted; the folder itself is an empty string."""
        parents = {str(PurePosixPath(path).parent) for path in self._files if path.endswith(".md")}
        return sorted("" if parent == "." else parent for parent in parents)

    def section(self, path: str, heading: str) -> Markup | None:
        """Return the text below a heading of a page, up to the next heading of its level; None if there is none."""
        if not path.endswith(".md") or path not in self._files:
            return None
        tokens = list(self._tokens(path))
        start = next((at for at, each in enumerate(tokens) if each.attrGet("id") == heading), None)
        if start is None:
            return None
        after = range(start + 3, len(tokens))  # a heading is three tokens: open, text, close
        level = int(tokens[start].tag[1])
        end = next(
            (at for at in after if tokens[at].type == "heading_open" and int(tokens[at].tag[1]) <= level), len(tokens)
        )
        return _html(tokens[start + 3 : end])

    def _read(self, path: str) -> Document:
        tokens = list(self._tokens(path))
        title = next((tokens[at + 1].content for at, each in enumerate(tokens) if each.tag == "h1"), path)
        return Document(path, re.sub(r"[`*]", "", title), _html(tokens))

    def _tokens(self, path: str) -> Iterator[Token]:
        ids: dict[str, int] = {}
        tokens = _PARSER.parse(self._files[path].read_text(encoding="utf-8"))
        for at, token in enumerate(tokens):
            if token.type == "heading_open":
                token.attrSet("id", _unique(heading_id(tokens[at + 1].content), ids))
            for child in token.children or ():
                self._resolve(child, path)
            yield token

    def _resolve(self, token: Token, path: str) -> None:
        """Let a relative link lead to a page of the console; a link to a file that has no page becomes plain text."""
        name = {"link_open": "href", "image": "src"}.get(token.type)
        if name is None:
            return
        address = str(token.attrGet(name) or "")
        parts = urlsplit(address)
        if parts.scheme in ("http", "https") or address.startswith("#"):
            return
        target = _joined(PurePosixPath(path).parent, unquote(parts.path))
        if target in self._files and Path(target).suffix in {".md", *_IMAGES}:
            token.attrSet(name, f"/docs/{target}" + (f"#{parts.fragment}" if parts.fragment else ""))
        else:
            del token.attrs[name]


def heading_id(text: str) -> str:
    """Return the id that links use for a heading, as GitHub computes it: ``SparkfuseDown`` -> ``sparkfusedown``."""
    return _NOT_IN_IDS.sub("", text.strip().lower()).replace(" ", "-")


def _unique(name: str, seen: dict[str, int]) -> str:
    count = seen.get(name, 0)
    seen[name] = count + 1
    return f"{name}-{count}" if count else name


def _joined(folder: PurePosixPath, path: str) -> str:
    parts: list[str] = []
    for part in (folder / path).parts:
        if part == ".." and parts:
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


class _Renderer(RendererHTML):
    """Renders without raw HTML and without inline styles, which the policy of the pages forbids."""

    def html_block(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """Leave out comments; any other markup is shown as text."""
        text = tokens[idx].content.strip()
        return "" if text.startswith("<!--") else f"<p>{escape(text)}</p>"

    def html_inline(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """Show markup as text."""
        return str(escape(tokens[idx].content))

    def table_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Put each table into a box that scrolls on a narrow screen and that the keyboard can reach.

        The name of the box is unique in the page: the last heading and the number of the table.
        """
        env["tables"] = env.get("tables", 0) + 1
        headings = (tokens[at + 1].content for at in range(idx, -1, -1) if tokens[at].type == "heading_open")
        label = escape(f"{next(headings, '')} (table {env['tables']})".strip())
        opened = self.renderToken(tokens, idx, options, env)
        return f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">{opened}'

    def table_close(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Close the table and its box."""
        return f"{self.renderToken(tokens, idx, options, env)}</div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Name the scope of a heading."""
        tokens[idx].attrs.pop("style", None)
        tokens[idx].attrSet("scope", "col")
        return self.renderToken(tokens, idx, options, env)

    def td_open(self, tokens: Sequence[Token], idx: int, options: Any, env: Any) -> str:
        """Leave out the alignment, which is an inline style."""
        tokens[idx].attrs.pop("style", None)
        return self.renderToken(tokens, idx, options, env)

    def fence(self, tokens: Sequence[Token], idx: int, _options: Any, _env: Any) -> str:
        """Let the keyboard reach a block of code, which can be wider than the page."""
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content)}</code></pre>\n'


_PARSER = MarkdownIt("commonmark", {"html": True}, renderer_cls=_Renderer).enable("table")


def _html(tokens: Sequence[Token]) -> Markup:
    # The source is a file of this project, and the renderer escapes markup that is not Markdown.
    return Markup(_PARSER.renderer.render(list(tokens), _PARSER.options, {}))  # noqa: S704
