"""``python -m sparkfuse_contracts.generate``: generates files from the messages, or compares them with ``--check``.

Files that people or Python read are checked in. Java sources are not checked in; they are written to
``build/contracts``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse_contracts.generate import (
    clickhouse,
    configuration,
    documents,
    flink,
    json_schema,
    protoc,
    shared,
    views,
)
from sparkfuse_contracts.kafka_acls import roles
from sparkfuse_contracts.schema import Schema, SchemaError, read_schema
from sparkfuse_contracts.topics import topics

ROOT = Path(__file__).parents[3]
# The folder of each part of the output. Files in these folders that are no longer generated are removed.
CHECKED_IN: Mapping[str, str] = {
    "python": "contracts/sparkfuse_contracts/generated",
    "generated": "contracts/generated",
    "documents": "docs/contract",
    "rust": "native_analytics/kernel/src/shared",
}
BUILT: Mapping[str, str] = {"java": "build/contracts/java", "proto2": "build/contracts/proto2"}


def generate(contracts: Path, output: Path, codegen_python: Path, java_protoc: Path) -> None:
    """Write the files that are checked in to ``output``, in one folder for each key of CHECKED_IN.

    The folder ``contracts`` contains ``messages/``, which are sent over Kafka, and ``documents/``, which are only
    written to files.
    """
    messages, generated = contracts / "messages", output / "generated"
    for folder in (generated, output / "documents"):
        folder.mkdir(parents=True)
    protoc.write_python(codegen_python, [messages, contracts / "documents"], output / "python")
    schema = read_schema(protoc.describe(java_protoc, messages, generated / "descriptors.binpb"))
    described = protoc.describe_documents(codegen_python, contracts / "documents", generated / "documents.binpb")
    _write(_texts(schema, read_schema(described, documents=True)), output)


def generate_java(contracts: Path, output: Path, java_protoc: Path) -> None:
    """Write the Java sources to ``output``, in one folder for each key of BUILT."""
    messages = contracts / "messages"
    protoc.write_proto2(messages, output / "proto2")
    protoc.write_java(java_protoc, output / "proto2", output / "java")
    _write(_java_texts(read_schema(protoc.describe(java_protoc, messages, output / "descriptors.binpb"))), output)


def _write(texts: Mapping[str, str], output: Path) -> None:
    for name, text in texts.items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _java_texts(schema: Schema) -> Mapping[str, str]:
    package = f"java/{flink.JAVA_PACKAGE.replace('.', '/')}"
    return {
        f"{package}/LiveTypes.java": flink.java_types(schema),
        f"{package}/SparkConfiguration.java": configuration.java_class(configuration.read_list()),
        **_below(package, shared.java_classes(shared.read_shared())),
    }


def _texts(schema: Schema, written: Schema) -> Mapping[str, str]:
    texts = {
        "python/spark_configuration.py": configuration.python_module(configuration.read_list()),
        "python/view_rows.py": views.python_types(schema),
        "generated/views.json": _json(views.as_data(schema)),
        "generated/tables.json": _json(clickhouse.as_data(schema)),
    }
    texts |= {f"generated/flink/{name}.sql": flink.table(topic, schema) for name, topic in topics().items()}
    texts |= {
        f"generated/clickhouse/{table}.sql": clickhouse.create_table(table, schema) for table in clickhouse.SHAPES
    }
    texts |= {f"generated/json_schema/{name}.json": _json(each) for name, each in json_schema.schemas(written).items()}
    constants = shared.read_shared()
    texts |= _below("python", shared.python_modules(constants))
    texts |= _below("generated/shared", shared.json_files(constants))
    texts["rust/mod.rs"] = shared.rust_module(constants)
    pages = documents.pages({**schema, **written}, topics(), roles())
    return texts | _below("documents", pages)


def _below(folder: str, texts: Mapping[str, str]) -> dict[str, str]:
    return {f"{folder}/{name}": text for name, text in texts.items()}


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def differences(output: Path, root: Path = ROOT) -> list[str]:
    """Return the checked-in files below ``root`` that are missing, superfluous or different from ``output``."""
    found = []
    for part, folder in CHECKED_IN.items():
        new, old = _files(output / part), _files(root / folder)
        found += [f"{folder}/{name}" for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]
    return found


def _files(folder: Path) -> Mapping[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _install(output: Path, folders: Mapping[str, str]) -> None:
    for part, folder in folders.items():
        new, old = _files(output / part), _files(ROOT / folder)
        for name in old.keys() - new.keys():
            (ROOT / folder / name).unlink()
        for name, content in new.items():
            if old.get(name) != content:  # an unchanged file keeps its time, so that nothing is rebuilt
                target = ROOT / folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate the files, or with ``--check`` compare them.

    Returns:
        0 for success, 1 for a difference, 2 for an invalid message, 3 for a missing compiler.
    """
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_contracts.generate", description=__doc__)
    default = os.environ.get("SPARKFUSE_CODEGEN_PYTHON", str(ROOT / "build/envs/codegen/bin/python"))
    parser.add_argument("--codegen-python", type=Path, default=Path(default), help="interpreter that has grpcio-tools")
    parser.add_argument("--java-protoc", type=Path, help=f"protoc {protoc.JAVA_PROTOC_VERSION} (default: fetch it)")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a checked-in file differs")
    what.add_argument("--java", action="store_true", help="generate only the Java sources, in build/contracts")
    options = parser.parse_args(arguments)
    work = Path(tempfile.mkdtemp(prefix="sparkfuse-generate-"))
    try:
        compiler = options.java_protoc or protoc.fetch_java_protoc(ROOT / "build/protoc")
        if not options.java:
            generate(ROOT / "contracts", work, options.codegen_python, compiler)
        if options.check:
            return _compare(work)
        generate_java(ROOT / "contracts", work, compiler)
        _install(work, BUILT if options.java else {**CHECKED_IN, **BUILT})
        return 0
    except SchemaError as refused:
        print(refused, file=sys.stderr)
        return 2
    except protoc.CompilerMissingError as missing:
        print(missing, file=sys.stderr)
        return 3
    finally:
        shutil.rmtree(work)


def _compare(output: Path) -> int:
    found = differences(output)
    for name in found:
        print(f"{name} differs from what `make generate` writes", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
