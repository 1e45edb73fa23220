"""``python -m sparkfuse_contracts.generate``: writes all that follows from the messages, or compares it (--check)."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from sparkfuse_contracts.generate import clickhouse, configuration, documents, flink, json_schema, protoc, views
from sparkfuse_contracts.schema import Schema, SchemaError, read_schema
from sparkfuse_contracts.topics import topics

ROOT = Path(__file__).parents[3]
# Where each part of the output lives in the checkout; whole folders, so that what is no longer made is removed.
FOLDERS: Mapping[str, str] = {
    "python": "contracts/sparkfuse_contracts/generated",
    "generated": "contracts/generated",
    "documents": "docs/contract",
}


def generate(contracts: Path, output: Path, codegen_python: Path, java_protoc: Path) -> None:
    """Write all outputs below ``output``, in one folder for each key of FOLDERS.

    ``contracts`` holds ``messages/``, which travel, and ``documents/``, which are only written.
    """
    messages, made = contracts / "messages", output / "generated"
    (output / "documents").mkdir(parents=True)
    protoc.write_python(codegen_python, [messages, contracts / "documents"], output / "python")
    protoc.write_proto2(messages, made / "proto2")
    protoc.write_java(java_protoc, made / "proto2", made / "java")
    schema = read_schema(protoc.describe(java_protoc, messages, made / "descriptors.binpb"))
    described = protoc.describe_documents(codegen_python, contracts / "documents", made / "documents.binpb")
    for name, text in _texts(schema, read_schema(described, documents=True)).items():
        path = output / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _texts(schema: Schema, written: Schema) -> Mapping[str, str]:
    java = f"generated/java/{flink.JAVA_PACKAGE.replace('.', '/')}"
    settings = configuration.read_list()
    texts = {
        f"{java}/LiveTypes.java": flink.java_types(schema),
        f"{java}/SparkConfiguration.java": configuration.java_class(settings),
        "python/spark_configuration.py": configuration.python_module(settings),
        "generated/views.json": _json(views.as_data(schema)),
        "generated/tables.json": _json(clickhouse.as_data(schema)),
    }
    texts |= {f"generated/flink/{name}.sql": flink.table(topic, schema) for name, topic in topics().items()}
    texts |= {
        f"generated/clickhouse/{table}.sql": clickhouse.create_table(table, schema) for table in clickhouse.SHAPES
    }
    texts |= {f"generated/json_schema/{name}.json": _json(each) for name, each in json_schema.schemas(written).items()}
    pages = documents.pages({**schema, **written}, topics())
    return texts | {f"documents/{name}": text for name, text in pages.items()}


def _json(content: object) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def differences(made: Path, root: Path = ROOT) -> list[str]:
    """The files below ``root`` that are missing, superfluous or other than in ``made``."""
    found = []
    for part, folder in FOLDERS.items():
        new, old = _files(made / part), _files(root / folder)
        found += [f"{folder}/{name}" for name in sorted(new.keys() | old.keys()) if new.get(name) != old.get(name)]
    return found


def _files(folder: Path) -> Mapping[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _install(made: Path) -> None:
    for part, folder in FOLDERS.items():
        new, old = _files(made / part), _files(ROOT / folder)
        for name in old.keys() - new.keys():
            (ROOT / folder / name).unlink()
        for name, content in new.items():
            if old.get(name) != content:  # an unchanged file keeps its time, so that builds on it stay fresh
                target = ROOT / folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


def main(arguments: Sequence[str] | None = None) -> int:
    """Generate or compare; returns 0, 1 for a difference, 2 for a refused message, 3 for a missing compiler."""
    parser = argparse.ArgumentParser(prog="python -m sparkfuse_contracts.generate", description=__doc__)
    default = os.environ.get("SPARKFUSE_CODEGEN_PYTHON", str(ROOT / "build/envs/codegen/bin/python"))
    parser.add_argument("--codegen-python", type=Path, default=Path(default), help="interpreter that has grpcio-tools")
    parser.add_argument("--java-protoc", type=Path, help=f"protoc {protoc.JAVA_PROTOC_VERSION}; fetched when not given")
    parser.add_argument("--check", action="store_true", help="write nothing, exit with 1 when something would change")
    options = parser.parse_args(arguments)
    work = Path(tempfile.mkdtemp(prefix="sparkfuse-generate-"))
    try:
        compiler = options.java_protoc or protoc.fetch_java_protoc(ROOT / "build/protoc")
        generate(ROOT / "contracts", work, options.codegen_python, compiler)
        if options.check:
            return _compare(work)
        _install(work)
        return 0
    except SchemaError as refused:
        print(refused, file=sys.stderr)
        return 2
    except protoc.CompilerMissingError as missing:
        print(missing, file=sys.stderr)
        return 3
    finally:
        shutil.rmtree(work)


def _compare(made: Path) -> int:
    found = differences(made)
    for name in found:
        print(f"{name} is not what `make generate` makes", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
