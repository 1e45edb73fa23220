"""Runs the embedded Apache Kafka with logins, TLS and the authorizer: each client must prove who it is."""

from __future__ import annotations

import contextlib
import datetime as dt
import ipaddress
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sparkfuse.stack.broker import Broker
from sparkfuse.stack.layout import LOOPBACK, Layout, Ports, free_ports
from sparkfuse.stack.process import Process
from sparkfuse_contracts.kafka_clients import client_configuration
from sparkfuse_contracts.settings import Settings
from tests.token_issuer import TokenIssuer
from tests.waiting import wait_for

ADMIN, ADMIN_PASSWORD = "admin", "admin-word"
SCRAM = "SCRAM-SHA-256"
# Users who can also log in with the mechanisms PLAIN and OAUTHBEARER, and their passwords.
PASSWORDS = {"job": "job-word"}
SECURITY = "org.apache.kafka.common.security"
LOGIN_MODULE = f"{SECURITY}.scram.ScramLoginModule"
PLAIN_MODULE = f"{SECURITY}.plain.PlainLoginModule"
TOKEN_MODULE = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule"
# Later entries of a properties file replace earlier ones.
PROPERTIES = """
listeners=SASL://{host}:{port},TLS://{host}:{tls_port},CONTROLLER://{host}:{controller_port}
advertised.listeners=SASL://{host}:{port},TLS://{host}:{tls_port}
listener.security.protocol.map=SASL:SASL_PLAINTEXT,TLS:SSL,CONTROLLER:SASL_PLAINTEXT
inter.broker.listener.name=SASL
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256
sasl.mechanism.controller.protocol=PLAIN
listener.name.sasl.sasl.enabled.mechanisms=SCRAM-SHA-256,PLAIN,OAUTHBEARER
listener.name.sasl.scram-sha-256.sasl.jaas.config={scram}
listener.name.sasl.plain.sasl.jaas.config={users}
listener.name.sasl.oauthbearer.sasl.jaas.config={token_module} required;
listener.name.sasl.oauthbearer.sasl.server.callback.handler.class={security}.oauthbearer.OAuthBearerValidatorCallbackHandler
listener.name.sasl.oauthbearer.sasl.oauthbearer.jwks.endpoint.url={public_keys}
listener.name.controller.sasl.enabled.mechanisms=PLAIN
listener.name.controller.plain.sasl.jaas.config={plain}
listener.name.tls.ssl.client.auth=required
listener.name.tls.ssl.keystore.type=PEM
listener.name.tls.ssl.keystore.location={keystore}
listener.name.tls.ssl.truststore.type=PEM
listener.name.tls.ssl.truststore.location={truststore}
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
allow.everyone.if.no.acl.found=false
super.users=User:admin
"""


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def login(user: str, password: str, module: str = LOGIN_MODULE) -> str:
    """Return the value of sasl.jaas.config."""
    return f"{module} required username={_quoted(user)} password={_quoted(password)}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\")


class Authority:
    """Issues certificates for a test, as PEM files that contain the key and the chain."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test authority")])
        self._certificate = self._sign(self._name, self._key.public_key(), authority=True)
        self.file = folder / "authority.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> Path:
        """Return the file of a new key and certificate for ``name`` on the loopback address."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = self._sign(subject, key.public_key(), authority=False)
        file = self._folder / f"{name}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        chain = [certificate, self._certificate]
        file.write_bytes(private + b"".join(each.public_bytes(serialization.Encoding.PEM) for each in chain))
        return file

    def _sign(self, subject: x509.Name, key: ec.EllipticCurvePublicKey, *, authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))])
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
            .add_extension(host, critical=False)
            .sign(self._key, hashes.SHA256())
        )


@dataclass(frozen=True)
class SecuredKafka:
    """A running broker with two listeners, and the files with which clients log in to the broker."""

    folder: Path
    bootstrap: str
    tls_bootstrap: str
    authority: Authority
    tokens: TokenIssuer

    def file(self, user: str, password: str) -> Path:
        """Return a file for a login with a password, with the property names of the Java client."""
        return self._sasl_file(f"{user}.properties", SCRAM, login(user, password))

    def plain_file(self, user: str, *more: str) -> Path:
        """Return a file for a login with the mechanism PLAIN; ``more`` are further lines."""
        return self._sasl_file(f"{user}.plain.properties", "PLAIN", login(user, PASSWORDS[user], PLAIN_MODULE), *more)

    def token_file(self, user: str) -> Path:
        """Return a file for a login with a token, which the client gets from the issuer."""
        jaas = f"{TOKEN_MODULE} required clientId={_quoted(user)} clientSecret={_quoted(PASSWORDS[user])}"
        handler = f"sasl.login.callback.handler.class={SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler"
        endpoint = f"sasl.oauthbearer.token.endpoint.url={self.tokens.url}"
        return self._sasl_file(f"{user}.token.properties", "OAUTHBEARER", jaas, handler, endpoint)

    def _sasl_file(self, name: str, mechanism: str, jaas: str, *more: str) -> Path:
        path = self.folder / name
        lines = [
            f"bootstrap.servers={self.bootstrap}",
            "security.protocol=SASL_PLAINTEXT",
            f"sasl.mechanism={mechanism}",
            f"sasl.jaas.config={_escaped(jaas)};",
            *more,
        ]
        path.write_text("\n".join(lines) + "\n")
        return path

    def tls_file(self, name: str) -> Path:
        """Return a file for a login with a client certificate, with the property names of the Java client."""
        path = self.folder / f"{name}.tls.properties"
        path.write_text(
            f"bootstrap.servers={self.tls_bootstrap}\n"
            "security.protocol=SSL\n"
            "ssl.truststore.type=PEM\n"
            f"ssl.truststore.location={self.authority.file}\n"
            "ssl.keystore.type=PEM\n"
            f"ssl.keystore.location={self.authority.issue(name)}\n"
        )
        return path

    def settings(self, file: Path, prefix: str) -> Settings:
        """Return the settings of a process that uses the given security file."""
        return Settings.from_environment(self.environment(file, prefix))

    @staticmethod
    def environment(file: Path, prefix: str) -> dict[str, str]:
        """Return the environment of a process that uses the given security file."""
        return {"SPARKFUSE_KAFKA_CONFIG": str(file), "SPARKFUSE_TOPIC_PREFIX": prefix}

    @property
    def admin_file(self) -> Path:
        """The login of the broker's superuser."""
        return self.file(ADMIN, ADMIN_PASSWORD)

    def admin(self) -> AdminClient:
        """Return a client of the broker's superuser."""
        return AdminClient(client_configuration(self.settings(self.admin_file, "any"), {"log_level": 0}))


class _SecuredBroker(Broker):
    def __init__(self, layout: Layout, libraries: Path, kafka: SecuredKafka) -> None:
        super().__init__(layout, libraries)
        self._kafka = kafka
        self._public_keys = kafka.tokens.public_keys.as_uri()
        self._java.insert(1, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={self._public_keys}")

    def _write_configuration(self) -> None:
        super()._write_configuration()
        ports, authority = self._layout.ports, self._kafka.authority
        plain = login(ADMIN, ADMIN_PASSWORD, PLAIN_MODULE)
        users = " ".join(f"user_{user}={_quoted(password)}" for user, password in PASSWORDS.items())
        with self._properties.open("a") as properties:
            properties.write(
                PROPERTIES.format(
                    host=LOOPBACK,
                    port=ports.kafka,
                    tls_port=self._kafka.tls_bootstrap.rsplit(":", 1)[1],
                    controller_port=ports.kafka_controller,
                    scram=_escaped(login(ADMIN, ADMIN_PASSWORD)) + ";",
                    plain=_escaped(f"{plain} user_{ADMIN}={_quoted(ADMIN_PASSWORD)}") + ";",
                    users=f"{PLAIN_MODULE} required {users};",
                    security=SECURITY,
                    token_module=TOKEN_MODULE,
                    public_keys=self._public_keys,
                    keystore=authority.issue("broker"),
                    truststore=authority.file,
                )
            )

    def _format(self) -> None:
        tool = [*self._java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ"]
        user = f"SCRAM-SHA-256=[name={ADMIN},password={ADMIN_PASSWORD}]"
        subprocess.run(
            [*tool, "-c", str(self._properties), "--add-scram", user], check=True, capture_output=True, text=True
        )

    def _answers(self) -> bool:
        with contextlib.suppress(KafkaException):
            return bool(self._kafka.admin().list_topics(timeout=1).brokers)
        return False


@contextlib.contextmanager
def secured_kafka(folder: Path, libraries: Path) -> Iterator[SecuredKafka]:
    """Run a broker on free ports until the block ends."""
    layout = Layout.from_environment(folder, Ports.free(), environment={})
    tls_bootstrap = f"{LOOPBACK}:{free_ports(1)[0]}"
    authority = Authority(folder / "certificates")
    with TokenIssuer(folder / "tokens", PASSWORDS) as tokens:
        kafka = SecuredKafka(folder, layout.kafka_bootstrap, tls_bootstrap, authority, tokens)
        service = _SecuredBroker(layout, libraries, kafka).service()
        process = Process(service, layout.logs / "kafka.log")
        try:
            wait_for(lambda: service.ready() or process.exit_code() is not None, service.ready_seconds, "the broker")
            assert process.exit_code() is None, process.last_lines()
            yield kafka
        finally:
            process.stop()
