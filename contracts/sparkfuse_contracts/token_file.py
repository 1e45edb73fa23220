"""Reads the token with which a process logs in at an HTTP interface, such as that of a cluster manager."""

from __future__ import annotations

from pathlib import Path


class TokenFileError(RuntimeError):
    """The file of the token cannot be read; the text names the file."""


def json_headers(token_file: Path | None) -> dict[str, str]:
    """Return the headers of a request for JSON, with the token of the file if there is one.

    Call it for each request, because tokens of service accounts are replaced every hour. Raises TokenFileError.
    """
    headers = {"Accept": "application/json"}
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="ascii").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TokenFileError(f"the token file {token_file} cannot be read") from error
        headers["Authorization"] = f"Bearer {token}"
    return headers
