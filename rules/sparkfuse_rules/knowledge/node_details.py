"""What identifies a node of a physical plan: the table of a scan, the keys of an exchange, the path of a write.

The plugin (Java) and the kernel (Rust) do the same; all three pass the cases of contracts/shared/node_details.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sparkfuse_contracts.generated.node_details import (
    FUNCTION_NODES,
    JOIN_TYPES,
    MOST_CHARS,
    MOST_COLUMNS,
    MOST_TEXT_CHARS,
    NO_FORMATS,
    NODES_WITHOUT_DETAIL,
    PARTITIONINGS,
    WRITE_NODES,
)
from sparkfuse_rules.knowledge.scrubbing import scrub_query

_COLUMN = re.compile(r"[A-Za-z0-9_]+(?=#[0-9])")
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?=\()")
_WORD = re.compile(r"[A-Za-z0-9]+")
_PLAIN_TABLE = re.compile(r"[A-Za-z0-9_.$`\"-]+")
_QUOTED_TABLE = re.compile(r"`[^`]{1,200}`(?:\.`[^`]{1,200}`)+")
_OPENING, _CLOSING = "([{", ")]}"


def node_detail(name: str, text: str, metadata: Mapping[str, str]) -> str:
    """Return what identifies a node, without literals, at most 200 characters; empty text where nothing does.

    Arguments: ``nodeName``, ``simpleString`` and ``metadata`` of Spark's SparkPlanInfo.
    """
    return scrub_query(_detail(name.strip(), text[:MOST_TEXT_CHARS], metadata))[:MOST_CHARS]


def _detail(name: str, text: str, metadata: Mapping[str, str]) -> str:
    kind = name.split(" ", 1)[0]
    if kind == "Execute" or kind in WRITE_NODES:
        return _write(name, text) if any(word in name for word in WRITE_NODES) else ""
    if name in NODES_WITHOUT_DETAIL:
        return ""
    if "Scan" in kind:
        return _scan(name, text, metadata)
    if "Exchange" in kind:
        return "" if "Broadcast" in kind else _exchange(text)
    if "Join" in kind or kind == "CartesianProduct":
        return _join(text)
    if kind in FUNCTION_NODES:
        return _function(text)
    return _keys(kind, text)


def _keys(kind: str, text: str) -> str:
    lists = _lists(text)
    if "Aggregate" in kind:
        return _columns(_after(text, "keys="))
    if kind == "TakeOrderedAndProject":
        return _columns(_after(text, "orderBy="))
    if kind == "Window":
        return _columns(lists[1]) if len(lists) > 1 else ""
    if kind in ("Sort", "WindowGroupLimit"):
        return _columns(lists[0]) if lists else ""
    return ""


def _scan(name: str, text: str, metadata: Mapping[str, str]) -> str:
    words = name.split()
    if name.startswith("Scan In-memory table "):
        return _table(name.removeprefix("Scan In-memory table "))
    if len(words) > 1 and words[1].startswith("JDBCRelation("):
        relation = name[name.index("(") + 1 :].split(")", 1)[0]
        return f"{_table(relation) if _PLAIN_TABLE.fullmatch(relation) else 'query'} jdbc"
    target = words[2] if len(words) > 2 else ""
    form = words[1] if len(words) > 1 else ""
    if len(words) == 2 and words[0] != "Scan":  # BatchScan db.table
        target, form = form, ""
    if not target:
        target = _first_path(metadata.get("Location") or text.partition("Location: ")[2])
    if not target and " class " in text:
        target = _class(text.partition(" class ")[2])
    return _with_format(_place(target), form)


def _write(name: str, text: str) -> str:
    words = name.split()
    rest = text[len(name) :].strip()
    items = list(_items(rest))
    form = ""
    if words[0] == "Execute":
        form = next((item for item in items if item.isascii() and item.isalpha() and item not in NO_FORMATS), "")
    return _with_format(_written(words, rest, items), form or _until(rest, "format="))


def _written(words: list[str], rest: str, items: list[str]) -> str:
    quoted = _QUOTED_TABLE.search(rest)
    if quoted:
        return _table(quoted[0])
    for key in ("table=", "dbtable -> ", "dbtable=", "path=", "path -> "):
        if found := _until(rest, key):
            return _place(found)
    if len(words) > 1 and words[0] != "Execute":
        return _place(words[1])
    path = next((item for item in items if "/" in item and "$" not in item), "")
    if path:
        return _path(path)
    writer = rest.partition("writer: ")[2] or (items[-1] if items else "")
    return _class(writer)


def _exchange(text: str) -> str:
    found = [(text.find(each), each) for each in PARTITIONINGS if each in text]
    if not found:
        return ""
    at, kind = min(found)
    columns = _columns(_balanced(text, at + len(kind)))
    return f"{kind} {columns}".strip()


def _join(text: str) -> str:
    kind = next((word for word in _WORD.findall(text) if word in JOIN_TYPES), "")
    lists = _lists(text)
    return f"{kind} {_columns(lists[0]) if lists else ''}".strip()


def _function(text: str) -> str:
    rest = text.partition(" ")[2]
    if rest.startswith("["):
        behind = rest[len(_balanced(rest, 0)) :]
        rest = behind[2:] if _FUNCTION.match(behind[2:]) else rest[1:]
    found = _FUNCTION.match(rest)
    return found[0] if found else ""


def _columns(text: str) -> str:
    return ", ".join(list(dict.fromkeys(_COLUMN.findall(text)))[:MOST_COLUMNS])


def _lists(text: str) -> list[str]:
    """Return the outermost lists in square brackets."""
    found: list[str] = []
    at = text.find("[")
    while at >= 0 and len(found) < 4:
        found.append(_balanced(text, at))
        at = text.find("[", at + len(found[-1]))
    return found


def _after(text: str, key: str) -> str:
    at = text.find(key)
    return _balanced(text, at + len(key)) if at >= 0 else ""


def _balanced(text: str, at: int) -> str:
    """Return the bracket that opens at ``at`` up to its end; empty if none opens there."""
    depth = 0
    for place in range(at, len(text)):
        depth += (text[place] in _OPENING) - (text[place] in _CLOSING)
        if depth <= 0:
            return text[at : place + 1] if place > at else ""
    return text[at:]


def _items(text: str) -> Iterator[str]:
    """Yield the parts between commas that are outside of brackets."""
    depth = start = 0
    for place, char in enumerate(text):
        depth += (char in _OPENING) - (char in _CLOSING)
        if char == "," and depth <= 0:
            yield text[start:place].strip()
            start = place + 1
    yield text[start:].strip()


def _until(text: str, key: str) -> str:
    """Return what follows ``key`` up to a comma, bracket or blank."""
    return re.split(r"[,\])} ]", text.partition(key)[2], maxsplit=1)[0]


def _first_path(location: str) -> str:
    return re.split(r"[,\]]", location.partition("[")[2], maxsplit=1)[0].removesuffix("...")


def _place(target: str) -> str:
    return _path(target) if "/" in target else _table(target)


def _path(path: str) -> str:
    """Return the last two folders, without partitions and files of Spark: ``s3://lake/db/orders`` is ``db/orders``."""
    parts = [part.rpartition("@")[2] for part in path.split("/") if part and not part.endswith(":")]
    first = next((place for place, part in enumerate(parts) if "=" in part), len(parts))
    parts = parts[:first]
    if parts and parts[-1].startswith("part-"):
        parts.pop()
    return "/".join(parts[-2:])


def _table(name: str) -> str:
    """Return the last two parts of a table's name: ``spark_catalog.default.orders`` is ``default.orders``."""
    return ".".join(name.replace("`", "").replace('"', "").split(".")[-2:])


def _class(name: str) -> str:
    return re.split(r"[$@, \])]", name, maxsplit=1)[0].rsplit(".", 1)[-1]


def _with_format(target: str, form: str) -> str:
    form = form.lower() if form.isascii() and form.isalnum() else ""
    return f"{target} {form}".strip() if target else ""
