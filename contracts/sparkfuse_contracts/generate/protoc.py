"""Runs the Protobuf compilers: for Python, a version that PyFlink supports; for Java, the version that is in Flink."""

from __future__ import annotations

import platform
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

JAVA_PROTOC_VERSION = "4.32.1"  # the version that flink-sql-protobuf 2.3 bundles
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
_IMPORT = re.compile(r"^import (\w+_pb2) as", re.MULTILINE)
_NUMBERS = re.compile(r"^(\s*repeated (?:int32|int64|double|bool) \w+ = \d+);", re.MULTILINE)


class CompilerMissingError(RuntimeError):
    """A compiler is missing or failed; the message says how to correct it."""


def fetch_java_protoc(folder: Path) -> Path:
    """Return the path of the Java compiler in ``folder``; Maven downloads the compiler if it is missing."""
    machine = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch_64", "arm64": "aarch_64"}[
        platform.machine().lower()
    ]
    system = {"Linux": "linux", "Darwin": "osx"}[platform.system()]
    compiler = folder / f"protoc-{JAVA_PROTOC_VERSION}-{system}-{machine}.exe"
    if not compiler.exists():
        artifact = f"com.google.protobuf:protoc:{JAVA_PROTOC_VERSION}:exe:{system}-{machine}"
        _run(["mvn", "-q", "-B", COPY_GOAL, f"-Dartifact={artifact}", f"-DoutputDirectory={folder}"],
             "Maven could not fetch protoc for Java")  # fmt: skip
    compiler.chmod(0o755)
    return compiler


def describe(protoc: Path, messages: Path, output: Path) -> FileDescriptorSet:
    """Write the descriptors without comments to ``output``, and return descriptors with comments."""
    commented = output.with_suffix(".commented")
    files = _files(messages)
    _run([str(protoc), f"-I{messages}", "--include_source_info", f"--descriptor_set_out={commented}", *files])
    _run([str(protoc), f"-I{messages}", f"--descriptor_set_out={output}", *files])
    descriptors = FileDescriptorSet.FromString(commented.read_bytes())
    commented.unlink()
    return descriptors


def describe_documents(python: Path, documents: Path, output: Path) -> FileDescriptorSet:
    """Return the descriptors of the documents, with comments; ``output`` is a temporary file.

    The compiler for Python is used, because it contains the descriptors of Protobuf's own types.
    """
    _run([*_python_protoc(python), f"-I{documents}", "--include_source_info", f"--descriptor_set_out={output}",
          *_files(documents)])  # fmt: skip
    descriptors = FileDescriptorSet.FromString(output.read_bytes())
    output.unlink()
    return descriptors


def write_python(python: Path, folders: Sequence[Path], output: Path) -> None:
    """Write the Python types and their stubs, and make the generated modules import each other through the package."""
    output.mkdir(parents=True, exist_ok=True)
    for folder in folders:
        _run([*_python_protoc(python), f"-I{folder}", f"--python_out={output}", f"--pyi_out={output}",
              *_files(folder)])  # fmt: skip
    for file in sorted(output.glob("*_pb2.py*")):
        file.write_text(_IMPORT.sub(r"from sparkfuse_contracts.generated import \1 as", file.read_text()))
    (output / "__init__.py").write_text('"""Generated from contracts/messages; do not edit."""\n')


def write_proto2(messages: Path, output: Path) -> None:
    """Write the messages as proto2, so that Flink reads an absent scalar as NULL and not as 0.

    The encoded bytes of proto2 and proto3 are equal.
    """
    output.mkdir(parents=True, exist_ok=True)
    for file in sorted(messages.glob("*.proto")):
        text = file.read_text().replace('syntax = "proto3";', 'syntax = "proto2";')
        # proto3 packs repeated numbers by default, proto2 only with this option
        text = _NUMBERS.sub(r"\1 [packed = true];", text)
        (output / file.name).write_text(f"// Generated from contracts/messages/{file.name}; do not edit.\n{text}")


def write_java(protoc: Path, messages: Path, output: Path) -> None:
    """Write the Java types."""
    output.mkdir(parents=True, exist_ok=True)
    _run([str(protoc), f"-I{messages}", f"--java_out={output}", *_files(messages)])


def _python_protoc(python: Path) -> list[str]:
    if not python.exists():
        raise CompilerMissingError(
            f"the code generation environment has no {python}; run `make setup`, or give --codegen-python"
        )
    return [str(python), "-m", "grpc_tools.protoc"]


def _files(messages: Path) -> list[str]:
    return sorted(file.name for file in messages.glob("*.proto"))


def _run(command: list[str], what: str = "protoc failed") -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise CompilerMissingError(f"{what}: {error}") from error
    if done.returncode:
        raise CompilerMissingError(f"{what}: {(done.stderr or done.stdout).strip()}")
