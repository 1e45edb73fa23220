"""Translates the properties of Kafka clients between the names of the Java client and those of librdkafka.

A file may use Java's names, librdkafka's names or both. If a property is given under both names, each client uses the
value under its own name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

BOOTSTRAP = "bootstrap.servers"
_LOGIN_MODULE = re.compile(
    r"\s*(?P<module>[\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(?P<options>.*)", re.DOTALL
)
_LOGIN_OPTION = re.compile(
    r"""\s*(?P<name>[\w.]+)\s*=\s*(?:(?P<quote>["'])(?P<text>(?:\\.|(?!(?P=quote))[^\\])*)(?P=quote)|(?P<word>[^\s;"']+))""",
    re.DOTALL,
)
JAVA_PACKAGE = "org.apache.kafka."
PLAIN_MODULE = f"{JAVA_PACKAGE}common.security.plain.PlainLoginModule"
SCRAM_MODULE = f"{JAVA_PACKAGE}common.security.scram.ScramLoginModule"
# Properties that have the same name and the same values in both clients.
_SHARED = {
    BOOTSTRAP, "client.rack", "client.dns.lookup", "connections.max.idle.ms", "metadata.max.age.ms",
    "reconnect.backoff.ms", "reconnect.backoff.max.ms", "sasl.kerberos.service.name", "security.protocol",
    "ssl.key.password",
}  # fmt: skip
# Properties that only librdkafka has.
_LIBRDKAFKA = {
    "broker.address.family", "broker.address.ttl", "enable.sasl.oauthbearer.unsecure.jwt",
    "enable.ssl.certificate.verification", "request.timeout.ms", "sasl.mechanisms", "sasl.password", "sasl.username",
    "ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem", "ssl.cipher.suites",
    "ssl.crl.location", "ssl.curves.list", "ssl.key.location", "ssl.key.pem", "ssl.sigalgs.list",
}  # fmt: skip
_NOT_IN_JAVA = {
    "enable.sasl.oauthbearer.unsecure.jwt", "enable.ssl.certificate.verification", "ssl.crl.location",
    "ssl.curves.list", "ssl.sigalgs.list",
}  # fmt: skip
_LIBRDKAFKA_FAMILIES = ("sasl.oauthbearer.", "sasl.kerberos.", "socket.")
# Properties that only the Java client needs.
_JAVA_ONLY = {
    "ssl.enabled.protocols", "ssl.keymanager.algorithm", "ssl.protocol", "ssl.secure.random.implementation",
    "ssl.trustmanager.algorithm", "ssl.truststore.password",
}  # fmt: skip
_FILES = ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.keystore.location")


class KafkaPropertyError(ValueError):
    """A property cannot be used; the message names the property and a valid form, but never contains the value."""


def librdkafka_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with librdkafka's names.

    Raises KafkaPropertyError for a property that librdkafka does not have.
    """
    made: dict[str, str] = {}
    for name, value in given.items():
        if name in _SHARED or name in _LIBRDKAFKA or name.startswith(_LIBRDKAFKA_FAMILIES):
            made[name] = value
        elif name in _TRANSLATIONS:
            made = {**_TRANSLATIONS[name](given), **made}
        elif name not in _JAVA_ONLY:
            raise KafkaPropertyError(
                f"{name} has no equivalent in Python clients: the file may contain only settings for addresses, "
                "security and connections"
            )
    for name in _FILES:
        if name in made and not Path(made[name]).is_file():
            raise KafkaPropertyError(f"{name}: there is no file {made[name]}")
    return made


def java_properties(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with Java's names, for clients in a JVM.

    Raises KafkaPropertyError for a property that Java does not have.
    """
    librdkafka_properties(given)  # this call raises an error for an unknown property
    made = {name: value for name, value in given.items() if name not in _LIBRDKAFKA and not name.startswith("socket.")}
    for name in _NOT_IN_JAVA & given.keys():
        raise KafkaPropertyError(f"{name} has no equivalent in Java clients")
    if given.get("ssl.endpoint.identification.algorithm") == "none":
        made["ssl.endpoint.identification.algorithm"] = ""
    if "sasl.mechanisms" in given:
        made.setdefault("sasl.mechanism", given["sasl.mechanisms"])
    if "sasl.username" in given and "sasl.password" in given:
        module = SCRAM_MODULE if made.get("sasl.mechanism", "").startswith("SCRAM") else PLAIN_MODULE
        name, password = _quoted(given["sasl.username"]), _quoted(given["sasl.password"])
        made.setdefault("sasl.jaas.config", f"{module} required username={name} password={password};")
    return {**_java_truststore(given), **_java_keystore(given), **made}


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _java_truststore(given: Mapping[str, str]) -> dict[str, str]:
    if {"ssl.truststore.location", "ssl.truststore.certificates"} & given.keys():
        return {}
    if "ssl.ca.pem" in given:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": given["ssl.ca.pem"]}
    if "ssl.ca.location" in given:
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": given["ssl.ca.location"]}
    return {}


def _java_keystore(given: Mapping[str, str]) -> dict[str, str]:
    """Return the properties of Java's keystore: Java reads key and certificates from one file, or from properties."""
    if {"ssl.keystore.location", "ssl.keystore.certificate.chain"} & given.keys():
        return {}
    chain, key = given.get("ssl.certificate.pem"), given.get("ssl.key.pem")
    if "ssl.certificate.location" in given and "ssl.key.location" in given:
        chain, key = (Path(given[f"ssl.{part}.location"]).read_text() for part in ("certificate", "key"))
    if chain is None or key is None:
        return {}
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _login(given: Mapping[str, str]) -> Mapping[str, str]:
    if "sasl.username" in given and "sasl.password" in given:
        return {}
    found = _LOGIN_MODULE.fullmatch(given["sasl.jaas.config"].strip().removesuffix(";"))
    if found is None:
        raise KafkaPropertyError('sasl.jaas.config must be: <login module> required username="..." password="...";')
    if found["module"] not in {PLAIN_MODULE, SCRAM_MODULE}:
        raise KafkaPropertyError(
            f"sasl.jaas.config has the login module {found['module']}, which Python clients cannot use: "
            "use PlainLoginModule or ScramLoginModule, or add librdkafka's own sasl.* properties"
        )
    options = {each["name"]: _option_value(each) for each in _LOGIN_OPTION.finditer(found["options"])}
    if not {"username", "password"} <= options.keys():
        raise KafkaPropertyError("sasl.jaas.config has no username or no password")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _option_value(found: re.Match[str]) -> str:
    return found["word"] if found["text"] is None else re.sub(r"\\(.)", r"\1", found["text"], flags=re.DOTALL)


def _mechanism(given: Mapping[str, str]) -> Mapping[str, str]:
    return {"sasl.mechanisms": given["sasl.mechanism"]}


def _truststore(given: Mapping[str, str]) -> Mapping[str, str]:
    if "ssl.ca.location" in given or "ssl.ca.pem" in given:
        return {}
    if "ssl.truststore.certificates" in given:
        return {"ssl.ca.pem": given["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in given:
        return {}
    _require_type(given, "ssl.truststore", ("PEM",), "or add ssl.ca.location for Python clients")
    return {"ssl.ca.location": given["ssl.truststore.location"]}


def _keystore(given: Mapping[str, str]) -> Mapping[str, str]:
    if {"ssl.certificate.location", "ssl.certificate.pem"} & given.keys():
        return {}
    if "ssl.keystore.certificate.chain" in given:
        return {"ssl.certificate.pem": given["ssl.keystore.certificate.chain"],
                "ssl.key.pem": given.get("ssl.keystore.key", "")}  # fmt: skip
    if "ssl.keystore.location" not in given:
        return {}
    alternative = "or add ssl.certificate.location and ssl.key.location for Python clients"
    kind = _require_type(given, "ssl.keystore", ("PEM", "PKCS12"), alternative)
    location = given["ssl.keystore.location"]
    if kind == "PEM":  # one PEM file contains both the key and the certificates
        return {"ssl.certificate.location": location, "ssl.key.location": location}
    return {"ssl.keystore.location": location, "ssl.keystore.password": given.get("ssl.keystore.password", "")}


def _require_type(given: Mapping[str, str], store: str, right: tuple[str, ...], alternative: str) -> str:
    kind = given.get(f"{store}.type", "JKS").upper()  # JKS is the default type of Java
    if kind not in right:
        raise KafkaPropertyError(
            f"{store}.location has the type {kind}, which Python clients cannot read: "
            f"use a file with {store}.type={' or '.join(right)}, {alternative}"
        )
    return kind


def _endpoint_check(given: Mapping[str, str]) -> Mapping[str, str]:
    return {"ssl.endpoint.identification.algorithm": given["ssl.endpoint.identification.algorithm"] or "none"}


_TRANSLATIONS: Mapping[str, Callable[[Mapping[str, str]], Mapping[str, str]]] = {
    "sasl.jaas.config": _login,
    "sasl.mechanism": _mechanism,
    "ssl.endpoint.identification.algorithm": _endpoint_check,
    **dict.fromkeys(
        ("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.certificates"), _truststore
    ),
    **dict.fromkeys(
        (
            "ssl.keystore.type",
            "ssl.keystore.location",
            "ssl.keystore.password",
            "ssl.keystore.key",
            "ssl.keystore.certificate.chain",
        ),
        _keystore,
    ),
}  # fmt: skip
