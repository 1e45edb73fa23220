"""Reads files in the format of java.util.Properties, so that one file serves Java and Python programs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_BLANK = " \t\f"
# A backslash and the character after it are matched together, so an escaped separator is part of the key.
_ENTRY = re.compile(r"(?P<key>(?:\\.|[^\\=: \t\f])*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9a-fA-F]{4})|(?P<character>.))", re.DOTALL)
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class PropertiesFileError(ValueError):
    """The file cannot be read as properties; the message is one clause, with the line number if a line is invalid."""


def read_properties(path: Path) -> Mapping[str, str]:
    """Return the entries of a properties file; if a key is repeated, its last value is used.

    Raises PropertiesFileError if the file cannot be read or contains a character outside ASCII. Java reads the file as
    ISO-8859-1, so a password in UTF-8 would differ between Java and Python.
    """
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise PropertiesFileError(f"it cannot be read: {error.strerror}") from error
    return dict(map(_entry, _logical_lines(text)))


def _logical_lines(text: str) -> Iterator[str]:
    """Yield each entry as one line, without comments; a line that ends with a backslash is joined with the next."""
    begun = ""
    for number, natural in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = natural.lstrip(_BLANK)
        if not begun and (not line or line[0] in "#!"):
            continue
        if not line.isascii():
            raise PropertiesFileError(f"line {number} has a character outside ASCII: write it as \\uXXXX")
        begun += line
        if (len(begun) - len(begun.rstrip("\\"))) % 2:
            begun = begun[:-1]
            continue
        if begun:
            yield begun
        begun = ""
    if begun:
        yield begun


def _entry(line: str) -> tuple[str, str]:
    found = _ENTRY.fullmatch(line)
    assert found, "every line matches"
    return _unescaped(found["key"]), _unescaped(found["value"])


def _unescaped(text: str) -> str:
    def one(found: re.Match[str]) -> str:
        if found["code"]:
            return chr(int(found["code"], 16))
        return _CONTROL.get(found["character"], found["character"])

    return _ESCAPE.sub(one, text)
