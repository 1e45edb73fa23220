"""Writes the files of contracts/shared as Python, Java and Rust constants, and their test cases as JSON.

Each file is a map. The key ``cases`` contains the cases that the tests of every language run. Every other key is a
constant: a whole number, a string, a list of strings, or a list of records. A record is a map from string to string;
all records of a list have the same keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sparkfuse_contracts.assets import asset
from sparkfuse_contracts.generate.flink import JAVA_PACKAGE
from sparkfuse_contracts.generate.patterns import composed
from sparkfuse_contracts.schema import SchemaError

CASES = "cases"
# Files that the kernel does not need, because it calls the Python scrubber, does not sum the time between jobs, has no
# deadlines and no hook, and reads no controls.
NOT_IN_RUST = frozenset({"between_jobs", "control_rules", "deadlines", "hook_counters", "scrubbing"})
Shared = Mapping[str, Mapping[str, Any]]


def read_shared() -> Shared:
    """Return the content of all files of contracts/shared by file name without ``.yaml``.

    Raises SchemaError for a value of a type that is not allowed, and for an invalid pattern.
    """
    return {path.stem: _read(path) for path in sorted(asset("sparkfuse_contracts", "shared").glob("*.yaml"))}


def _read(path: Path) -> Mapping[str, Any]:
    content = composed(yaml.safe_load(path.read_text()))
    for key, value in content.items():
        texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if key != CASES and not texts and not isinstance(value, (int, str)) and not _are_records(value):
            raise SchemaError(f"contracts/shared/{path.name}: {key} is not a number, a string or a list of one type")
    return content


def _are_records(value: Any) -> bool:
    """Return whether a value is a list of maps from string to string that all have the same keys."""
    if not isinstance(value, list) or not value or not all(isinstance(each, dict) for each in value):
        return False
    texts = all(isinstance(text, str) for each in value for text in each.values())
    return texts and all(each.keys() == value[0].keys() for each in value)


def _constants(content: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    return ((key.upper(), value) for key, value in content.items() if key != CASES)


def python_modules(shared: Shared) -> Mapping[str, str]:
    """Return one Python module of constants for each file, by file name."""
    return {f"{name}.py": "\n".join(_python(name, content)) for name, content in shared.items()}


def _python(name: str, content: Mapping[str, Any]) -> Iterator[str]:
    yield f'"""Generated from contracts/shared/{name}.yaml; do not edit."""'
    yield ""
    if any(_are_records(value) for _, value in _constants(content)):
        yield from ("from typing import NamedTuple", "")
    for key, value in _constants(content):
        if _are_records(value):
            yield from _python_records(key, value)
        elif isinstance(value, list):
            yield from (f"{key} = (", *(f"    {_text(each)}," for each in value), ")")
        else:
            yield f"{key} = {value if isinstance(value, int) else _text(value)}"
    yield ""


def _python_records(key: str, records: Sequence[Mapping[str, str]]) -> Iterator[str]:
    yield from ("", f"class {_record(key)}(NamedTuple):", *(f"    {field}: str" for field in records[0]), "", "")
    yield f"{key} = ("
    for record in records:
        yield f"    {_record(key)}("
        yield from (f"        {field}={_text(text)}," for field, text in record.items())
        yield "    ),"
    yield ")"


def java_classes(shared: Shared) -> Mapping[str, str]:
    """Return one Java class of constants for each file, by file name."""
    return {f"{_camel(name)}.java": "\n".join(_java(name, content)) for name, content in shared.items()}


def _java(name: str, content: Mapping[str, Any]) -> Iterator[str]:
    yield f"// Generated from contracts/shared/{name}.yaml; do not edit."
    yield f"package {JAVA_PACKAGE};"
    yield ""
    yield "import java.util.Arrays;"
    yield "import java.util.Collections;"
    yield "import java.util.List;"
    yield ""
    yield f"/** Constants of contracts/shared/{name}.yaml. */"
    yield f"public final class {_camel(name)} {{"
    for key, value in _constants(content):
        if _are_records(value):
            yield from _java_records(key, value)
        elif isinstance(value, list):
            texts = ", ".join(_text(each) for each in value)
            yield f"  public static final List<String> {key} ="
            yield f"      Collections.unmodifiableList(Arrays.asList({texts}));"
        elif isinstance(value, int):
            yield f"  public static final int {key} = {value};"
        else:
            yield f"  public static final String {key} = {_text(value)};"
    yield ""
    yield f"  private {_camel(name)}() {{}}"
    yield "}"
    yield ""


def _java_records(key: str, records: Sequence[Mapping[str, str]]) -> Iterator[str]:
    kind, fields = _record(key), list(records[0])
    yield ""
    yield f"  /** One of {{@link #{key}}}. */"
    yield f"  public static final class {kind} {{"
    yield from (f"    public final String {field};" for field in fields)
    yield ""
    yield f"    private {kind}({', '.join(f'String {field}' for field in fields)}) {{"
    yield from (f"      this.{field} = {field};" for field in fields)
    yield from ("    }", "  }", "")
    yield f"  public static final List<{kind}> {key} ="
    yield "      Collections.unmodifiableList(Arrays.asList("
    made = [f"          new {kind}({', '.join(_text(text) for text in record.values())})" for record in records]
    yield ",\n".join(made) + "));"


def rust_module(shared: Shared) -> str:
    """Return one Rust module with an inner module for each file that the kernel needs.

    The test cases are compiled only into test builds.
    """
    lines = ["//! Generated from contracts/shared/*.yaml; do not edit.", "#![allow(dead_code)]", ""]
    for name, content in shared.items():
        if name in NOT_IN_RUST:
            continue
        lines += ["#[rustfmt::skip]", f"pub mod {name} {{", *_rust(content), "}", ""]
    return "\n".join(lines)


def _rust(content: Mapping[str, Any]) -> Iterator[str]:
    for key, value in _constants(content):
        if isinstance(value, list):
            yield f"    pub const {key}: [&str; {len(value)}] = ["
            yield from (f"        {_rust_text(each)}," for each in value)
            yield "    ];"
        elif isinstance(value, int):
            yield f"    pub const {key}: usize = {value};"
        else:
            yield f"    pub const {key}: &str = {_rust_text(value)};"
    if cases := content.get(CASES):
        yield from _rust_cases(cases)


def _rust_cases(cases: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    fields = {key: _rust_type([case[key] for case in cases if key in case]) for case in cases for key in case}
    yield ""
    yield "    #[cfg(test)]"
    yield "    pub struct Case {"
    yield from (f"        pub {key}: {kind}," for key, kind in fields.items())
    yield "    }"
    yield "    #[cfg(test)]"
    yield "    pub const CASES: &[Case] = &["
    for case in cases:
        values = ", ".join(f"{key}: {_rust_value(case.get(key), kind)}" for key, kind in fields.items())
        yield f"        Case {{ {values} }},"
    yield "    ];"


def _rust_type(values: Sequence[Any]) -> str:
    if any(isinstance(value, list) for value in values):
        return "&'static [&'static str]"
    plain = "i64" if any(isinstance(value, int) for value in values) else "&'static str"
    return f"Option<{plain}>" if None in values else plain


def _rust_value(value: Any, kind: str) -> str:
    if isinstance(value, list):
        return f"&[{', '.join(_rust_text(each) for each in value)}]"
    if value is None:
        return "None" if kind.startswith("Option") else '""'
    literal = str(value) if isinstance(value, int) else _rust_text(value)
    return f"Some({literal})" if kind.startswith("Option") else literal


def json_files(shared: Shared) -> Mapping[str, str]:
    """Return the content of each shared file that has test cases, as JSON; the Java tests read it."""
    with_cases = {name: content for name, content in shared.items() if CASES in content}
    return {f"{name}.json": json.dumps(content, indent=1) + "\n" for name, content in with_cases.items()}


def _text(value: str) -> str:
    return json.dumps(value)


def _rust_text(value: str) -> str:
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    escaped = "".join(escapes.get(char, char if char.isprintable() else f"\\u{{{ord(char):x}}}") for char in value)
    return f'"{escaped}"'


def _record(key: str) -> str:
    return _camel(key.lower().removesuffix("s"))


def _camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))
