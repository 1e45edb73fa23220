from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

JAR = Path(__file__).parents[3] / "collectors/spark-plugin/target/sparkfuse-spark-plugin.jar"
KAFKA = "io/sparkfuse/shaded/kafka"
SECURITY = f"{KAFKA}/common/security"
NAMED_CLASSES = [
    *(f"{SECURITY}/{name}LoginModule" for name in ("plain/Plain", "scram/Scram", "oauthbearer/OAuthBearer")),
    *(f"{SECURITY}/{name}" for name in ("authenticator/DefaultLogin", "kerberos/KerberosLogin")),
    f"{SECURITY}/oauthbearer/OAuthBearerLoginCallbackHandler",
    f"{SECURITY}/oauthbearer/internals/OAuthBearerRefreshingLogin",
    f"{SECURITY}/oauthbearer/internals/unsecured/OAuthBearerUnsecuredLoginCallbackHandler",
    f"{SECURITY}/authenticator/SaslClientCallbackHandler",
    f"{SECURITY}/scram/internals/ScramSaslClient$ScramSaslClientFactory",
    f"{SECURITY}/ssl/DefaultSslEngineFactory",
    *(f"{KAFKA}/common/config/provider/{name}ConfigProvider" for name in ("File", "Directory", "EnvVar")),
    f"{KAFKA}/clients/consumer/RangeAssignor",
    f"{KAFKA}/common/metrics/JmxReporter",
]
"""Classes that Kafka, the JVM or the owner's properties file name."""


@pytest.fixture(scope="module")
def entries() -> list[str]:
    with zipfile.ZipFile(JAR) as jar:
        return [entry.filename for entry in jar.infolist() if not entry.is_dir()]


def test_guarantee_08_all_classes_are_ours_or_relocated(entries: list[str]) -> None:
    """Each class and service file of the jar is in Sparkfuse's name space, so the user's class path is unchanged."""
    ours = ("io/sparkfuse/", "META-INF/", "LICENSE", "NOTICE")
    foreign = [name for name in entries if not name.startswith(ours)]
    services = [name for name in entries if name.startswith("META-INF/services/")]
    hidden = [name for name in entries if name.startswith("META-INF/") and name.endswith(".class")]

    assert foreign == []
    assert hidden == []
    assert [name for name in services if "io.sparkfuse." not in name] == []
    assert "io/sparkfuse/spark/SparkfusePlugin.class" in entries


def test_guarantee_08_no_class_refers_to_original_names() -> None:
    """No class refers to the original name of a bundled library.

    The user's version of a bundled library may differ or be missing.
    """
    left = []
    with zipfile.ZipFile(JAR) as jar:
        for entry in jar.infolist():
            content = jar.read(entry) if entry.filename.endswith(".class") or "services/" in entry.filename else b""
            if b"Lorg/apache/kafka/" in content or b"Lcom/google/protobuf/" in content:
                left.append(entry.filename)

    assert left == []


def test_guarantee_08_classes_use_only_portable_scala_types() -> None:
    """The jar uses only Scala classes that have the same descriptors in Scala 2.12 and 2.13."""
    allowed = {b"scala/Option", b"scala/Tuple2", b"scala/collection/Iterable", b"scala/collection/Iterator"}
    allowed |= {
        b"scala/Function0",
        b"scala/Product",
        b"scala/Serializable",
        b"scala/Enumeration",
        b"scala/Enumeration$Value",
    }
    used = set()
    with zipfile.ZipFile(JAR) as jar:
        for entry in jar.infolist():
            if entry.filename.startswith("io/sparkfuse/spark/") and entry.filename.endswith(".class"):
                used |= {name for name in _class_names(jar.read(entry)) if name.startswith(b"scala/")}

    assert used <= allowed


def _class_names(content: bytes) -> set[bytes]:
    """Return the class names in the constant pool of a class file (JVM specification, 4.4)."""
    count = int.from_bytes(content[8:10], "big")
    texts, classes, place, number = {}, [], 10, 1
    sizes = dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 4) | dict.fromkeys((7, 8, 16, 19, 20), 2) | {5: 8, 6: 8, 15: 3}
    while number < count:
        tag = content[place]
        if tag == 1:
            length = int.from_bytes(content[place + 1 : place + 3], "big")
            texts[number] = content[place + 3 : place + 3 + length]
            place += 3 + length
        else:
            if tag == 7:
                classes.append(int.from_bytes(content[place + 1 : place + 3], "big"))
            place += 1 + sizes[tag]
        number += 2 if tag in (5, 6) else 1
    return {texts[each] for each in classes}


def test_classes_that_are_found_by_name_remain(entries: list[str]) -> None:
    """The build, which removes unreachable classes, keeps those that are found by name."""
    assert [name for name in NAMED_CLASSES if f"{name}.class" not in entries] == []


def test_jar_has_no_schema_files(entries: list[str]) -> None:
    """The jar has no schemas of messages; the build also checks its size, because every executor loads it."""
    assert not [name for name in entries if name.endswith((".proto", ".json"))]
