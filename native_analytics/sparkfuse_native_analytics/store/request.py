"""Converts HTTP requests of ClickHouse clients to statements, and results to responses."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Mapping

from sparkfuse_native_analytics.store.engine import Answer, Statement

# URL parameters that have a meaning of their own in ClickHouse's HTTP interface; all other parameters are settings.
# Sessions, users and roles are ignored, because the store has one user, and requests are independent.
_NO_SETTINGS = frozenset(
    [
        "query",
        "query_id",
        "database",
        "default_format",
        "session_id",
        "session_timeout",
        "session_check",
        "close_session",
        "user",
        "password",
        "role",
        "quota_key",
        "wait_end_of_query",
        "buffer_size",
        "compress",
        "decompress",
        "client_protocol_version",
        "stacktrace",
        "enable_http_compression",
        "http_zlib_compression_level",
        "send_progress_in_http_headers",
        "http_headers_progress_interval_ms",
        "cancel_http_readonly_queries_on_client_close",
    ]
)
_INSERT_WITH_DATA = re.compile(rb"(\s*INSERT\s.{0,60000}?\sFORMAT\s+\w+)[ \t]*\r?\n", re.IGNORECASE | re.DOTALL)
_MISSING = {60, 81}
_BAD = {27, 46, 47, 53, 62, 115, 117, 457}


class RequestError(ValueError):
    """The store cannot answer the request; the message is the reason."""


def _unlz4(content: bytes) -> bytes:
    import lz4.frame

    return bytes(lz4.frame.decompress(content))


def _unzstd(content: bytes) -> bytes:
    import zstandard

    with zstandard.ZstdDecompressor().stream_reader(content, read_across_frames=True) as reader:
        return bytes(reader.read())


_DECODERS: Mapping[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.decompress,
    "deflate": zlib.decompress,
    "lz4": _unlz4,
    "zstd": _unzstd,
}


def read_request(query: Mapping[str, str], headers: Mapping[str, str], body: bytes) -> Statement:
    """Return the statement of a request: SQL from the URL or the body, followed by the data of an INSERT.

    Raises RequestError for a request that the embedded store does not support.
    """
    if query.get("compress") == "1" or query.get("decompress") == "1":
        raise RequestError("ClickHouse's own block compression is not supported; use Content-Encoding")
    if headers.get("content-type", "").startswith("multipart/"):
        raise RequestError("external tables and form fields are not supported")
    content = _decoded(headers.get("content-encoding", ""), body)
    sql, data = _split(query.get("query", ""), content)
    if not sql.strip():
        raise RequestError("the request has no query")
    return Statement(
        sql=sql,
        data=data,
        default_format=query.get("default_format") or headers.get("x-clickhouse-format") or "TabSeparated",
        database=query.get("database") or headers.get("x-clickhouse-database") or "",
        settings={
            name: value for name, value in query.items() if name not in _NO_SETTINGS and not name.startswith("param_")
        },
        parameters={name[6:]: value for name, value in query.items() if name.startswith("param_")},
    )


def _decoded(encoding: str, body: bytes) -> bytes:
    decoder = _DECODERS.get(encoding.strip().lower())
    if decoder is None:
        raise RequestError(f"Content-Encoding {encoding!r} is not supported; use gzip, lz4 or zstd")
    try:
        return decoder(body)
    except Exception as error:  # each codec raises errors of its own; the client gets the reason
        raise RequestError(f"the body is not {encoding}: {error}") from error


def _split(query: str, content: bytes) -> tuple[str, bytes]:
    if query:
        return query, content
    found = _INSERT_WITH_DATA.match(content)
    sql, data = (content[: found.end(1)], content[found.end() :]) if found else (content, b"")
    try:
        return sql.decode(), data
    except UnicodeDecodeError as error:
        raise RequestError("the query is not UTF-8") from error


def answer_headers(answer: Answer, query_id: str) -> dict[str, str]:
    """Return the response headers that ClickHouse clients use."""
    summary = {"read_rows": str(answer.read_rows), "written_rows": str(answer.written_rows)}
    headers = {
        "X-ClickHouse-Summary": json.dumps(summary),
        "X-ClickHouse-Server-Display-Name": "sparkfuse-embedded",
        "X-ClickHouse-Timezone": "UTC",
        "X-ClickHouse-Query-Id": query_id,
    }
    return headers | ({"X-ClickHouse-Format": answer.format} if answer.format else {})


def error_status(code: int) -> int:
    """Return the HTTP status that ClickHouse uses for one of its error codes."""
    return 404 if code in _MISSING else 400 if code in _BAD else 500
